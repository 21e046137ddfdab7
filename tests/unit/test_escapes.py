"""Text from data, names and files is only shown: no terminal obeys it, no page or Markdown file takes it for marks."""

import io
import json
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console
from rich.text import Text

from seqwright.__main__ import main
from seqwright.cli.safe_output import SafeStream
from seqwright.cli.terminal import print_table
from seqwright.comparison.table import ComparisonTable, TableCell, markdown
from seqwright.escapes import CONTROL, markdown_cell, markdown_code, markdown_paragraph, markdown_text, visible
from seqwright.model_card import write_card
from seqwright.pictures.still_page import escaped, still_page
from seqwright.runs import open_run
from tests.story.test_interchange import SIZES, made

MARKS = "<>&|`*_[]()#!~$\\-+=.0123 \n\"'"
HARM = [
    "\x1b[2J",
    "\x9b31m",
    "<script>",
    "</td>",
    "[a](javascript:b)",
    "![a](b)",
    "| a |",
    "```",
    "&lt;",
    "\u202e",
    "a_b_",
]
TEXTS = st.lists(st.one_of(st.sampled_from(HARM), st.text(MARKS, max_size=4), st.text(max_size=4)), max_size=5).map(
    "".join
)
ONCE = settings(max_examples=150, derandomize=True, database=None, deadline=None)
READER = MarkdownIt("commonmark", {"html": True}).enable("table")


# ---------------------------------------------------------------------------------------------------- terminal


@given(TEXTS)
@ONCE
def test_no_control_character_is_left_and_nothing_else_is_changed(text: str) -> None:
    shown = visible(text)
    assert CONTROL.search(shown) is None
    assert CONTROL.sub("", text) == shown or CONTROL.search(text)
    shown.encode()  # no half of a character


@given(TEXTS)
@ONCE
def test_json_stays_the_same_value(text: str) -> None:
    assert json.loads(visible(json.dumps(text, ensure_ascii=False))) == text


class Terminal(io.StringIO):
    """What a terminal would be sent."""

    def isatty(self) -> bool:
        return True


def test_colours_of_rich_pass_but_not_those_of_texts() -> None:
    terminal = Terminal()
    console = Console(file=SafeStream(terminal).rich_proxied_file, force_terminal=True, color_system="standard")  # type: ignore[arg-type]
    console.print(Text("red\x1b]0;title\x07\x1b[2J", style="bold red"))
    shown = terminal.getvalue()
    assert "\x1b[1;31m" in shown
    assert r"\x1b]0;title" in shown
    assert r"\x1b[2J" in shown
    assert "\x1b[2J" not in shown


