"""kill -9 during any verb: nothing is half-written under a final name, and the same command again succeeds."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks.killing import Ended, ForkServer, Moment
from benchmarks.small_recipes import FAMILIES, phrases
from benchmarks.survival import TIMED, contents, damaged

COMPARISON = 'name = "one"\n[[rows]]\nrun = "classifier"\n'
TRAINED = {
    "translation": "translator",
    "classification": "classifier",
    "counted": "ngrams",
    "forecasting": "forecaster",
}


@dataclass(frozen=True)
class Verb:
    """A command, and whether what it has written may not be written again, or not without --yes."""

    words: tuple[str, ...]
    kind: str = "files"
    asks: bool = False


VERBS = {
    "count": Verb(("train", "counted/recipe.toml", "--run", "again")),
    "tokenise": Verb(("train", "classification/recipe.toml", "--run", "again", "training.steps=2"), kind="tokenising"),
    "eval": Verb(("eval", "classifier")),
    "eval forecasts": Verb(("eval", "forecaster")),
    "import arpa": Verb(("import", "other.arpa", "--run", "imported"), asks=True),
    "import folder": Verb(("import", "exported", "--run", "imported"), asks=True),
    "import in place": Verb(("import", "exported", "--run", "classifier", "--yes")),
    "export arpa": Verb(("export", "ngrams", "new.arpa"), asks=True),
    "export vectors": Verb(("export", "classifier", "new.vec"), asks=True),
    "export folder": Verb(("export", "classifier", "new-hf", "--to", "hf"), asks=True),
    "export onnx": Verb(("export", "classifier", "graphs", "--to", "onnx"), asks=True),
    "export ctranslate2": Verb(("export", "translator", "engine", "--to", "ctranslate2"), asks=True),
    "export in place": Verb(("export", "classifier", "exported", "--to", "hf", "--yes")),
    "distil": Verb(("distil", "classifier", "distilled/recipe.toml", "--run", "small", "training.steps=2")),
    "look": Verb(("look", "translator", "the grey sea")),
    "align": Verb(("align", "translator")),
    "embed": Verb(("embed", "classifier", "--file", "lines.txt", "--output", "vectors.npy"), asks=True),
    "translate": Verb(("translate", "translator", "--file", "lines.txt", "--output", "table.tsv"), asks=True),
    "forecast": Verb(("forecast", "forecaster", "--output", "ahead.csv"), asks=True),
    "new": Verb(
        ("new", "text-classification", "--data", "classification/train.tsv", "--output", "own.toml"), asks=True
    ),
}


LIBRARIES = {"export onnx": ("onnx", "onnxscript"), "export ctranslate2": ("ctranslate2",)}


def verbs(*slow: str) -> list[Any]:
    """Every verb; some are marked as long, and left out are those whose libraries are not installed."""

    def marks(name: str) -> list[Any]:
        lacking = [library for library in LIBRARIES.get(name, ()) if importlib.util.find_spec(library) is None]
        left_out = [pytest.mark.skip(f"{', '.join(lacking)} is not installed")] if lacking else []
        return [*left_out, *([pytest.mark.long] if name in slow else [])]

    return [pytest.param(name, marks=marks(name)) for name in VERBS]


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    with ForkServer() as server:
        yield server


@pytest.fixture(scope="module")
def home(server: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data and a run of some families, and what other programs wrote."""
    home = tmp_path_factory.mktemp("home")
    for name, family in FAMILIES.items():
        family.write(home / name)
    for name, run in TRAINED.items():
        few = ("training.steps=2",) if FAMILIES[name].descends else ()
        done(server, home, "train", f"{name}/recipe.toml", "--run", run, *few)
    (home / "one.toml").write_text(COMPARISON, encoding="utf-8")
    (home / "lines.txt").write_text("".join(f"{line}\n" for line in phrases(9, 4)), encoding="utf-8")
    done(server, home, "export", "ngrams", "other.arpa")
    done(server, home, "export", "classifier", "exported", "--to", "hf")
    return home


def typed(server: ForkServer, home: Path, *words: str, kill: Moment | None = None) -> Ended:
    return server.run(*words, folder=home, kill=kill, SEQWRIGHT_CACHE=str(home / ".cache"))


def done(server: ForkServer, home: Path, *words: str) -> Ended:
    ended = typed(server, home, *words)
    assert ended.code == 0, ended.said
    return ended


def shown(home: Path) -> dict[str, str]:
    """What is in a folder under final names."""
    return {name: sha256 for name, sha256 in contents(home).items() if not hidden(name)}


def hidden(name: str) -> bool:
    return any(part.startswith(".") for part in Path(name).parts)


