"""What README and docs name exists: verbs, options, recipes, settings, files, and names of the package."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from typer.main import get_command

import seqwright
from seqwright.cli.app import app
from seqwright.data.cards import cards
from seqwright.kinds import TASKS
from seqwright.overrides import with_overrides
from seqwright.recipe import parsed, recipe_from, shipped, with_base, with_teachers
from tests.pages import REPOSITORY, commands, fenced, inline, pages, setting_names

names = cache(setting_names)
SHAPE = ["Data", "Recipe", "Train", "Use", "Look inside", "What to expect", "Measured"]
OF_OTHER_RUNS = ("model.weights=", "input.like=")  # settings that lead to a run which is not here
SECTION_DOT_KEY = re.compile(r"^(data|input|output|model|objective|training|decoding)\.([a-z_]+)(?: ?=.*)?$")
NO_SETTINGS = {"model.safetensors"}
MISSPELT = "training.stpes=5"
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
    for place, words in commands(path):
        if MISSPELT in words or "[OPTIONS]" in words:  # shown for the answer that it gets; how a verb is used
            continue
        command: Any = get_command(app)
        while hasattr(command, "commands"):
            assert words[0] in command.commands, f"{place}: there is no verb {words[0]}"
            command, words = command.commands[words[0]], words[1:]
        with command.make_context("seqwright", list(words)) as context:  # refuses an option that is not there
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
