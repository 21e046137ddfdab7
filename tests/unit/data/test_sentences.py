"""How a document is cut into sentences, and a file of WikiText into articles."""

from pathlib import Path

import pytest

from seqwright.data.sentences import sentences
from seqwright.data.text import TextFiles, TextFilesSettings


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("One. Two! Three?  Four", ["One.", "Two!", "Three?", "Four"]),
        ('He said "No." Then he left. (He did.) Yes.', ['He said "No."', "Then he left.", "(He did.)", "Yes."]),
        ("a line\n\n  another line  \n", ["a line", "another line"]),
        ("cut into words . As WikiText is .", ["cut into words .", "As WikiText is ."]),
        ("pi is 3.14 and e.g. that", ["pi is 3.14 and e.g.", "that"]),
        ("你好。再见！", ["你好。", "再见！"]),
        (" \n\t\n", []),
    ],
)
def test_a_sentence_ends_with_its_line_or_with_a_mark_before_white_space(document: str, expected: list[str]) -> None:
    assert sentences(document) == expected


def test_only_white_space_is_lost() -> None:
    document = "The cat (a big one!) sat. On what?\nOn the mat… “Really?” Yes.\n"
    assert "".join("".join(sentences(document)).split()) == "".join(document.split())


ARTICLES = """ 
 = Robert = 
 
 Robert is an actor . 
 
 = = Career = = 
 
 In a formula ( J 
 = 7 / 2 = 
 ) nothing begins . 
 
 = X = 
 
 X is a letter . 
"""  # noqa: W291, W293


def test_an_article_goes_from_its_title_to_the_next(tmp_path: Path) -> None:
    (tmp_path / "wiki.txt").write_text(ARTICLES, encoding="utf-8")
    (tmp_path / "more.txt").write_text("without a title\n", encoding="utf-8")
    files = (str(tmp_path / "wiki.txt"), str(tmp_path / "more.txt"))
    data = TextFiles(TextFilesSettings(train=files, valid=files[:1], documents="articles"))
    found = [sentences(text) for text in data.examples("train")]
    assert found == [
        ["= Robert =", "Robert is an actor .", "= = Career = =", "In a formula ( J", "= 7 / 2 =", ") nothing begins ."],
        ["= X =", "X is a letter ."],
        ["without a title"],
    ]
    assert data.fingerprint("valid") != TextFiles(TextFilesSettings(train=files, valid=files[:1])).fingerprint("valid")
