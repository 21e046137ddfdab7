"""What README and docs name exists: verbs, options, recipes, settings, files, and names of the package."""

import ast
import re
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from typer.main import get_command

import seqwright
from seqwright.cli.app import app
from seqwright.data.cards import cards, opened_data
from seqwright.kinds import TASKS
from seqwright.overrides import with_overrides
from seqwright.recipe import parsed, recipe_from, shipped, validated, with_base, with_teachers
from tests.pages import REPOSITORY, commands, fenced, inline, pages, setting_names

names = cache(setting_names)
SHAPE = ["Data", "Recipe", "Train", "Use", "Look inside", "What to expect", "Measured"]
OF_OTHER_RUNS = ("model.weights=", "input.like=")  # settings that lead to a run which is not here
SECTION_DOT_KEY = re.compile(r"^(data|input|output|model|objective|training|decoding)\.([a-z_]+)(?: ?=.*)?$")
NO_SETTINGS = {"model.safetensors"}
page = pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(REPOSITORY)))


@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_a_page_of_the_same_shape(task: str) -> None:
    text = (REPOSITORY / "docs" / "tasks" / f"{task}.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == SHAPE
    assert TASKS[task].verbs[0] in text.partition("## Use")[2].partition("## Look")[0]
    assert "results/README.md" in text.partition("## Measured")[2]


@page
def test_every_command_shown_can_be_typed(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for place, typed, below in commands(path):
        words = list(typed)
        if "Did you mean" in below or path.name == "verbs.md":  # misspelt on purpose; written from the verbs
            continue
        command: Any = get_command(app)
        while hasattr(command, "commands"):
            assert words[0] in command.commands, f"{place}: there is no verb {words[0]}"
            command = command.commands[words.pop(0)]
        with command.make_context("seqwright", words) as context:  # refuses an option that is not there
            _refuse_unknown_settings(place, context.params)


def _refuse_unknown_settings(place: str, given: dict[str, Any]) -> None:
    recipe, overrides = given.get("recipe"), given.get("overrides") or given.get("settings") or []
    if recipe in shipped():
        plain = with_base(parsed(shipped()[recipe].read_text(encoding="utf-8"), recipe), recipe)
        kept = [each for each in overrides if not each.startswith(OF_OTHER_RUNS)]
        changed = with_overrides(plain, kept, lambda told: None)
        recipe_from(with_teachers(changed, [str(given["teacher"])]) if "teacher" in given else changed)
        return
    assert recipe is None or recipe.endswith(".toml") or recipe.isupper(), f"{place}: there is no recipe {recipe}"
    for override in overrides:
        _refuse_unknown_setting(place, *override.partition("=")[0].split("."))


def _refuse_unknown_setting(place: str, section: str, key: str) -> None:
    assert key in names()[section], f"{place}: there is no setting {section}.{key}"


@page
def test_every_link_has_a_text(path: Path) -> None:
    assert re.findall(r"\[\]\([^)]*\)", path.read_text(encoding="utf-8")) == []  # unseen where pages are not built


@page
def test_every_recipe_shown_can_be_read(path: Path) -> None:
    for block in fenced(path.read_text(encoding="utf-8"), "toml"):
        plain = tomllib.loads(block)
        if "task" in plain or "base" in plain:
            recipe_from(with_base(plain, str(path)))
            continue
        for section in plain.keys() & names().keys():
            for key in plain[section]:
                _refuse_unknown_setting(str(path), section, key)


@page
def test_every_setting_recipe_and_verb_named_exists(path: Path) -> None:
    families = {name.partition("-")[0] for name in shipped() if "-" in name}
    verbs: Any = get_command(app).commands  # type: ignore[attr-defined]
    for told in inline(path.read_text(encoding="utf-8")):
        setting = SECTION_DOT_KEY.match(told)
        if setting and told not in NO_SETTINGS:
            _refuse_unknown_setting(f"{path}: {told}", setting[1], setting[2])
        if re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", told) and told.partition("-")[0] in families:
            assert told in {*shipped(), *cards()}, f"{path}: there is no recipe {told}"
        verb = re.match(r"seqwright ([a-z]+)(.*)", told)
        if verb:
            assert verb[1] in verbs, f"{path}: there is no verb {verb[1]}"
            options = {name for each in verbs[verb[1]].params for name in each.opts} | {"--help"}
            assert set(re.findall(r"(?<= )--[a-z][a-z-]*", verb[2])) <= options, f"{path}: {told}"


@page
def test_every_file_and_module_named_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for told in inline(text):
        if re.fullmatch(r"(src|docs|results|benchmarks|tests|tools)/[\w./-]+", told) and "NAME" not in told:
            assert (REPOSITORY / told).exists(), f"{path} names {told}"
    for module in re.findall(r"python -m\s+((?:benchmarks|tools|docs)\.\w+)", text):
        assert (REPOSITORY / f"{module.replace('.', '/')}.py").exists(), f"{path} names {module}"


@page
def test_every_name_of_the_package_in_code_shown_exists(path: Path) -> None:
    for block in fenced(path.read_text(encoding="utf-8"), "python"):
        tree = ast.parse(dedent(block))
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sw":
                assert hasattr(seqwright, node.attr), f"{path} names sw.{node.attr}"


def test_the_reference_of_modules_lists_what_exists() -> None:
    text = (REPOSITORY / "docs" / "reference" / "modules.md").read_text(encoding="utf-8")
    listed = re.findall(r"automodule:: (\S+)\n +:members: (.*)", text)
    assert len(listed) > 50
    for module, members in listed:
        gone = [name for name in members.split(", ") if not hasattr(import_module(module), name)]
        assert gone == [], f"{module} has no {gone}"


EXAMPLES: dict[str, tuple[str, dict[str, Any], int]] = {  # the file, settings that it needs, and how many it holds
    "translation": ("mine.tsv", {}, 3),
    "summarization": ("mine.csv", {"source": "dialogue", "target": "summary"}, 2),
    "grapheme-to-phoneme": ("mine.dict", {}, 3),
    "language-modeling": ("mine.txt", {}, 3),
    "instruction": ("mine.tsv", {}, 3),
    "masked-language-modeling": ("mine.txt", {}, 3),
    "text-classification": ("mine.csv", {}, 2),
    "text-regression": ("mine.csv", {}, 3),
    "token-classification": ("mine.conll", {}, 2),
    "question-answering": ("mine.csv", {"overlap": "keep"}, 2),
    "series-classification": ("mine.csv", {}, 3),
    "image-classification": ("mine.csv", {"bad_rows": "skip"}, 2),  # the images are nowhere
    "film-classification": ("mine.csv", {"bad_rows": "skip"}, 2),
    "film-tracking": ("mine.csv", {"bad_rows": "skip"}, 2),
    "image-captioning": ("mine.csv", {"bad_rows": "skip"}, 2),
    "forecasting": (
        "mine.csv",
        {"history": 4, "horizon": 1, "time": "date"},
        54,
    ),  # windows of three days, of which a fifth is held out
    "vector-to-text": ("mine.csv", {"columns": ["red", "green", "blue"], "text": "name"}, 2),
}
MORE = {"forecasting": "".join(f"2016-07-{day:02} {hour:02}:00,5,2\n" for day in (1, 2, 3) for hour in range(24))[42:]}


@pytest.mark.parametrize("task", TASKS)
def test_the_file_that_a_page_shows_is_read(task: str, tmp_path: Path) -> None:
    text = (REPOSITORY / "docs" / "tasks" / f"{task}.md").read_text(encoding="utf-8")
    name, settings, count = EXAMPLES[task]
    file = tmp_path / name
    file.write_text(fenced(text.partition("## Data")[2], "text")[0] + MORE.get(task, ""), encoding="utf-8")
    valid = {} if task in MORE else {"valid": str(file)}  # so that nothing is cut off
    opened = opened_data(validated("data", {"train": str(file), **settings, **valid}, task), TASKS[task].examples[0])
    assert len(list(opened.examples("train"))) == count
