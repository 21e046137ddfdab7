"""Reading tagged text: columns, what users get wrong, the split by hash, and the cards."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from seqwright.data.cards import card
from seqwright.data.tagged import TaggedFiles, TaggedFilesSettings
from seqwright.errors import DataError, SettingError

WANTED = [(("Ada", "wrote", "."), ("B-per", "O", "O")), (("In", "New", "York"), ("O", "B-loc", "I-loc"))]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, but for a file to validate on."""
    monkeypatch.chdir(tmp_path)
    Path("valid.conll").write_text("Ada O\n")
    return tmp_path


def data(train: str, **settings: Any) -> TaggedFiles:
    return TaggedFiles(TaggedFilesSettings(**{"train": train, "valid": "valid.conll"} | settings))


def read(train: str, **settings: Any) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    return [(sentence.words, sentence.tags) for sentence in data(train, **settings).examples("train")]


def write(name: str, text: str) -> str:
    Path(name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return name


def columns(separator: str, *more: str) -> str:
    """The wanted sentences, with other columns between word and tag."""
    sentences = (zip(*sentence, strict=True) for sentence in WANTED)
    return "\n".join("".join(separator.join((word, *more, tag)) + "\n" for word, tag in rows) for rows in sentences)


# Forms


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("separator", ["\t", " ", "  ", " \t "])
def test_tabs_or_spaces_stand_between_word_and_tag(separator: str, ending: str) -> None:
    assert read(write(f"a.conll{ending}", columns(separator))) == WANTED


def test_the_tag_is_the_last_column_unless_a_number_chooses_another() -> None:
    name = write("a.conll", columns(" ", "NN", "B-NP"))
    assert read(name) == WANTED
    assert read(name, tag=2) == [(words, ("NN",) * 3) for words, _ in WANTED]
    assert read(name, token=2, tag=3) == [(("NN",) * 3, ("B-NP",) * 3)] * 2


@pytest.mark.parametrize("gap", ["\n", "\n\n\n", "\t\n", "  \n", "\n-DOCSTART- -X- O O\n\n", "-DOCSTART-\tO\n"])
def test_blank_lines_and_beginnings_of_documents_part_sentences(gap: str) -> None:
    assert read(write("a.conll", f"{gap}a X\nb Y\n{gap}c X\n{gap}")) == [(("a", "b"), ("X", "Y")), (("c",), ("X",))]


def test_a_word_may_have_a_space_where_tabs_stand_between_columns() -> None:
    assert read(write("a.conll", "New York\tB-loc\n\u00a0\tO\n")) == [(("New York", "\u00a0"), ("B-loc", "O"))]


def test_a_number_sign_is_a_word() -> None:
    assert read(write("a.conll", "#\tO\n#fun\tO\n")) == [(("#", "#fun"), ("O", "O"))]


def test_of_conll_u_the_universal_parts_of_speech_are_read() -> None:
    rows = ["# text = Vámonos", "1-2\tVámonos\t_\t_\t_", "1\tVamos\tir\tVERB\tx", "2\tnos\tnosotros\tPRON\tx"]
    rows += ["2.1\tempty\t_\tX\t_", "", "# text = Ya", "1\tYa\tya\tADV\tx"]
    name = write("a.conllu", "\n".join(rows) + "\n")
    assert read(name) == [(("Vamos", "nos"), ("VERB", "PRON")), (("Ya",), ("ADV",))]
    assert read(name, tag=3) == [(("Vamos", "nos"), ("ir", "nosotros")), (("Ya",), ("ya",))]


def test_a_sentence_says_where_it_stands() -> None:
    name = write("a.conll", "\na X\n\n\nb Y\nc Y\n")
    assert [sentence.where for sentence in data(name).examples("train")] == ["a.conll:2", "a.conll:5"]


# What users get wrong


@pytest.mark.parametrize(
    ("text", "settings", "sentence"),
    [
        ("a X\n\nb\n", {}, r"a\.conll:3 has 1 column, expected at least 2, with tabs or spaces"),
        ("a X\n", {"tag": 4}, r"a\.conll:1 has 2 columns, expected at least 4"),
        ("a X\nNew York X\n", {}, r"a\.conll:2 has 3 columns but the lines before it 2"),
        ("a X\n", {"token": 2}, r"a\.conll:1 has its word in the last column, 2: say the tag's with data\.tag"),
        ("a\tX\n\tX\n", {}, r"a\.conll:2 has no word in column 1"),
        ("a\tX\nb\t\n", {}, r"a\.conll:2 has no tag in column 2"),
        ("", {}, r"a\.conll is empty"),
        ("\n\n", {}, r"the train part is empty: no sentence of a\.conll falls into it"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_by_its_line(text: str, settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        read(write("a.conll", text), **settings)


def test_a_file_that_is_not_there_is_refused() -> None:
    write("mine.conll", columns(" "))
    with pytest.raises(DataError, match=r"no file mime\.conll.*Did you mean 'mine\.conll'"):
        read("mime.conll")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"train": "5%"}, "data.train is '5%', expected a file"),
        ({"valid": "60%", "test": "40%"}, "leave nothing to train on"),
        ({"valid": "0%"}, "data.valid is '0%'"),
        ({"token": 2, "tag": 2}, "data.token and data.tag both mean column 2"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        data(**{"train": "a.conll"} | settings)
    with pytest.raises(SettingError):
        data("a.conll", tag=0)


# Shares


def test_shares_part_the_file_by_the_sentence_alone() -> None:
    rows = [f"word{number} X\nend Y\n" for number in range(400)]
    name, turned = write("a.conll", "\n".join(rows)), write("b.conll", "\n".join(reversed(rows)))
    parts, others = (data(file, valid="20%", test="10%") for file in (name, turned))
    found = {part: {sentence.words for sentence in parts.examples(part)} for part in parts.parts()}
    assert sum(map(len, found.values())) == len(set.union(*found.values())) == 400
    assert 50 < len(found["valid"]) < 110
    assert 20 < len(found["test"]) < 65
    for part in parts.parts():
        assert {sentence.words for sentence in others.examples(part)} == found[part]


def test_the_fingerprint_follows_content_columns_and_shares() -> None:
    text = columns(" ", "NN")
    name = write("a.conll", text)
    known = data(name).fingerprint("train")
    assert data(write("copy.conll", text)).fingerprint("train") == known
    others = [data(name, tag=2), data(name, valid="10%"), data(write("b.conll", text + "\nx NN O\n"))]
    assert len({known, *(other.fingerprint("train") for other in others)}) == 4


def test_a_part_that_is_not_there_is_refused() -> None:
    with pytest.raises(DataError, match=r"there is no test part: set data\.test"):
        list(data(write("a.conll", columns(" "))).examples("test"))


# Cards


def test_the_card_counts_the_real_sentences(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQWRIGHT_DATA", str(shared_data))
    corpus = card("wnut17").open()
    assert {part: len(list(corpus.examples(part))) for part in corpus.parts()} == card("wnut17").examples
    first = next(corpus.examples("train"))
    assert (first.words[0], first.tags[14:17]) == ("@paulwalk", ("B-location", "I-location", "I-location"))


def test_a_card_that_is_not_here_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQWRIGHT_DATA", str(tmp_path / "nothing"))
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(tmp_path / "cache"))
    with pytest.raises(DataError, match=r"wnut17train\.conll of wnut17 is neither in .*seqwright data get wnut17"):
        card("wnut17").open()
    with pytest.raises(SettingError, match=r"no dataset card 'wnut71'\. Did you mean 'wnut17'"):
        card("wnut71")
