"""Words as an input: it travels with the run, comes back as it was, and cuts typed texts into words."""

import json
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers

from seqwright.data.tagged import TaggedSentence
from seqwright.errors import DataError, RunError
from seqwright.inputs import Given, Room
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.inputs.word_splits import cut_as_code, cut_at_marks
from seqwright.inputs.words import WordsInput, WordsSettings

SENTENCES = [(["It", "'s", "@Ada", "."], ["O", "O", "B-per", "O"]), (["don't", "2017"], ["O", "B-year"])]
KINDS = ["whitespace", "words", "characters", "bpe", "unigram", "wordpiece"]


def inputs(**settings: object) -> WordsInput:
    chosen = WordsSettings.model_validate({"tokenizer": "bpe", "vocabulary": 60, **settings})
    return WordsInput.learn(
        Given([TaggedSentence(tuple(words), tuple(tags)) for words, tags in SENTENCES] * 3), chosen, room=Room()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_each_word_has_tokens_of_its_own_that_say_where_it_begins(kind: str) -> None:
    found = inputs(tokenizer=kind)
    tokens = found.tokens([words for words, _ in SENTENCES])
    assert [len(words) for words in tokens] == [4, 2]
    for words, sentence in zip(tokens, SENTENCES, strict=True):
        for ids, word in zip(words, sentence[0], strict=True):
            assert found.tokenizer.pieces(ids)[0].startswith("▁")
            assert found.tokenizer.decode(ids).strip() == word


def test_where_words_are_tokens_each_is_one() -> None:
    tokens = inputs(tokenizer="whitespace").tokens([words for words, _ in SENTENCES])
    assert [len(ids) for words in tokens for ids in words] == [1] * 6


def test_no_words_have_no_tokens() -> None:
    assert inputs().tokens([[], ["It"], []])[::2] == [[], []]
    assert inputs().tokens([]) == []


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    before = inputs(longest=7, pre_tokenizer="python")
    before.save(tmp_path)
    after = WordsInput.load(tmp_path)
    assert (after.longest, after.split, after.begins) == (7, "python", False)
    assert after.fingerprint() == before.fingerprint() != inputs().fingerprint()
    assert after.sizes() == {"vocabulary": before.tokenizer.size}


def test_missing_or_damaged_settings_are_refused(tmp_path: Path) -> None:
    inputs().save(tmp_path)
    for damaged in ({"longest": 5}, {"longest": 5, "split": "anyhow", "begins": False}):
        (tmp_path / "reading.json").write_text(json.dumps(damaged))
        with pytest.raises(RunError, match=r"reading.json cannot be read as reading"):
            WordsInput.load(tmp_path)
    (tmp_path / "reading.json").unlink()
    with pytest.raises(RunError, match=r"reading.json is missing"):
        WordsInput.load(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_is_spelled_with_the_tokens_that_are_encoded(kind: str) -> None:
    found, text = inputs(tokenizer=kind, longest=100), "It's  @Ada. don't"
    (row,) = found.encode(Given([found.parse(text)])).take(np.array([0]), None)
    spelled = found.spelled(text)
    assert spelled.tokens.tolist() == row.tokens.tolist() == found.tokenised([text])[0].tolist()
    assert found.joined([spelled.tokens]).tokens.tolist() == row.tokens.tolist()
    assert [word for word, _ in spelled.words] == ["It", "'s", "@Ada", ".", "do", "n't"]
    assert [place for _, places in spelled.words for place in places] == list(range(len(row.tokens)))
    for word, places in spelled.words:
        assert text[spelled.spans[places[0]][0] : spelled.spans[places[-1]][1]].strip() == word
    assert not len(found.spelled(" ").tokens)


def test_words_that_are_given_stay_as_they_are() -> None:
    assert inputs().parse(["a.", "b c"]).words == ("a.", "b c")
    for odd in (3, ["a", 3]):
        with pytest.raises(DataError, match="expected a text or its words"):
            inputs().parse(odd)


def test_a_word_of_which_only_the_beginning_is_read_is_told() -> None:
    found = inputs(tokenizer="characters", longest=5)
    remarks = found.remarks(Given([found.parse("It"), found.parse("2017 2017201720172017")]), first=3)
    assert remarks == ["a word of text 5, '2017201720172017…', has 17 tokens; the model reads the first 5"]


# How texts are cut


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("It's fine, isn't it?", "It 's fine , is n't it ?"),
        ("I’ve 3.5 well-known AT&T shares (U.S.) ...", "I ’ve 3.5 well-known AT&T shares ( U.S . ) ..."),
        ("@ada #fun https://a.b/c?d=e 10:30 2nd", "@ada #fun https://a.b/c?d=e 10:30 2nd"),
        ("Größe 東京 naïve", "Größe 東京 naïve"),
        (" \n", ""),
    ],
)
def test_words_and_marks_are_parted(text: str, wanted: str) -> None:
    assert cut_at_marks(text) == wanted.split()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x=f(a,b=r'c \\' d')**2 # e", 'x = f ( a , b = "…" ) ** 2'),
        ("a[1:]+=1e-5//.5 -> ...", "a [ 1 : ] += 1e-5 // .5 -> ..."),
        ('for rb in b"""x\n"y" """: pass', 'for rb in "…" : pass'),
        ("if a!=b and \\\n c<=d: e:=0xFF", "if a != b and c <= d : e := 0xFF"),
    ],
)
def test_code_is_cut_as_python_cuts_it(text: str, wanted: str) -> None:
    assert cut_as_code(text) == wanted.split()


@pytest.mark.parametrize(
    ("split", "wanted"), [("punctuation", ["a", ".", "b"]), ("whitespace", ["a.", "b"]), ("python", ["a", ".", "b"])]
)
def test_the_recipe_says_how_texts_are_cut(split: str, wanted: list[str]) -> None:
    assert list(inputs(pre_tokenizer=split).parse("a. b").words) == wanted


def test_a_word_that_a_tokenizer_makes_nothing_of_is_an_unknown_one(tmp_path: Path) -> None:
    """BERT's leaves control characters out, and people tweet them; every word must have a token to be tagged at."""
    numbered = {name: number for number, name in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "ada"])}
    library = tokenizers.Tokenizer(models.WordPiece(numbered, unk_token="[UNK]"))
    library.normalizer = normalizers.BertNormalizer()
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    library.save(str(tmp_path / "tokenizer.json"))
    tokenizer = Tokenizer.load(tmp_path / "tokenizer.json")
    found = WordsInput(tokenizer, 9, "punctuation")
    assert [ids.tolist() for ids in found.tokens([["Ada", "\u200d\x07"]])[0]] == [[5], [1]]
