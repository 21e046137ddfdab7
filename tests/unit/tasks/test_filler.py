"""A text with a masked token is cut into the same tokens as without, but for the word; vectors do not mind ensemble."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tokenizers
import torch
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers
from torch import Tensor, nn

from seqwright.analysis.embedder import Embedder
from seqwright.batches.masked import Masked
from seqwright.errors import DataError
from seqwright.inputs import Given, Room
from seqwright.inputs.foreign_tokenizers import ForeignTokenizer
from seqwright.inputs.sentences import SentencesInput, SentencesSettings
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.models.bert import MaskedBert, MaskedBertSettings
from seqwright.outputs.masked import MaskedOutput
from seqwright.tasks.wired import Wires
from tests.wires import masked_wires

CORPUS = ["the cat sat on the mat, and the dog sat too.", "a cat (not a dog) is on the mat."] * 9


def own(kind: str) -> Tokenizer:
    settings = SentencesSettings.model_validate({"tokenizer": kind, "vocabulary": 90})
    room = Room(model=SimpleNamespace(head=True, pooler=True))
    return SentencesInput.learn(Given(CORPUS), settings, room=room).tokenizer


def wires(tokenizer: Tokenizer, context: int = 99) -> Any:
    return masked_wires(tokenizer, context)


def filled(model: nn.Module, inputs: Wires, texts: list[str], top: int = 5) -> list[Any]:
    given, output = Given(map(inputs.input.parse, texts)), inputs.output
    assert isinstance(output, MaskedOutput)
    return list(output.ranking(top).fill(model, inputs.batches(given), given))


def bert() -> Tokenizer:
    library = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    library.normalizer, library.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    library.decoder = decoders.WordPiece()
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    library.train_from_iterator(
        CORPUS, trainers.WordPieceTrainer(vocab_size=90, special_tokens=names, show_progress=False)
    )
    return ForeignTokenizer.checked(library)


def roberta() -> Tokenizer:
    library = tokenizers.Tokenizer(models.BPE())
    library.pre_tokenizer, library.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=names, initial_alphabet=alphabet, show_progress=False)
    library.train_from_iterator(CORPUS, trainer)
    return ForeignTokenizer.checked(library)


class Remembering(nn.Module):
    """Keeps what it reads, and finds every token equally likely."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = nn.Parameter(torch.zeros(size))
        self.read: list[list[int]] = []

    def both(self, batch: Masked) -> tuple[Tensor, None]:
        self.read += [row[real].tolist() for row, real in zip(batch.input_BT, batch.real_BT, strict=True)]
        return self.size.expand(int(batch.chosen_BT.sum()), -1), None


TOKENIZERS: dict[str, Any] = {
    **{kind: (lambda kind=kind: own(kind)) for kind in ("words", "bpe", "unigram", "wordpiece")},
    "bert": bert,
    "roberta": roberta,
}


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize(
    ("before", "word", "after"),
    [
        ("the cat sat on the ", "mat", "."),
        ("the ", "cat", " sat on the mat"),
        ("a cat (not a ", "dog", ") is on the mat."),
        ("the cat sat on the ", "mat", ", and the dog"),
    ],
)
def test_the_other_words_are_read_as_if_the_word_were_there(name: str, before: str, word: str, after: str) -> None:
    inputs = wires(TOKENIZERS[name]())
    whole = inputs.tokenizer.encode([before + word + after])[0].tolist()
    [places] = [places for text, places in inputs.tokenizer.words(whole) if text == word]
    model = Remembering(inputs.tokenizer.size)
    filled(model, inputs, [f"{before}<mask>{after}"])
    expected = [*whole[: places[0]], inputs.tokenizer.mask, *whole[places[-1] + 1 :]]
    assert model.read == [[inputs.tokenizer.begin, *expected, inputs.tokenizer.end]]


def test_characters_are_hidden_one_by_one() -> None:
    inputs = wires(own("characters"))
    model = Remembering(inputs.tokenizer.size)
    filled(model, inputs, ["the c___t sat"])
    whole = inputs.tokenizer.encode(["the cat sat"])[0].tolist()
    assert model.read == [[inputs.tokenizer.begin, *whole[:5], inputs.tokenizer.mask, *whole[6:], inputs.tokenizer.end]]


def test_every_mask_has_the_candidates_of_its_own_place() -> None:
    inputs = wires(own("words"))
    size = inputs.tokenizer.size
    cat, dog = (int(inputs.tokenizer.encode([word])[0][0]) for word in ("cat", "dog"))

    class Knowing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(1))

        def both(self, batch: Masked) -> tuple[Tensor, None]:
            logits_NV = torch.zeros(int(batch.chosen_BT.sum()), size)
            logits_NV[0::2, cat], logits_NV[1::2, dog] = 9.0, 9.0
            logits_NV[:, inputs.tokenizer.mask] = 99.0  # never a candidate
            return logits_NV, None

    found = filled(Knowing(), inputs, ["a [MASK] and a ___", "<mask> or <mask>"], top=1)
    assert [[candidates[0].text for candidates in masks] for masks in found] == [
        ["a cat and a ___", "a [MASK] and a dog"],
        ["cat or <mask>", "<mask> or dog"],
    ]


def test_a_text_longer_than_the_context_is_refused() -> None:
    inputs = wires(own("words"), context=6)
    model = Remembering(inputs.tokenizer.size)
    assert len(filled(model, inputs, ["the cat sat <mask>"])) == 1
    with pytest.raises(DataError, match="has 7 tokens, special ones included; the model reads 6 at once"):
        filled(model, inputs, ["the cat sat <mask> the"])


def test_reopened_it_reads_and_masks_the_same(tmp_path: Path) -> None:
    inputs = wires(own("bpe"))
    inputs.save(tmp_path)
    read = SentencesInput.load(tmp_path / "input")
    said = MaskedOutput.load(tmp_path / "output", read)
    assert read.row("the <mask> sat").tolist() == inputs.input.row("the <mask> sat").tolist()
    assert (read.form, read.longest, read.context) == ("sentence-pairs", 99, 99)
    assert (said.masking, said.masking_rate, said.asks_next) == ("tokens", 0.15, True)


def test_a_vector_does_not_depend_on_the_other_texts() -> None:
    torch.manual_seed(1)
    inputs = wires(own("bpe"))
    settings = MaskedBertSettings.model_validate({"width": 12, "heads": 3, "context": 9})
    embedder = Embedder(MaskedBert(settings, vocabulary=inputs.tokenizer.size), inputs, context=9)
    texts = ["the cat sat on the mat, and the dog", "a dog", "the mat"]
    together = embedder(texts)
    assert together.shape == (3, 12)
    for text, vector_D in zip(texts, together, strict=True):
        torch.testing.assert_close(embedder([text])[0], vector_D, rtol=1e-5, atol=1e-6)
    assert torch.linalg.vector_norm(embedder(texts, normalise=True), dim=1).tolist() == pytest.approx([1, 1, 1])
