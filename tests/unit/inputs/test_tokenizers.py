import json
import pickle
import random
import unicodedata
from collections import Counter
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqwright.errors import DataError, RunError, SettingError
from seqwright.inputs.tokenizers import BEGIN, END, PAD, UNKNOWN, Kind, Tokenizer, TokenizerSettings

KINDS: list[Kind] = ["characters", "words", "whitespace", "bpe", "unigram", "wordpiece"]
SPELLING: list[Kind] = ["characters", "bpe", "unigram", "wordpiece"]
KEEPING_SPACES: list[Kind] = [kind for kind in KINDS if kind != "whitespace"]
CORPUS = [
    "The quick brown fox jumps over the lazy dog.",
    "The dog (a lazy one) didn't jump: it slept  until 10:45 or 23.",
    'He said "jumping foxes are quicker than sleeping dogs", twice!',
    "  #tags ## and <b> marks / 6 % of 789\tthe text\n",
] * 3


def learnt(kind: Kind, texts: list[str] = CORPUS, **chosen: Any) -> Tokenizer:
    return Tokenizer.train(iter(texts), TokenizerSettings(tokenizer=kind, **{"vocabulary": 211, **chosen}))


def encoded(tokenizer: Tokenizer, text: str) -> list[int]:
    return [int(number) for number in tokenizer.encode([text])[0]]


def vocabulary(tokenizer: Tokenizer) -> list[str]:
    return tokenizer.pieces(range(tokenizer.size))


def model(tokenizer: Tokenizer) -> Any:
    return json.loads(tokenizer.json())["model"]


everything = st.text(st.characters(exclude_characters="▁\uffff", exclude_categories=["Cs"]), max_size=40)
crowded = st.text(st.sampled_from("ab  .,#<>s/'1\n▁é"), max_size=40).map(lambda text: text.replace("▁", ""))


@pytest.mark.parametrize("kind", KEEPING_SPACES)
@settings(max_examples=40, deadline=None)
@given(texts=st.lists(everything | crowded, min_size=1, max_size=5).filter(any))
def test_decoding_gives_back_every_text_that_was_learnt_from(kind: Kind, texts: list[str]) -> None:
    tokenizer = learnt(kind, texts, vocabulary=2003, normalise="none")
    assert [tokenizer.decode(ids) for ids in tokenizer.encode(texts)] == texts
    assert tokenizer.unknown_characters(texts) == Counter()


white = st.sampled_from([" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u2028", "\x1c", "\x1f", "\x85", "\u3000"])
between_white = st.lists(st.sampled_from(["a", "<unk>", "</s>", "it's", "x" * 150, "é,"]) | white, max_size=15)


@settings(max_examples=80, deadline=None)
@given(texts=st.lists(everything | between_white.map("".join), max_size=5))
def test_words_between_white_space_are_those_of_python(texts: list[str]) -> None:
    """However long they are, whatever marks they have and whatever stands around them."""
    words = [text.split() for text in [*texts, "one"]]
    tokenizer = learnt("whitespace", [*texts, "one"], vocabulary=2003, normalise="none")
    numbers = [encoded(tokenizer, text) for text in [*texts, "one"]]
    assert [tokenizer.pieces(ids) for ids in numbers] == [["▁" + word for word in some] for some in words]
    assert [tokenizer.decode(ids) for ids in numbers] == [" ".join(some) for some in words]
    assert set(vocabulary(tokenizer)[4:]) == {"▁" + word for some in words for word in some}


TRAINED = {kind: learnt(kind) for kind in KINDS}


@pytest.mark.parametrize("kind", SPELLING)
@settings(max_examples=40, deadline=None)
@given(text=st.text(st.sampled_from(sorted(set("".join(CORPUS)))), max_size=60))
def test_decoding_gives_back_new_texts_over_known_characters(kind: Kind, text: str) -> None:
    ids = encoded(TRAINED[kind], text)
    assert UNKNOWN not in ids
    assert TRAINED[kind].decode(ids) == text


