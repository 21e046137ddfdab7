"""Models from settings by keyword: `sw.GPT(size="small", vocabulary=50257)`."""

import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import nn

import seqwright as sw
from seqwright import FACTORIES
from seqwright.batches.pairs import pairs
from seqwright.errors import SettingError
from seqwright.factories import ModelFactory
from seqwright.lineage import HEADED, model_row

NAMES = FACTORIES.split()
TOKENS_BT = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3], [5, 8, 9, 7, 9]])
SOURCE_BS = TOKENS_BT[:, :4]
# A few thousand parameters each; what is not set is as in recipes.
SMALL = {"width": 8, "heads": 2, "layers": 1, "context": 13, "encoder_layers": 2, "decoder_layers": 2, "embedding": 6}


def small(factory: ModelFactory, **sizes: int) -> Any:
    torch.manual_seed(3)
    chosen = {name: value for name, value in SMALL.items() if name in factory.settings()}
    if "query_key_value" in factory.settings():
        chosen["query_key_value"] = True
    return factory(**chosen, **sizes).eval()


@pytest.mark.parametrize("name", NAMES)
def test_a_model_is_built_and_called_with_tokens(name: str) -> None:
    factory = getattr(sw, name)
    model = small(factory, vocabulary=11)
    assert nn.Module in type(model).__mro__
    if model_row(factory.kind, factory.task).module != HEADED:
        assert model.logits(SOURCE_BS, TOKENS_BT).shape == (3, 5, 11)
    else:
        assert model(TOKENS_BT).shape == (3, 5, 8 if factory.task == "text-classification" else 11)


@pytest.mark.parametrize("name", ["Transformer", "Luong", "ConvS2S"])
def test_a_translator_says_of_tensors_what_it_says_of_a_batch(name: str) -> None:
    model = small(getattr(sw, name), source_vocabulary=10, target_vocabulary=13)
    source, target = list(SOURCE_BS.numpy()), list(TOKENS_BT.numpy())
    batch = pairs([source[0][:2], *source[1:]], target, begin=1, end=2)
    logits_BTV = model.logits(batch.source_BS, batch.input_BT, batch.source_real_BS)
    torch.testing.assert_close(logits_BTV, model(batch)[0])
    assert logits_BTV.shape[-1] == 13


def test_sizes_have_the_names_of_the_papers() -> None:
    small_gpt = sw.GPT(size="small", vocabulary=50257)
    assert sum(each.numel() for each in small_gpt.parameters()) == 124_439_808  # Hugging Face's gpt2
    assert sw.GPT(size="tiny", layers=1, vocabulary=7).settings.layers == 1
    assert "size" in repr(sw.GPT)
    assert repr(sw.Transformer).endswith("vocabulary, source_vocabulary, target_vocabulary)")


@pytest.mark.parametrize(
    ("built", "sentence"),
    [
        (lambda: sw.GPT(vocabulary=7, widht=8), r"^GPT has no setting 'widht'\. Did you mean 'width'\?$"),
        (lambda: sw.GPT(size="tiny"), r"^GPT needs vocabulary=…, the number of tokens; it was given none of them$"),
        (lambda: sw.GPT(vocabulary=0), r"^GPT: vocabulary is 0; give a number of tokens$"),
        (lambda: sw.GPT(vocabulary=7, size="huge"), r"^GPTSettings\.size: input should be 'tiny', .*, not 'huge'$"),
        (lambda: sw.GPT(vocabulary=7, width=7, heads=2), r"^GPTSettings: width 7 does not divide into 2 heads$"),
        (lambda: sw.GPT(vocabulary=7, weights="runs/x"), r"^GPT has no setting 'weights'"),
        (lambda: sw.Transformer(vocabulary=7, source_vocabulary=7), r"given vocabulary and source_vocabulary$"),
        (lambda: sw.Transformer(source_vocabulary=7), r"needs vocabulary=…, .*, or source_vocabulary and target_voc"),
    ],
)
def test_what_cannot_be_built_is_refused_in_a_sentence(built: Any, sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        built()


def test_naming_a_factory_does_not_import_torch() -> None:
    code = "import sys, seqwright as sw; sw.GPT; print('torch' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "False\n"