class Story:
    """A verb in a home of its own: what was there before, and what is there when nobody kills it."""

    def __init__(self, server: ForkServer, home: Path, verb: Verb, folder: Path) -> None:
        self.server, self.home, self.verb, self.folder = server, home, verb, folder
        shutil.copytree(home, folder / "calm", symlinks=True)
        self.count = done(server, folder / "calm", *verb.words).counts.get(verb.kind, 0)
        self.before, self.after = shown(home), shown(folder / "calm")

    def killed_at(self, number: int) -> None:
        """Kill it, look what is there, and type the same again."""
        home = self.folder / f"killed {number}"
        shutil.copytree(self.home, home)
        assert typed(self.server, home, *self.verb.words, kill=Moment(self.verb.kind, number)).killed
        whole = {*self.before.items(), *self.after.items()}
        odd = {name for name, sha256 in shown(home).items() if (name, sha256) not in whole}
        assert odd & {*damaged(home)} == set()
        ended = typed(self.server, home, *self.verb.words)
        if self.verb.asks and ended.code == 2:  # all was done but to say so
            assert shown(home) == self.after
            assert "--yes" in ended.said or "exists; choose another name" in ended.said
        else:
            assert ended.code == 0, ended.said
        assert shown(home).keys() == self.after.keys()
        left = [str(path.relative_to(home)) for path in home.rglob(".*") if path.name != ".cache"]
        assert left == []
        shutil.rmtree(home)


@pytest.mark.parametrize("name", verbs("export onnx"))
def test_a_verb_that_is_killed_leaves_nothing_half_written_and_can_be_typed_again(
    name: str, server: ForkServer, home: Path, tmp_path: Path
) -> None:
    story = Story(server, home, VERBS[name], tmp_path)
    assert story.count >= 4
    story.killed_at(story.count // 2)


@pytest.mark.long
@pytest.mark.parametrize("name", verbs())
def test_it_does_not_matter_when_it_is_killed(name: str, server: ForkServer, home: Path, tmp_path: Path) -> None:
    story = Story(server, home, VERBS[name], tmp_path)
    for number in sorted({1 + (story.count - 1) * part // 8 for part in range(9)}):
        story.killed_at(number)


@pytest.mark.parametrize(
    "number", [40, *(pytest.param(number, marks=pytest.mark.long) for number in (1, 300, 700, 1000))]
)
def test_a_comparison_that_is_killed_goes_on(number: int, server: ForkServer, home: Path, tmp_path: Path) -> None:
    """Its 40th call that writes is inside of the first record. What it had started stops too, before it goes on."""
    shutil.copytree(home, tmp_path / "home")
    ended = typed(server, tmp_path / "home", "compare", "one.toml", kill=Moment("files", number))
    assert ended.killed, ended.said
    odd = {name for name in shown(tmp_path / "home") if name not in shown(home)}
    assert odd & {*damaged(tmp_path / "home")} == set()
    done(server, tmp_path / "home", "compare", "one.toml")
    written = {path.name for path in (tmp_path / "home" / "runs" / "one").iterdir()}
    assert written >= {"table.html", "table.json", "table.md"}
    assert not any(name.startswith(".") for name in written)


TRAINED_ROW = 'name = "one"\n[[rows]]\nname = "bert"\nrecipe = "recipe.toml"\n'
STEPS = "training = { steps = 60, save_every = 2, validate_every = 60 }\n"


@pytest.mark.long
@pytest.mark.parametrize("killed", ["the child", "both", "the child and what it started"])
def test_a_comparison_whose_training_is_killed_says_so_and_goes_on(killed: str, tmp_path: Path) -> None:
    """The process that trains a row dies by kill -9, alone or with the one that waits for it."""
    FAMILIES["classification"].write(tmp_path)
    (tmp_path / "one.toml").write_text(TRAINED_ROW + STEPS, encoding="utf-8")
    words = [sys.executable, "-m", "seqwright", "compare", "one.toml"]
    environment = {**os.environ, "SEQWRIGHT_CACHE": str(tmp_path / ".cache"), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    ) as parent:
        while not [*tmp_path.glob("runs/one/*/step-*")] and parent.poll() is None:
            time.sleep(0.01)
        (child,) = map(int, Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split())
        if killed == "both":
            os.killpg(parent.pid, signal.SIGKILL)
        (os.kill if killed == "the child" else os.killpg)(child, signal.SIGKILL)
        said = parent.communicate(timeout=200)[0].decode()
    assert parent.returncode == (-signal.SIGKILL if killed == "both" else 1), said
    if killed != "both":
        last = said.splitlines()[-1]
        assert last.startswith("seqwright compare: row 'bert' is missing: its process ended by signal 9"), said
    assert "Traceback" not in said
    assert damaged(tmp_path) == []
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "resuming from step" in done.stderr
    assert {path.name for path in (tmp_path / "runs" / "one").iterdir()} >= {"table.html", "table.json", "table.md"}
    assert not [*(tmp_path / "runs").rglob(".*")]


def test_what_is_written_in_place_would_be_found(tmp_path: Path) -> None:
    """The net has no hole: a file that is open and empty is half-written."""
    for name in ("page.html", "table.csv", "report.json", "links.txt"):
        (tmp_path / name).touch()
    assert damaged(tmp_path) == ["links.txt", "page.html", "report.json", "table.csv"]
    assert "pace.jsonl" in TIMED