@pytest.mark.parametrize("kind", KEEPING_SPACES)
@pytest.mark.parametrize("text", ["", " ", "   ", " the", "the ", "the  dog", "  the   dog  "])
def test_every_space_survives(kind: Kind, text: str) -> None:
    assert TRAINED[kind].decode(encoded(TRAINED[kind], text)) == text


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_four_tokens_are_reserved_and_the_limit_is_kept(kind: Kind) -> None:
    assert (PAD, UNKNOWN, BEGIN, END) == (0, 1, 2, 3)
    assert vocabulary(TRAINED[kind])[:4] == ["<pad>", "<unk>", "<s>", "</s>"]
    assert TRAINED[kind].size == len(set(vocabulary(TRAINED[kind]))) <= 211


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["<s>", "<pad>", "a </s> b", "x<unk>y", "<s></s>"])
def test_what_looks_like_a_reserved_token_in_a_text_is_text(kind: Kind, text: str) -> None:
    tokenizer = learnt(kind, [text, "<s> <pad> <unk> </s>"] * 5)
    ids = encoded(tokenizer, text)
    assert min(ids) > END
    assert tokenizer.decode(ids) == text


@pytest.mark.parametrize("kind", KINDS)
def test_the_mark_of_the_space_is_unknown_when_the_user_writes_it(kind: Kind) -> None:
    tokenizer = learnt(kind, [*CORPUS, "a▁b ▁ ▁▁"])
    assert UNKNOWN in encoded(tokenizer, "the▁dog")
    assert "the dog" not in tokenizer.decode(encoded(tokenizer, "the▁dog"))
    assert tokenizer.unknown_characters(["▁ a", "b▁"]) == Counter({"▁": 2})
    assert "\uffff" not in "".join(vocabulary(tokenizer))


