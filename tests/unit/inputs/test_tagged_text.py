"""The inputs of a tagger: they travel with the run, come back as they were, and cut typed texts into words."""

import json
from pathlib import Path

import pytest
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers

from seqwright.batches import Place
from seqwright.errors import DataError, RunError
from seqwright.inputs.tagged_text import TaggedText, TaggedTextSettings
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.inputs.word_splits import cut_as_code, cut_at_marks

SENTENCES = [(["It", "'s", "@Ada", "."], ["O", "O", "B-per", "O"]), (["don't", "2017"], ["O", "B-year"])]
KINDS = ["spaced", "words", "characters", "bpe", "unigram", "wordpiece"]


def inputs(**settings: object) -> TaggedText:
    words = [word for sentence, _ in SENTENCES for word in sentence]
    chosen = TaggedTextSettings.model_validate({"kind": "bpe", "vocabulary": 60, **settings})
    return TaggedText.learnt(words * 3, {"B-per": 1, "B-year": 1, "O": 4}, chosen)


@pytest.mark.parametrize("kind", KINDS)
def test_each_word_has_tokens_of_its_own_that_say_where_it_begins(kind: str) -> None:
    found = inputs(kind=kind)
    tokens = found.encode([words for words, _ in SENTENCES])
    assert [len(words) for words in tokens] == [4, 2]
    for words, sentence in zip(tokens, SENTENCES, strict=True):
        for ids, word in zip(words, sentence[0], strict=True):
            assert found.tokenizer.pieces(ids)[0].startswith("▁")
            assert found.tokenizer.decode(ids).strip() == word


def test_where_words_are_tokens_each_is_one() -> None:
    tokens = inputs(kind="spaced").encode([words for words, _ in SENTENCES])
    assert [len(ids) for words in tokens for ids in words] == [1] * 6


def test_no_words_have_no_tokens() -> None:
    assert inputs().encode([[], ["It"], []])[::2] == [[], []]
    assert inputs().encode([]) == []


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    before = inputs(longest=7, split="code")
    before.save(tmp_path)
    after = TaggedText.load(tmp_path)
    assert after.tags == before.tags == ("B-per", "B-year", "O")
    assert (after.counts, after.longest, after.split) == (before.counts, 7, "code")
    assert after.fingerprint() == before.fingerprint() != inputs().fingerprint()
    assert after.sizes() == {"vocabulary": before.tokenizer.size, "classes": 3}


def test_batches_of_sentences_have_the_numbers_of_their_tags() -> None:
    batch = inputs().batches(SENTENCES, tokens=1000).at(Place())
    assert sorted(batch.labels.tolist()) == [0, 1, 2, 2, 2, 2]
    with pytest.raises(DataError, match=r"no tag 'B-pre'.*Did you mean 'B-per'"):
        inputs().batches([(["x"], ["B-pre"])], tokens=1000)


def test_missing_or_damaged_tags_are_refused(tmp_path: Path) -> None:
    inputs().save(tmp_path)
    for damaged in ({"tags": ["O"]}, {"tags": {"O": 1}, "longest": 5, "split": "anyhow"}):
        (tmp_path / "tags.json").write_text(json.dumps(damaged))
        with pytest.raises(RunError, match=r"tags.json cannot be read as tags"):
            TaggedText.load(tmp_path)
    (tmp_path / "tags.json").unlink()
    with pytest.raises(RunError, match=r"tags.json is missing"):
        TaggedText.load(tmp_path)


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
    ("split", "wanted"), [("marks", ["a", ".", "b"]), ("spaces", ["a.", "b"]), ("code", ["a", ".", "b"])]
)
def test_the_recipe_says_how_texts_are_cut(split: str, wanted: list[str]) -> None:
    assert inputs(split=split).words("a. b") == wanted


def test_a_word_that_a_tokenizer_makes_nothing_of_is_an_unknown_one(tmp_path: Path) -> None:
    """BERT's leaves control characters out, and people tweet them; every word must have a token to be tagged at."""
    numbered = {name: number for number, name in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "ada"])}
    library = tokenizers.Tokenizer(models.WordPiece(numbered, unk_token="[UNK]"))
    library.normalizer = normalizers.BertNormalizer()
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    library.save(str(tmp_path / "tokenizer.json"))
    tokenizer = Tokenizer.load(tmp_path / "tokenizer.json")
    found = TaggedText.learnt([], {"O": 2}, TaggedTextSettings(), tokenizer)
    assert [ids.tolist() for ids in found.encode([["Ada", "\u200d\x07"]])[0]] == [[5], [1]]
