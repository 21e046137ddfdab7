"""Tokenizers that other programs wrote: WordPiece as in BERT, bytes as in GPT-2, "▁" as in SentencePiece."""

import json
import pickle
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers

from seqwright.data.labelled_tables import Example
from seqwright.data.question_files import Question
from seqwright.errors import RunError, SettingError
from seqwright.inputs import Given
from seqwright.inputs.bpe_dropout import BPEDropout
from seqwright.inputs.foreign_tokenizers import ForeignTokenizer, _bytes_as_letters
from seqwright.inputs.question import QuestionInput
from seqwright.inputs.tokenizers import Tokenizer
from tests.wires import text_input

CORPUS = ["the quick brown fox jumps over the lazy dog.", "the dog, a lazy one, slept until 23:10", "naïve café 猫"] * 5
NAMES = {
    "bert": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
    "gpt2": ["<|endoftext|>"],
    "sentencepiece": ["<unk>", "<s>", "</s>", "<pad>", "<mask>"],
}


def bert() -> tokenizers.Tokenizer:
    library = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    library.normalizer = normalizers.BertNormalizer()
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.decoder = decoders.WordPiece()
    library.train_from_iterator(
        CORPUS, trainers.WordPieceTrainer(vocab_size=97, special_tokens=NAMES["bert"], show_progress=False)
    )
    library.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    library.enable_truncation(7)
    library.enable_padding(length=7)
    return library


def gpt2() -> tokenizers.Tokenizer:
    library = tokenizers.Tokenizer(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=307, special_tokens=NAMES["gpt2"], initial_alphabet=alphabet, show_progress=False
    )
    library.train_from_iterator(CORPUS, trainer)
    library.add_tokens([AddedToken("[猫]", special=False)])
    return library


def sentencepiece() -> tokenizers.Tokenizer:
    library = tokenizers.Tokenizer(models.Unigram())
    library.pre_tokenizer = pre_tokenizers.Metaspace()
    library.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=97, special_tokens=NAMES["sentencepiece"], unk_token="<unk>", show_progress=False
    )
    library.train_from_iterator(CORPUS, trainer)
    return library


MAKERS = {"bert": bert, "gpt2": gpt2, "sentencepiece": sentencepiece}
LOADED = {name: ForeignTokenizer.checked(make()) for name, make in MAKERS.items()}


def encoded(tokenizer: Tokenizer, text: str) -> list[int]:
    return [int(number) for number in tokenizer.encode([text])[0]]


@pytest.mark.parametrize(
    ("name", "roles"),
    [("bert", (2, 3, 1, 4, 0)), ("gpt2", (0, 0, None, None, None)), ("sentencepiece", (1, 2, 0, 4, 3))],
)
def test_special_tokens_have_their_roles_by_their_names(name: str, roles: tuple[int | None, ...]) -> None:
    tokenizer = LOADED[name]
    assert (tokenizer.begin, tokenizer.end, tokenizer.unknown, tokenizer.mask, tokenizer.pad) == roles
    assert list(tokenizer.special) == NAMES[name]
    assert tokenizer.unwritten() == [n for n in range(len(NAMES[name])) if n != tokenizer.end]


def ending_in(*names: str) -> processors.PostProcessor:
    marks = [(name, NAMES["bert"].index(name)) for name in names]
    return processors.TemplateProcessing(single=["$A", *names], special_tokens=marks)


@pytest.mark.parametrize(
    ("around", "end"),
    [
        (ending_in("[SEP]", "[CLS]"), 2),
        (processors.BertProcessing(("[PAD]", 0), ("[CLS]", 2)), 0),
        (processors.RobertaProcessing(("[PAD]", 0), ("[CLS]", 2)), 0),
        (processors.Sequence([processors.ByteLevel(), ending_in("[MASK]"), processors.ByteLevel()]), 4),
        (processors.Sequence([ending_in("[PAD]"), processors.Sequence([ending_in("[CLS]")])]), 2),
        (processors.Sequence([processors.ByteLevel()]), 3),
        (ending_in(), 3),
    ],
)
def test_what_the_file_puts_after_a_text_ends_it(around: processors.PostProcessor, end: int) -> None:
    library = bert()
    library.post_processor = around
    assert ForeignTokenizer.checked(library).end == end