@pytest.mark.parametrize("kind", KINDS)
def test_training_again_gives_the_same_bytes(kind: Kind) -> None:
    seen = random.Random(7)
    texts = [" ".join("".join(seen.choices("abcdefgé", k=seen.randint(1, 6))) for _ in range(9)) for _ in range(211)]
    assert len({learnt(kind, texts).json() for _ in range(4)}) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_the_texts_does_not_matter(kind: Kind) -> None:
    assert learnt(kind, CORPUS).fingerprint() == learnt(kind, CORPUS[::-1]).fingerprint()


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_tokenizer_comes_back_whole(kind: Kind, tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    TRAINED[kind].save(first)
    loaded = Tokenizer.load(first)
    loaded.save(second)
    assert first.read_bytes() == second.read_bytes()
    assert loaded.kind == TRAINED[kind].kind
    assert loaded.fingerprint() == TRAINED[kind].fingerprint()
    assert encoded(loaded, "The new dog, 17 <s>") == encoded(TRAINED[kind], "The new dog, 17 <s>")
    assert pickle.loads(pickle.dumps(loaded)).json() == loaded.json()


def test_what_stands_between_spaces_is_one_token() -> None:
    tokenizer = Tokenizer.train(["a <unk> @,@ 2,000 e.g. <s>"], TokenizerSettings(tokenizer="whitespace"))
    ids = encoded(tokenizer, "2,000 <s> a new <unk>")
    assert tokenizer.pieces(ids) == ["▁2,000", "▁<s>", "▁a", "<unk>", "▁<unk>"]  # only "new" was never seen
    assert tokenizer.decode(ids) == "2,000 <s> a <unk> <unk>"


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    with pytest.raises(RunError, match=r"tokenizer\.json is missing"):
        Tokenizer.load(path)
    path.write_text(TRAINED["bpe"].json()[:-99], encoding="utf-8")
    with pytest.raises(RunError, match=r"tokenizer\.json cannot be read"):
        Tokenizer.load(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(RunError, match=r"tokenizer\.json cannot be read"):
        Tokenizer.load(path)


def test_a_tokenizer_whose_reserved_tokens_are_not_the_first_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(TRAINED["words"].json().replace('"<pad>"', '"<gap>"'), encoding="utf-8")
    with pytest.raises(RunError, match=r"tokenizer\.json.*no tokenizer that Seqwright wrote"):
        Tokenizer.load(path)


@pytest.mark.parametrize("kind", KINDS)
def test_further_special_tokens_come_last_and_are_found_in_no_text(kind: Kind, tmp_path: Path) -> None:
    tokenizer = learnt(kind, [*CORPUS, "<mask> <to-fr>"], vocabulary=197)
    special = tokenizer.with_special(["<mask>", "<to-fr>"])
    size = tokenizer.size
    assert (special.size, special.mask, tokenizer.mask) == (size + 2, size, None)
    assert special.special == {"<pad>": 0, "<unk>": 1, "<s>": 2, "</s>": 3, "<mask>": size, "<to-fr>": size + 1}
    special.save(tmp_path / "text.json")
    text = "the dog<mask> <to-fr> jumps"
    for each in (special, Tokenizer.load(tmp_path / "text.json"), pickle.loads(pickle.dumps(special))):
        assert each.json() == special.json()
        assert encoded(each, text) == encoded(tokenizer, text)
        assert each.decode([*encoded(each, "the"), size, *encoded(each, "dog")]).split("<mask>")[0] == "the"
        assert each.words([size, 3, size + 1]) == [("<mask>", [0]), ("</s>", [1]), ("<to-fr>", [2])]
        assert each.unwritten() == [0, 1, 2, size, size + 1]
        assert each.unknown_characters([text]) == tokenizer.unknown_characters([text])


def test_learning_special_tokens_keeps_the_limit() -> None:
    settings = TokenizerSettings(tokenizer="bpe", vocabulary=97)
    tokenizer = Tokenizer.train(CORPUS, settings, special=("<mask>",))
    assert (tokenizer.size, tokenizer.mask) == (97, 96)
    assert tokenizer.with_special(("<mask>",)).json() == tokenizer.json()


def test_an_ordinary_token_cannot_become_special() -> None:
    with pytest.raises(SettingError, match="'▁the' is an ordinary token"):
        TRAINED["words"].with_special(["▁the"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("texts", [[], ["", ""]])
def test_a_tokenizer_cannot_be_learnt_from_nothing(kind: Kind, texts: list[str]) -> None:
    with pytest.raises(DataError, match="no text"):
        learnt(kind, texts)


@pytest.mark.parametrize(("kind", "needed"), [("bpe", 5), ("unigram", 5), ("wordpiece", 10)])
def test_an_alphabet_must_fit_into_the_vocabulary(kind: Kind, needed: int) -> None:
    texts = ["ab cd", "abc"]  # a b c d ▁
    assert learnt(kind, texts, vocabulary=4 + needed).size == 4 + needed
    with pytest.raises(
        SettingError, match=f"needs {needed} tokens .* vocabulary = {3 + needed} .* room for {needed - 1}"
    ):
        learnt(kind, texts, vocabulary=3 + needed)
    learnt(kind, texts, vocabulary=3 + needed, min_frequency=2)  # d occurs once


def test_characters_and_words_keep_the_most_frequent() -> None:
    texts = ["b a b a b d c", "c e"]
    assert vocabulary(learnt("characters", texts, vocabulary=8))[4:] == ["▁", "b", "a", "c"]
    assert vocabulary(learnt("words", texts, vocabulary=7))[4:] == ["▁", "▁b", "▁a"]
    assert vocabulary(learnt("words", texts, min_frequency=2))[4:] == ["▁", "▁b", "▁a", "▁c"]
    assert encoded(learnt("characters", texts, min_frequency=3), "bad") == [5, UNKNOWN, UNKNOWN]


def naive_merges(words: dict[str, int], alphabet: set[str], how_many: int) -> list[tuple[str, str]]:
    """Sennrich et al. 2016, algorithm 1; between equal pairs the one of older tokens is merged first."""
    age = {letter: number for number, letter in enumerate(sorted(alphabet))}
    cut = {word: list(word) for word in words}
    merges = []
    for _ in range(how_many):
        pairs = Counter[tuple[str, str]]()
        for word, count in words.items():
            for pair in pairwise(cut[word]):
                pairs[pair] += count
        best = min(pairs, key=lambda pair: (-pairs[pair], age[pair[0]], age[pair[1]]))
        merges.append(best)
        age.setdefault("".join(best), len(age))
        for pieces in cut.values():
            place = 0
            while place < len(pieces) - 1:
                if (pieces[place], pieces[place + 1]) == best:
                    pieces[place : place + 2] = ["".join(best)]
                place += 1
    return merges


def test_bpe_learns_the_merges_of_the_worked_example() -> None:
    words = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
    texts = [word for word, count in words.items() for _ in range(count)]
    marked = {"▁" + word: count for word, count in words.items()}
    alphabet = set("".join(marked))
    tokenizer = learnt("bpe", texts, vocabulary=4 + len(alphabet) + 10)
    merges = [tuple(pair) for pair in model(tokenizer)["merges"]]
    assert merges[:2] == [("e", "s"), ("es", "t")]
    assert merges == naive_merges(marked, alphabet, 10)
    assert tokenizer.pieces(encoded(tokenizer, "lowest")) == ["▁low", "est"]


def test_unknown_letters_never_join_their_neighbours() -> None:
    tokenizer = learnt("bpe", ["aXb"] * 5 + ["ab c"], vocabulary=97, min_frequency=6)
    assert vocabulary(tokenizer)[4:6] == ["a", "b"]
    assert ["a", "b"] not in model(tokenizer)["merges"]


def longest_matches(unit: str, known: set[str]) -> list[str]:
    """Devlin et al. 2019: the longest known piece from the left, again and again."""
    pieces: list[str] = []
    while unit:
        prefix = "##" if pieces else ""
        length = max(length for length in range(1, len(unit) + 1) if prefix + unit[:length] in known)
        pieces.append(prefix + unit[:length])
        unit = unit[length:]
    return pieces


def test_wordpiece_takes_the_longest_match() -> None:
    tokenizer = TRAINED["wordpiece"]
    known = set(vocabulary(tokenizer))
    draw = random.Random(5)
    for _ in range(97):
        word = "".join(draw.choices("jumpingsleqckrovthazd", k=draw.randint(1, 9)))
        assert tokenizer.pieces(encoded(tokenizer, word)) == longest_matches("▁" + word, known)


def most_probable(unit: str, scores: dict[str, float]) -> float:
    """The best of all ways to cut, by trying each."""
    ways = []
    for cuts in range(len(unit)):
        for places in combinations(range(1, len(unit)), cuts):
            pieces = [unit[start:stop] for start, stop in pairwise([0, *places, len(unit)])]
            if all(piece in scores for piece in pieces):
                ways.append(sum(scores[piece] for piece in pieces))
    return max(ways)


def test_unigram_takes_the_most_probable_way() -> None:
    tokenizer = TRAINED["unigram"]
    scores = dict(model(tokenizer)["vocab"][4:])
    for word in ["jumping", "foxes", "quickest", "lazy", "overslept"]:
        score = sum(scores[piece] for piece in tokenizer.pieces(encoded(tokenizer, word)))
        assert score == pytest.approx(most_probable("▁" + word, scores), abs=1e-9)


def test_unigram_learns_a_frequent_word_that_is_part_of_no_other() -> None:
    tokenizer = learnt("unigram", ["xylophone music"] * 7 + ["muse", "phone"], vocabulary=53)
    assert "▁xylophone" in vocabulary(tokenizer)


@pytest.mark.parametrize("kind", ["words", "bpe", "unigram", "wordpiece"])
def test_digits_and_punctuation_are_tokens_of_their_own(kind: Kind) -> None:
    tokenizer = learnt(kind, ["the dog. 2024, 2024, dog."] * 97)
    assert tokenizer.pieces(encoded(tokenizer, "dog. 2024,")) == ["▁dog", ".", "▁", "2", "0", "2", "4", ","]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_an_indentation_is_one_token(kind: Kind) -> None:
    tokenizer = learnt(kind, ["if a:\n        b\n        c"] * 11)
    assert "▁" * 7 in tokenizer.pieces(encoded(tokenizer, "if a:\n        b"))


@pytest.mark.parametrize("kind", SPELLING)
def test_a_word_of_any_length_can_be_spelled(kind: Kind) -> None:
    word = "quick" * 211
    assert TRAINED[kind].decode(encoded(TRAINED[kind], word)) == word


def test_reserved_tokens_are_left_out_and_the_unknown_is_shown() -> None:
    tokenizer = TRAINED["bpe"]
    ids = encoded(tokenizer, "the d猫g")
    assert tokenizer.decode([BEGIN, *ids, END, PAD, PAD]) == "the d<unk>g"
    assert TRAINED["words"].decode(encoded(TRAINED["words"], "the cat slept")) == "the <unk> slept"
    assert TRAINED["wordpiece"].decode(encoded(TRAINED["wordpiece"], "the 猫 dog")) == "the <unk> dog"


def test_literal_number_signs_are_no_marks_of_continuation() -> None:
    tokenizer = TRAINED["wordpiece"]
    for text in ["##", "a##b", "## the##", "#the ###"]:
        assert tokenizer.decode(encoded(tokenizer, text)) == text


@pytest.mark.parametrize("kind", ["words", "bpe", "unigram", "wordpiece"])
def test_pieces_are_gathered_into_words(kind: Kind) -> None:
    tokenizer = TRAINED[kind]
    text = 'The lazy dog  didn\'t "jump" (until 10:45).'
    ids = [BEGIN, *encoded(tokenizer, text), END]
    words = tokenizer.words(ids)
    names = ["The", "lazy", "dog", "▁", "didn", "'", "t", '"', "jump", '"', "(", "until", "10", ":", "45", ")", "."]
    if kind == "words":  # the corpus has these two only after a space, and a word with its space is another token
        names = ["<unk>" if name in ("jump", "until") else name for name in names]
    assert [name for name, _ in words] == ["<s>", *names, "</s>"]
    assert [position for _, positions in words for position in positions] == list(range(len(ids)))


def test_every_character_is_an_item_of_its_own() -> None:
    ids = [*encoded(TRAINED["characters"], "a do"), END]
    assert TRAINED["characters"].words(ids) == [("a", [0]), ("▁", [1]), ("d", [2]), ("o", [3]), ("</s>", [4])]


def test_characters_no_token_contains_are_counted() -> None:
    for kind in KINDS:
        assert TRAINED[kind].unknown_characters(["猫 the 猫", "dog é"]) == Counter({"猫": 2, "é": 1})
    assert learnt("words", ["dog", "cat"]).unknown_characters(["taco dots"]) == Counter({"s": 1})


@pytest.mark.parametrize("form", ["NFC", "NFKC", "NFD", "NFKD"])
def test_text_is_brought_into_the_chosen_form(form: Literal["NFC", "NFKC", "NFD", "NFKD"]) -> None:
    text = "e\u0301 é ﬁ ² Å"
    tokenizer = learnt("characters", [text, unicodedata.normalize("NFKD", text)], normalise=form.lower())
    assert tokenizer.decode(encoded(tokenizer, text)) == unicodedata.normalize(form, text)


def test_capital_letters_become_small_where_asked() -> None:
    tokenizer = learnt("bpe", ["The THE the"], lowercase=True)
    assert tokenizer.decode(encoded(tokenizer, "THE tHe")) == "the the"
    assert len(encoded(tokenizer, "THE tHe")) == 2


def test_numbers_are_as_narrow_as_the_vocabulary_allows() -> None:
    assert TRAINED["bpe"].encode(["the"])[0].dtype == np.uint16
    many = "".join(chr(0x20000 + number) for number in range(65_533))
    wide = Tokenizer.train([many], TokenizerSettings(tokenizer="characters", vocabulary=80_000, normalise="none"))
    assert wide.size == 4 + 1 + 65_533
    ids = wide.encode([many])[0]
    assert ids.dtype == np.uint32
    assert ids.max() == 65_537
