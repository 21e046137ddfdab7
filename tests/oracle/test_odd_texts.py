"""DistilBERT and RoBERTa against `transformers` on texts that nobody tidied up, every family in batches of any size.

The vocabularies are small and made here; a text is cut by the same rules as the published ones are.
"""

from pathlib import Path
from typing import Any

import pytest
import tokenizers
import torch
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers
from torch import Tensor

from seqwright.batches.labelled import Labelled
from seqwright.batches.text import Text
from seqwright.runs import Run
from tests.oracle.test_transformers import ARCHITECTURES, V, imported, shaken, theirs

transformers = pytest.importorskip("transformers", reason="transformers is not installed: pip install seqwright[dev]")

CONTEXT = 61
LEARNT = ["the quick brown fox", "jumps over the lazy dog", "naïve café 12 %", "שלום עולם", "مرحبا بالعالم"] * 5
ODD = {
    "emoji": "I ❤️ 🐕‍🦺 and 👩‍👩‍👧‍👦 too 👍🏽",
    "flags and keycaps": "🇩🇪🇫🇷 5️⃣",
    "control characters": "the\x07 quick\x1b[31m fox\x7f\x85 jumps\x9f",
    "tabs, feeds and carriage returns": "the\tquick\r\nbrown\x0b\x0cfox",
    "invisible": "the\u200bquick\u200d brown\ufeff fox\u00ad lazy\u2060",
    "kinds of space": "the\u00a0quick\u2003brown\u3000fox\u2028dog",
    "right to left": "שלום the عالم \u202efox\u202c مرحبا",
    "pointed letters": "שָׁלוֹם مَرْحَبًا",
    "composed and not": "café cafe\u0301 naïve nai\u0308ve Å A\u030a ﬁ",
    "only marks": "\u0301\u0308 ̈",
    "no spaces": "日本語テキスト한국어",
    "mathematics": "𝕋𝕙𝕖 𝓺𝓾𝓲𝓬𝓴 ½ ² ∑",
    "replacement and private": "\ufffd \ue000 \U0010fffd",
    "marks alone": "!!! ... ¿? —–-",
    "a long word": "x" * 10_000,
    "a long word of many": "naïve" * 2_000 + " fox",
    "a long run of spaces": "the" + " " * 5_000 + "fox",
    "capitals of other lands": "İSTANBUL STRASSE ẞ Σίσυφος",
    "nothing": "",
    "only white space": " \t\n ",
}


def wordpiece() -> tokenizers.Tokenizer:
    """As DistilBERT's: lower case, no accents, "##" inside a word."""
    library = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    library.normalizer = normalizers.BertNormalizer()
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    library.train_from_iterator(LEARNT, trainers.WordPieceTrainer(vocab_size=V, special_tokens=names))
    library.decoder = decoders.WordPiece(cleanup=False)
    library.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return library


