"""Contexts as tokens, and back to the same characters, for tokenizers of every kind."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from seqwright.inputs.question_text import QuestionText, QuestionTextSettings
from tokenizers import Tokenizer as Library
from tokenizers import decoders, models, normalizers, pre_tokenizers

from seqwright.errors import RunError, SettingError
from seqwright.inputs.foreign_tokenizers import ForeignTokenizer
from seqwright.inputs.tokenizers import Tokenizer, TokenizerSettings
from seqwright.inputs.vocabularies import Kind

CONTEXT = "  Ada O'Neil  moved\nto Zürich — in 1815,\tat “Hôtel Élysée”. She wrote: a ≠ b; naïve?  "
TEXTS = [CONTEXT, "Where did Ada move to in the year 1815?", "moved wrote Zürich Hôtel"] * 3


def own(kind: Kind, *, lowercase: bool = False) -> QuestionText:
    settings = QuestionTextSettings(
        tokenizer=kind, vocabulary=120, lowercase=lowercase, longest=64, stride=16, longest_question=8
    )
    return QuestionText.learnt(TEXTS, settings, unanswerable=True)


def bert() -> QuestionText:
    """As BERT's own: accents and capitals are taken off, words cut into pieces."""
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)] + list("0123456789.,;:?'=“”—≠")
    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *letters,
        *(f"##{letter}" for letter in letters),
        "to",
        "##rich",
    ]
    library = Library(models.WordPiece({piece: place for place, piece in enumerate(pieces)}, unk_token="[UNK]"))
    library.normalizer = normalizers.BertNormalizer()
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.decoder = decoders.WordPiece()
    return QuestionText(ForeignTokenizer.checked(library), 64, 16, 8, 30, unanswerable=False)


def byte_level() -> QuestionText:
    """As RoBERTa's and GPT-2's: every byte is a token."""
    alphabet = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    library = Library(models.BPE({letter: place for place, letter in enumerate(alphabet)}, []))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    return QuestionText(ForeignTokenizer.checked(library), 64, 16, 8, 30, unanswerable=False)


OWN: tuple[Kind, ...] = ("bpe", "unigram", "wordpiece", "words", "whitespace", "characters")
KINDS: dict[str, Callable[[], QuestionText]] = {
    **{kind: partial(own, kind) for kind in OWN},
    "lowercase": partial(own, "bpe", lowercase=True),
    "bert": bert,
    "bytes": byte_level,
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_tokens_cover_the_context_and_nothing_between_them_is_lost(kind: str) -> None:
    placed = KINDS[kind]().encode_context(CONTEXT)
    covered = np.zeros(len(CONTEXT), dtype=bool)
    for begin, end in zip(placed.begin_T.tolist(), placed.end_T.tolist(), strict=True):
        covered[begin:end] = True
        assert CONTEXT[begin:end] == CONTEXT[begin:end].strip()
    missed = {character for character, seen in zip(CONTEXT, covered, strict=True) if not seen}
    assert all(character.isspace() for character in missed)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "answer", ["Zürich", "Ada O'Neil", "1815", "“Hôtel Élysée”", "moved\nto Zürich — in 1815", "naïve"]
)
def test_an_answer_comes_back_to_the_last_character(kind: str, answer: str) -> None:
    placed = KINDS[kind]().encode_context(CONTEXT)
    begin = CONTEXT.index(answer)
    found = placed.tokens_of(begin, begin + len(answer))
    assert found is not None
    given = CONTEXT[placed.begin_T[found[0]] : placed.end_T[found[1]]]
    if kind == "whitespace":  # there a word has the marks that touch it, and no token ends before them
        assert answer in given
        assert len(given) <= len(answer) + 2
    else:
        assert given == answer


def test_what_stands_between_tokens_has_none() -> None:
    placed = own("words").encode_context(CONTEXT)
    assert placed.tokens_of(0, 2) is None  # the spaces before the first word
    assert own("words").encode_context("").tokens_of(0, 5) is None


def test_a_long_question_is_cut_and_a_short_one_is_not() -> None:
    inputs = own("characters")
    long, short = inputs.encode_questions(["Where did Ada move to?", " Ada "])
    assert len(long) == 8
    assert inputs.tokenizer.decode(short) == "Ada"


@pytest.mark.parametrize("kind", ["bpe", "bert"])
def test_a_run_reads_what_training_wrote(tmp_path: Path, kind: str) -> None:
    inputs = KINDS[kind]()
    inputs.save(tmp_path)
    loaded = QuestionText.load(tmp_path)
    assert loaded.rest() == inputs.rest()
    assert loaded.fingerprint() == inputs.fingerprint()
    assert loaded.sizes() == {"vocabulary": inputs.tokenizer.size}
    (tmp_path / "questions.json").write_text("{}")
    with pytest.raises(RunError, match=r"questions.json cannot be read as questions"):
        QuestionText.load(tmp_path)
    (tmp_path / "questions.json").unlink()
    with pytest.raises(RunError, match=r"questions.json is missing"):
        QuestionText.load(tmp_path)


def test_a_tokenizer_of_another_run_is_kept() -> None:
    given = Tokenizer.train(TEXTS, TokenizerSettings(tokenizer="characters"))
    assert QuestionText.learnt(TEXTS, QuestionTextSettings(), given, unanswerable=False).tokenizer is given


def test_windows_that_leave_gaps_are_refused() -> None:
    with pytest.raises(SettingError, match=r"input.longest = 96 leaves 29 tokens .* less than input.stride = 30"):
        QuestionTextSettings(longest=96, stride=30, longest_question=64)
    QuestionTextSettings(longest=96, stride=29, longest_question=64)
