"""Contexts as tokens, and back to the same characters, for tokenizers of every kind."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer as Library
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from seqwright.data.question_files import Question
from seqwright.errors import DataError, RunError, SettingError
from seqwright.inputs import Given, Room
from seqwright.inputs.foreign_tokenizers import ForeignTokenizer
from seqwright.inputs.question import QuestionInput, QuestionSettings
from seqwright.inputs.tokenizers import Tokenizer, TokenizerSettings
from seqwright.inputs.vocabularies import Kind

CONTEXT = "  Ada O'Neil  moved\nto Zürich — in 1815,\tat “Hôtel Élysée”. She wrote: a ≠ b; naïve?  "
TEXTS = [CONTEXT, "Where did Ada move to in the year 1815?", "moved wrote Zürich Hôtel"] * 3
TRAIN = Given([Question(text, "Ada", ()) for text in TEXTS])


def own(kind: Kind, *, lowercase: bool = False) -> QuestionInput:
    settings = QuestionSettings(
        tokenizer=kind, vocabulary=120, lowercase=lowercase, longest=64, stride=16, longest_question=8
    )
    return QuestionInput.learn(TRAIN, settings, room=Room())


def bert() -> QuestionInput:
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
    return QuestionInput(ForeignTokenizer.checked(library), 64, 16, 8)


def byte_level() -> QuestionInput:
    """As RoBERTa's and GPT-2's: every byte is a token."""
    alphabet = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    library = Library(models.BPE({letter: place for place, letter in enumerate(alphabet)}, []))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    return QuestionInput(ForeignTokenizer.checked(library), 64, 16, 8)


OWN: tuple[Kind, ...] = ("bpe", "unigram", "wordpiece", "words", "whitespace", "characters")
KINDS: dict[str, Callable[[], QuestionInput]] = {
    **{kind: partial(own, kind) for kind in OWN},
    "lowercase": partial(own, "bpe", lowercase=True),
    "bert": bert,
    "bytes": byte_level,
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_tokens_cover_the_context_and_nothing_between_them_is_lost(kind: str) -> None:
    placed = KINDS[kind]().placed(CONTEXT)
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
    placed = KINDS[kind]().placed(CONTEXT)
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
    placed = own("words").placed(CONTEXT)
    assert placed.tokens_of(0, 2) is None  # the spaces before the first word
    assert own("words").placed("").tokens_of(0, 5) is None


def test_a_long_question_is_cut_and_a_short_one_is_not() -> None:
    inputs = own("characters")
    given = Given([Question("Where did Ada move to?", "Ada", ()), Question(" Ada ", "Ada", ())])
    long, short = inputs.encode(given).questions.take(np.arange(2), None)
    assert len(long) == 8 + 1
    assert long[-1] == short[-1] == inputs.tokenizer.end
    assert inputs.tokenizer.decode(short[:-1]) == "Ada"
    assert inputs.remarks(given, first=4)[0] == "question 5 has 22 tokens; the model reads the first 8"


@pytest.mark.parametrize("kind", ["bpe", "bert"])
def test_a_run_reads_what_training_wrote(tmp_path: Path, kind: str) -> None:
    inputs = KINDS[kind]()
    inputs.save(tmp_path)
    loaded = QuestionInput.load(tmp_path)
    assert (loaded.longest, loaded.stride, loaded.question) == (64, 16, 8)
    assert loaded.fingerprint() == inputs.fingerprint()
    assert loaded.sizes() == {"vocabulary": inputs.tokenizer.size}
    (tmp_path / "reading.json").write_text("{}")
    with pytest.raises(RunError, match=r"reading.json cannot be read as reading"):
        QuestionInput.load(tmp_path)
    (tmp_path / "reading.json").unlink()
    with pytest.raises(RunError, match=r"reading.json is missing"):
        QuestionInput.load(tmp_path)


def test_a_tokenizer_of_another_run_is_kept() -> None:
    given = Tokenizer.train(TEXTS, TokenizerSettings(tokenizer="characters"))
    assert QuestionInput.learn(TRAIN, QuestionSettings(), room=Room(), like=given).tokenizer is given


def test_more_than_the_model_has_positions_for_is_refused() -> None:
    with pytest.raises(SettingError, match=r"input.longest = 384 is more than the 40 positions of the model"):
        QuestionInput.learn(TRAIN, QuestionSettings(), room=Room(True, 40))


def test_a_question_is_a_mapping_json_or_words_with_a_context_that_is_known() -> None:
    inputs = own("words")
    wanted = Question("Who?", "Ada", ())
    assert inputs.parse({"Query": "Who?", "passage": "Ada"}) == wanted
    assert inputs.parse('{"question": "Who?", "context": "Ada"}') == wanted
    known = replace(inputs, context="Ada")
    assert known.parse("Who?") == known.parse({"question": "Who?"}) == wanted
    assert known.parse({"question": "Who?", "context": "Bob"}).context == "Bob"
    for given, sentence in {
        "Who?": "there is no context to find the answer in",
        " ": "the question is blank",
        '{"question": ': "the question is not valid JSON",
        ("Who?", "Ada"): "expected a mapping or JSON",
    }.items():
        with pytest.raises(DataError, match=sentence):
            inputs.parse(given)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_looked_at_is_the_row_that_is_encoded(kind: str) -> None:
    inputs = replace(KINDS[kind](), longest=200, question=60)
    (row,) = inputs.encode(Given([Question("Where did Ada move?", CONTEXT, ())])).take(np.array([0]), None)
    shown = inputs.joined([inputs.spelled(text).tokens for text in ("Where did Ada move?", CONTEXT)])
    one, other = (inputs.stack([each]) for each in (row, shown))
    for name in ("input_BT", "segment_BT", "allowed_BT"):
        assert one[name].tolist() == other[name].tolist()
    alone = inputs.stack([inputs.joined([np.array([7, 8])])])
    assert alone["input_BT"].tolist() == [[inputs.tokenizer.begin, 7, 8, inputs.tokenizer.end]]
    assert not alone["segment_BT"].any()


def test_between_question_and_context_stands_what_the_tokenizer_of_another_program_puts_there() -> None:
    """RoBERTa reads `<s> q </s></s> c </s>` (Liu et al. 2019): written out here, token by token."""
    library = Library(models.WordLevel({"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "who": 4, "ada": 5}, "<unk>"))
    library.pre_tokenizer = pre_tokenizers.Whitespace()
    library.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    inputs = QuestionInput(ForeignTokenizer.checked(library), 11, 4, 3)
    rows = inputs.encode(Given([Question("who", "ada ada", ())]))
    (row,) = rows.take(np.array([0]), None)
    stacked = inputs.stack([row])
    assert stacked["input_BT"].tolist() == [[0, 4, 2, 2, 5, 5, 2]]
    assert stacked["segment_BT"].tolist() == [[0, 0, 0, 0, 1, 1, 1]]
    assert rows.lengths(None).tolist() == [[7]]
    shown = inputs.joined([part.tokens for part in inputs.parts({"question": "who", "context": "ada ada"})])
    assert inputs.stack([shown])["input_BT"].tolist() == [[0, 4, 2, 2, 5, 5, 2]]


def test_windows_that_leave_gaps_are_refused() -> None:
    with pytest.raises(SettingError, match=r"input.longest = 96 leaves 29 tokens .* less than input.stride = 30"):
        QuestionSettings(longest=96, stride=30, longest_question=64)
    QuestionSettings(longest=96, stride=29, longest_question=64)


@pytest.mark.parametrize(("longest", "stride"), [(64, 54), (26, 16), (3, 16)])
def test_a_run_whose_windows_would_leave_gaps_is_refused(longest: int, stride: int, tmp_path: Path) -> None:
    byte_level().save(tmp_path)
    path = tmp_path / "reading.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"longest": longest, "stride": stride}))
    with pytest.raises(RunError, match=rf"reading\.json cannot be read as reading \(windows of .*, {stride} apart"):
        QuestionInput.load(tmp_path)


def test_the_longest_stride_of_a_run_is_as_long_as_its_windows(tmp_path: Path) -> None:
    replace(byte_level(), stride=53).save(tmp_path)
    assert QuestionInput.load(tmp_path).stride == 53