def test_a_table_spells_out_what_its_cells_would_command(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", SafeStream(terminal))
    monkeypatch.setenv("TERM", "xterm")
    print_table(["\x1b[31mlabel"], [["\x1b[8mhidden\x1b[0m"]])
    assert r"\x1b[31mlabel" in terminal.getvalue()
    assert r"\x1b[8mhidden\x1b[0m" in terminal.getvalue()


def typed(monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[str, str]:
    """What a command shows on a terminal: results, and complaints."""
    out, err = Terminal(), Terminal()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "argv", ["seqwright", *words])
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        with pytest.raises(SystemExit):
            main()
        assert sys.stdout is out
    return out.getvalue(), err.getvalue()


def test_a_complaint_about_a_name_does_not_command_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    _, err = typed(monkeypatch, "train", "no\x1b[2J\nsuch")
    assert r"no\x1b[2J such" in err
    assert "\x1b" not in err
    assert err.count("\n") == 1


def test_the_name_of_a_folder_does_not_command_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made("gpt", tmp_path / "runs" / "mine\x1b]0;x\x07", **SIZES)
    out, err = typed(monkeypatch, "runs")
    assert r"mine\x1b]0;x\x07" in out
    assert "\x1b]" not in out + err


def test_what_goes_into_a_file_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    made("gpt", tmp_path / "runs" / "mine\x1b[1m", **SIZES)
    monkeypatch.setattr(sys, "argv", ["seqwright", "runs"])
    with pytest.raises(SystemExit):
        main()
    assert "mine\x1b[1m" in capsys.readouterr().out


# ---------------------------------------------------------------------------------------------------- Markdown


def inline(tokens: list[Token]) -> list[Token]:
    return [child for token in tokens for child in token.children or ()]


def said(tokens: list[Token]) -> str:
    """The text that a reader sees; nothing else may be there."""
    assert {token.type for token in tokens} <= {"text", "text_special"}
    return "".join(token.content for token in tokens)


def as_line(text: str) -> str:
    """What a text is on one line; readers of Markdown put a replacement for NUL, which is spelled out here."""
    return visible(" ".join(text.split()))


@given(TEXTS)
@ONCE
def test_a_text_in_markdown_is_that_text(text: str) -> None:
    assert said(inline(READER.parse(f"# a {markdown_text(text)}b\n"))) == f"a {as_line(text)}b"


@given(TEXTS)
@ONCE
def test_a_text_at_the_beginning_of_a_line_is_a_paragraph(text: str) -> None:
    tokens = READER.parse(f"# title\n\n{markdown_paragraph(text)}\n\nafter\n")
    kinds = [token.type for token in tokens if token.type.endswith("_open")]
    assert kinds == ["heading_open", "paragraph_open", *(["paragraph_open"] if as_line(text) else [])]
    assert said(inline(tokens)) == f"title{as_line(text)}after"


@given(TEXTS, TEXTS)
@ONCE
def test_a_table_has_a_cell_for_each_text(one: str, other: str) -> None:
    table = f"| a | b |\n|---|---|\n| {markdown_cell(one)} | {markdown_cell(other)} |\n"
    tokens = READER.parse(table)
    cells = [token for token in tokens if token.type == "inline"]
    assert [token.type for token in tokens].count("td_open") == 2
    assert [said(cell.children or []) for cell in cells] == ["a", "b", as_line(one), as_line(other)]


@given(TEXTS)
@ONCE
def test_code_is_code(text: str) -> None:
    (code,) = (t for t in inline(READER.parse(f"a {markdown_code(f'x{text}x')}")) if t.type != "text")
    assert (code.type, code.content) == ("code_inline", visible(f"x{text}x".replace("\n", " ")))


def harmless(text: str) -> None:
    tokens = READER.parse(text)
    kinds = {token.type for token in [*tokens, *inline(tokens)]}
    assert not {kind for kind in kinds if kind.startswith(("html", "link", "image", "fence"))}


def test_a_card_shows_a_hostile_description(tmp_path: Path) -> None:
    made("gpt", tmp_path / "run", **SIZES)
    run = open_run(tmp_path / "run")
    evil = "~~~ <script>alert(1)</script> [a](javascript:b) ![c](d)"
    recipe = run.recipe._replace(name="<b>mine</b>", description=evil)
    write_card(run._replace(recipe=recipe, folder=tmp_path / "run"))
    card = (tmp_path / "run" / "card.md").read_text(encoding="utf-8")
    harmless(card)
    assert evil in said([t for t in inline(READER.parse(card)) if t.type in {"text", "text_special"}])


def test_a_comparison_shows_hostile_names() -> None:
    evil = "<script>alert(1)</script> | x"
    found: dict[str, Any] = {"name": evil, "description": f"- {evil}"}
    table = ComparisonTable([evil, "b"], [[TableCell(evil, best=True), TableCell("1")]], 1, [evil])
    written = markdown(found, table)
    harmless(written)
    assert [token.type for token in READER.parse(written)].count("td_open") == 2


# ---------------------------------------------------------------------------------------------------- HTML


class Tags(HTMLParser):
    """The elements and attributes of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, int]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, len(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@given(TEXTS)
@ONCE
def test_a_text_in_a_page_is_that_text(text: str) -> None:
    def page(given: str) -> Tags:
        return Tags(still_page(given, f'<p title="{escaped(given)}">{escaped(given)}</p>', ""))

    found = page(text)
    assert found.tags == page("plain").tags
    assert text.replace("\r", "\n").strip() in found.text.replace("\r", "\n") or "\x00" in text or "\ud800" in text