def byte_level() -> tokenizers.Tokenizer:
    """As RoBERTa's: bytes, merged; nothing is unknown."""
    library = tokenizers.Tokenizer(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    letters = pre_tokenizers.ByteLevel.alphabet()
    library.train_from_iterator(
        LEARNT, trainers.BpeTrainer(vocab_size=307, special_tokens=names, initial_alphabet=letters)
    )
    library.decoder = decoders.ByteLevel()
    library.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return library


SMALL: dict[str, dict[str, Any]] = {
    "distilbert": {"dim": 12, "n_heads": 3, "n_layers": 2, "hidden_dim": 19, "max_position_embeddings": CONTEXT},
    "roberta": {
        "hidden_size": 12,
        "num_attention_heads": 3,
        "num_hidden_layers": 2,
        "intermediate_size": 19,
        "max_position_embeddings": CONTEXT + 2,
        "type_vocab_size": 1,
        "pad_token_id": 1,
    },
}
NAMES = {"distilbert": "DistilBertForSequenceClassification", "roberta": "RobertaForSequenceClassification"}


@pytest.fixture(scope="module", params=["distilbert", "roberta"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Any, Any]:
    """A classifier as a run of ours, as a model of theirs, and their tokenizer."""
    folder: Path = tmp_path_factory.mktemp(request.param)
    library = wordpiece() if request.param == "distilbert" else byte_level()
    sizes = {"vocab_size": library.get_vocab_size(), **SMALL[request.param]}
    config = transformers.AutoConfig.for_model(request.param, **sizes, num_labels=3)
    model = shaken(getattr(transformers, NAMES[request.param])(config))
    model.save_pretrained(folder / "theirs")  # type: ignore[operator]
    library.save(str(folder / "theirs" / "tokenizer.json"))
    run = imported(folder / "theirs", folder / "run")
    return run, model, transformers.AutoTokenizer.from_pretrained(folder / "theirs")


@pytest.mark.parametrize("name", ODD)
def test_an_odd_text_has_the_tokens_it_has_there(both: tuple[Run, Any, Any], name: str) -> None:
    run, _, there = both
    tokenizer = run.inputs.tokenizer
    ids = tokenizer.encode([ODD[name]])[0].tolist()
    assert [tokenizer.begin, *ids, tokenizer.end] == there(ODD[name])["input_ids"]
    assert tokenizer.decode(ids) == there.decode(ids, clean_up_tokenization_spaces=False)


@torch.no_grad()
def said(model: Any, there: Any, texts: list[str]) -> Tensor:
    batch = there(texts, padding=True, truncation=True, max_length=CONTEXT, return_tensors="pt")
    logits_BC: Tensor = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    return logits_BC.softmax(-1)


@pytest.mark.parametrize("size", [1, 3, 17])
def test_odd_texts_are_classified_as_there_in_batches_of_any_size(both: tuple[Run, Any, Any], size: int) -> None:
    run, model, there = both
    texts = [text for text in ODD.values() if text.strip()]
    for low in range(0, len(texts), size):
        some = texts[low : low + size]
        found = torch.tensor([[one.probabilities[label] for label in run.output.labels] for one in run(some)])
        torch.testing.assert_close(found, said(model, there, some), atol=1e-5, rtol=0)


def rows(size: int) -> tuple[Tensor, Tensor]:
    """So many texts of unequal length: their tokens, and where there are any."""
    draw = torch.Generator().manual_seed(size)
    length_B1 = torch.randint(1, 14, (size, 1), generator=draw)
    tokens_BT = torch.randint(5, V, (size, 13), generator=draw)
    real_BT = torch.arange(13) < length_B1
    return tokens_BT.masked_fill(~real_BT, 0), real_BT


@torch.no_grad()
def ours(run: Run, tokens_BT: Tensor, real_BT: Tensor) -> Tensor:
    model: Any = run.model
    none_BT = torch.zeros_like(tokens_BT)
    match run.recipe.task:
        case "language-modeling":
            logits_BT: Tensor = model(Text(tokens_BT, tokens_BT, real_BT))[0]
        case "masked-language-modeling":
            hidden_BTD = model.body(tokens_BT, real_BT, none_BT)
            logits_BT = model.lens(hidden_BTD) if model.settings.head else hidden_BTD
        case _:
            logits_BT = model(Labelled(tokens_BT, real_BT, torch.zeros(len(tokens_BT)), none_BT))[0]
    return logits_BT


@torch.no_grad()
def others(model: Any, tokens_BT: Tensor, real_BT: Tensor) -> Tensor:
    found = model(input_ids=tokens_BT, attention_mask=real_BT.long())
    if "start_logits" in found:
        return torch.stack([found.start_logits, found.end_logits], -1)
    names = ("logits", "prediction_logits", "last_hidden_state")
    logits: Tensor = next(found[name] for name in names if name in found)
    return logits


SPEAKING = [row for row in ARCHITECTURES if row[1] != "GPT2Model"]  # which has no output; its states are compared there


@pytest.mark.parametrize(("family", "architecture", "task"), SPEAKING)
def test_a_batch_of_any_size_agrees_to_the_last_digits_of_double_precision(
    family: str, architecture: str, task: str, tmp_path: Path
) -> None:
    model = theirs(family, architecture, tmp_path / "theirs").double()
    run = imported(tmp_path / "theirs", tmp_path / "run")
    run = run._replace(model=run.model.double())
    for size in (1, 3, 17):
        tokens_BT, real_BT = rows(size)
        found, expected = ours(run, tokens_BT, real_BT), others(model, tokens_BT, real_BT)
        if found.dim() == 3:
            found, expected = found[real_BT], expected[real_BT]
        torch.testing.assert_close(found, expected, atol=1e-10, rtol=0)
        assert found.std() > 0.01