def test_a_template_without_a_text_ends_in_nothing() -> None:
    plain = json.loads(bert().to_str())
    plain["post_processor"] = {"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}}
    assert ForeignTokenizer.checked(tokenizers.Tokenizer.from_str(json.dumps(plain))).end == 3


@pytest.mark.parametrize("name", MAKERS)
def test_a_file_is_used_as_it_is_and_comes_back_whole(name: str, tmp_path: Path) -> None:
    library = MAKERS[name]()
    library.save(str(tmp_path / "tokenizer.json"))
    tokenizer = Tokenizer.load(tmp_path / "tokenizer.json")
    library.no_truncation()
    library.no_padding()
    text = "The quick 猫, naïve  foxes\nslept."
    assert encoded(tokenizer, text) == library.encode(text, add_special_tokens=False).ids
    tokenizer.save(tmp_path / "again.json")
    for again in (Tokenizer.load(tmp_path / "again.json"), pickle.loads(pickle.dumps(tokenizer))):
        assert isinstance(again, ForeignTokenizer)
        assert (again.json(), again.fingerprint(), again.kind) == (
            tokenizer.json(),
            tokenizer.fingerprint(),
            tokenizer.kind,
        )


@pytest.mark.parametrize("name", MAKERS)
def test_no_text_has_a_special_token_in_it(name: str) -> None:
    special = set(LOADED[name].special.values()) - {LOADED[name].unknown}
    for marks in NAMES[name]:
        assert not special & set(encoded(LOADED[name], f"a {marks} b{marks}"))
    more = pickle.loads(pickle.dumps(LOADED[name].with_special(["<to-fr>"])))
    assert more.special["<to-fr>"] == more.size - 1 == LOADED[name].size
    assert more.size - 1 not in encoded(more, "a <to-fr> b")
    assert "<to-fr>" in more.decode([*encoded(more, "fox"), more.size - 1])


@settings(max_examples=60, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_bytes_decode_to_any_text(text: str) -> None:
    tokenizer = LOADED["gpt2"]
    ids = encoded(tokenizer, text)
    assert tokenizer.decode([tokenizer.begin, *ids, tokenizer.end]) == text
    assert [place for _, places in tokenizer.words(ids) for place in places] == list(range(len(ids)))
    assert "".join(tokenizer.units(text)) == text
    assert tokenizer.unknown_characters([text]) == Counter()


def test_pieces_are_put_together_by_the_decoder_of_the_file() -> None:
    for name, said in (("bert", "the foxes slept."), ("sentencepiece", "the foxes slept.")):
        tokenizer = LOADED[name]
        ids = encoded(tokenizer, "the foxes slept.")
        assert tokenizer.decode([tokenizer.begin, *ids, tokenizer.end, tokenizer.pad or 0]) == said
    assert "[MASK]" in LOADED["bert"].decode([2, *encoded(LOADED["bert"], "the fox"), 4, 3])


@pytest.mark.parametrize("name", MAKERS)
def test_pieces_are_gathered_into_words(name: str) -> None:
    tokenizer = LOADED[name]
    ids = [tokenizer.begin, *encoded(tokenizer, "the quickest dog, naïve"), tokenizer.end]
    words = tokenizer.words(ids)
    naive = "naive" if name == "bert" else "naïve"
    first, last = (tokenizer.pieces([token])[0] for token in (tokenizer.begin, tokenizer.end))
    assert [word for word, _ in words] == [first, "the", "quickest", "dog", ",", naive, last]
    assert [place for _, places in words for place in places] == list(range(len(ids)))


@pytest.mark.parametrize("name", MAKERS)
def test_every_token_is_spelled_in_its_own_way_without_white_space(name: str) -> None:
    spellings = LOADED[name].spellings()
    assert len(set(spellings)) == len(spellings) == LOADED[name].size
    assert not any(character.isspace() for spelled in spellings for character in spelled)
    assert {"bert": "the", "gpt2": "▁the", "sentencepiece": "▁"}[name] in spellings


@pytest.mark.parametrize("name", MAKERS)
def test_each_token_has_its_place_in_the_text(name: str) -> None:
    text = "the dog, naïve 猫"
    ids, places = LOADED[name].placed(text)
    assert ids.tolist() == encoded(LOADED[name], text)
    words = LOADED[name].words(ids.tolist())
    assert [text[places[some[0]][0] : places[some[-1]][1]].strip() for _, some in words] == text.replace(
        ",", " ,"
    ).split()


def test_characters_that_no_token_has_are_counted() -> None:
    assert LOADED["bert"].unknown_characters(["Ω the 犬 犬\n"]) == Counter({"ω": 1, "犬": 2})
    assert LOADED["sentencepiece"].unknown_characters(["Ω the"]) == Counter({"Ω": 1})
    assert LOADED["bert"].unknowns(encoded(LOADED["bert"], "Ω the Ω")) == 2
    assert LOADED["gpt2"].unknowns(encoded(LOADED["gpt2"], "Ω the Ω")) == 0


@pytest.mark.parametrize("name", MAKERS)
def test_a_word_alone_has_the_tokens_it_has_inside_a_text(name: str) -> None:
    tokenizer = LOADED[name]
    inside = encoded(tokenizer, "slept lazy")[len(encoded(tokenizer, "slept")) :]
    assert encoded(tokenizer, tokenizer.opening + "lazy") == inside


def test_roles_are_found_where_the_file_calls_no_token_special(tmp_path: Path) -> None:
    names = ["</s>", "<s>", "<unk>", "a"]
    library = tokenizers.Tokenizer(models.WordLevel({name: n for n, name in enumerate(names)}, unk_token="<unk>"))
    library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    library.save(str(tmp_path / "tokenizer.json"))
    tokenizer = Tokenizer.load(tmp_path / "tokenizer.json")
    assert (tokenizer.begin, tokenizer.end, tokenizer.unknown, tokenizer.size) == (1, 0, 2, 4)


def test_a_file_without_a_token_that_begins_a_text_is_refused(tmp_path: Path) -> None:
    library = tokenizers.Tokenizer(models.WordLevel({"a": 0, "</s>": 1}, unk_token="a"))
    library.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    library.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(
        RunError, match=r"tokenizer\.json: .* no token that begins a text: .* are </s>, expected \[CLS\]"
    ):
        Tokenizer.load(tmp_path / "tokenizer.json")


def test_bpe_dropout_is_for_tokenizers_that_were_learnt_here() -> None:
    with pytest.raises(SettingError, match="another program's"):
        BPEDropout(LOADED["gpt2"], 0.1)


def test_what_stands_between_two_texts_is_what_the_file_puts_there() -> None:
    """RoBERTa has two ends there; a tokenizer that puts nothing between texts gets one."""
    library = sentencepiece()
    library.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 1))
    roberta = ForeignTokenizer.checked(library)
    assert (roberta.between, ForeignTokenizer.checked(bert()).between) == (2, 1)
    assert ForeignTokenizer.checked(gpt2()).between == 1
    pairs = text_input(roberta, longest=50, begins=True, pairs=True)
    first, second = "the quick fox", "the lazy dog"
    rows = pairs.encode(Given([Example(first, "", second)]))
    assert pairs.stack(rows.take(rows.example_N, None))["input_B"][0].tolist() == library.encode(first, second).ids
    asking = QuestionInput(roberta, longest=60, stride=10, question=30)
    windows = asking.encode(Given([Question(first, second, ())]))
    read = asking.stack(windows.take(np.array([0]), None))
    assert read["input_BT"][0].tolist() == library.encode(first, second).ids
    cut = (
        replace(asking, question=3).encode(Given([Question(first, second, ())])).questions.take(np.array([0]), None)[0]
    )
    (ids,) = roberta.encode([first])
    assert cut.tolist() == [*ids[:2], roberta.end, roberta.end]


def test_the_letters_of_bytes_are_those_of_the_library() -> None:
    letters = _bytes_as_letters()
    assert sorted(letters) == sorted(pre_tokenizers.ByteLevel.alphabet())
    assert sorted(letters.values()) == list(range(256))
