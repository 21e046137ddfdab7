"""Groups of options: declared once, expanded into what Typer reads, collected again for the verb."""

from dataclasses import dataclass
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from seqwright.cli.app import app
from seqwright.cli.options import PANELS, Options, Verb, WritingOptions, flag, grouped, option
from seqwright.cli.writing import search_or_sample
from seqwright.errors import SettingError


@dataclass(frozen=True)
class Size(Options):
    width: int = option("N", "How wide.", default=3)
    names: list[str] | None = option("NAME", "What it is called.", "--name", "-n")


@dataclass(frozen=True, kw_only=True)
class Shape(Options):
    deep: bool = flag("Whether it is deep.", "--deep")
    size: Size


@pytest.fixture
def typed() -> Any:
    """Type a command whose options are in groups; what it got, and what it printed."""
    got: list[Any] = []
    app = typer.Typer(rich_markup_mode=None)

    def draw(
        text: Annotated[str, typer.Argument(metavar="TEXT", help="What is drawn.")],
        *,
        shape: Shape,
        loud: Annotated[bool, typer.Option("--loud", help="Say it.")] = False,
    ) -> None:
        """Draw."""
        got.append((text, shape, loud))

    app.command(cls=Verb)(grouped(draw))

    def type_words(*words: str) -> tuple[Any, Any]:
        got.clear()
        result = CliRunner().invoke(app, words)
        return (got[0] if got else None), result

    return type_words


def test_options_reach_the_verb_in_their_groups(typed: Any) -> None:
    assert typed("x")[0] == ("x", Shape(size=Size(3, None)), False)
    words = ("x", "--width", "7", "-n", "a", "--name", "b", "--deep", "--loud")
    assert typed(*words)[0] == ("x", Shape(deep=True, size=Size(7, ["a", "b"])), True)


def test_help_lists_them_in_the_order_of_the_signature(typed: Any) -> None:
    shown = typed("--help")[1].output
    places = [shown.index(words) for words in ("--deep", "--width N", "-n, --name NAME", "--loud")]
    assert places == sorted(places)
    assert "How wide.  [default: 3]" in shown


def test_a_wrong_value_is_refused_by_the_name_of_its_option(typed: Any) -> None:
    got, result = typed("x", "--width", "wide")
    assert got is None
    assert result.exit_code == 2
    assert "--width" in result.output


def test_settings_are_what_was_typed() -> None:
    assert Size(5, []).settings() == {"width": 5}


@pytest.mark.parametrize(
    ("options", "flags", "settings"),
    [
        ({}, {}, {}),
        ({}, {"sample": True}, {"beam": 1, "temperature": None}),
        ({"seed": 0}, {}, {"beam": 1, "temperature": None}),
        ({"temperature": 0.5}, {}, {"beam": 1, "temperature": 0.5}),
        ({"beam": 4}, {}, {"beam": 4, "temperature": 0.0}),
        ({}, {"greedy": True}, {"beam": 1, "temperature": 0.0}),
    ],
)
def test_options_choose_between_search_and_sampling(options: Any, flags: Any, settings: Any) -> None:
    assert search_or_sample(WritingOptions(**options), **flags) == settings


@pytest.mark.parametrize(
    ("options", "flags", "words"),
    [
        ({"beam": 4, "top_k": 3}, {}, "--top-k is for sampling, and --beam searches"),
        ({"beam": 1}, {"sample": True}, "--sample is for sampling, and --beam searches"),
        ({"beam": 2}, {"greedy": True}, "--greedy and --beam 2 contradict"),
        ({"temperature": 0}, {}, "--temperature is 0"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: Any, flags: Any, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        search_or_sample(WritingOptions(**options), **flags)


@pytest.mark.parametrize("columns", [60, 80])
def test_the_help_of_all_verbs_is_in_panels_and_cuts_nothing_off(columns: int) -> None:
    verbs = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    shown = CliRunner().invoke(app, ["--help"], terminal_width=columns).output
    words = "".join(shown.split())  # a line may break at a hyphen
    assert "..." not in words.partition("Begin:")[2]
    for title in (*PANELS, "More"):
        assert f"\n{title}:\n" in shown
    for name, verb in verbs.items():
        assert "".join(f"{name} {verb.get_short_help_str(1000)}".split()) in words
    assert max(map(len, shown.splitlines())) <= columns


def test_every_summary_is_one_line_of_a_terminal() -> None:
    verbs = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert {name for name, verb in verbs.items() if len(verb.get_short_help_str(1000)) > 64} == set()


def test_every_example_of_the_help_is_one_line_of_a_terminal() -> None:
    verbs = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    examples = [line for verb in verbs.values() for line in (verb.help or "").splitlines() if "Example: " in line]
    assert len(examples) > 30
    assert [line for line in examples if len(f"  {line.strip()}") > 80] == []
