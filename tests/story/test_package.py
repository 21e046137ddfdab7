"""The package as others get it: built twice to the same bytes, and used where there is no checkout."""

import hashlib
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCES = ("src", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md")
pytestmark = pytest.mark.long


def run(*words: str | Path, cwd: Path, **variables: str) -> str:
    """What a command prints, away from every setting of this process that could lead it to the checkout."""
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "SOURCE_DATE_EPOCH"}}
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, env=environment | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def built(folder: Path) -> Path:
    """The folder with the source distribution and the wheel, made in a copy of the checkout whose files are new."""
    copy = folder / "checkout"
    copy.mkdir(parents=True)
    for name in SOURCES:
        place = REPOSITORY / name
        files = [path for path in place.rglob("*") if path.is_file()] if place.is_dir() else [place]
        for path in files:
            if "__pycache__" not in path.parts:
                target = copy / path.relative_to(REPOSITORY)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", cwd=copy)
    return folder / "dist"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def installed(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the wheel, and with this one's libraries, but not its editable package."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True, system_site_packages=True)
    libraries = sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
    # A folder named in a .pth file is looked into, but .pth files in that folder are not followed.
    (Path(libraries) / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    (wheel,) = dist.glob("*.whl")
    run(folder / "bin/python", "-m", "pip", "install", "-q", "--no-deps", "--no-index", wheel, cwd=folder)
    return folder / "bin"


def test_building_twice_gives_the_same_bytes(dist: Path, tmp_path: Path) -> None:
    again = built(tmp_path)
    names = sorted(path.name for path in dist.iterdir())
    assert [name.removesuffix(".gz").rpartition(".")[2] for name in names] == ["whl", "tar"]
    for name in names:
        assert digest(dist / name) == digest(again / name), name


def test_source_and_wheel_hold_the_whole_package_and_nothing_else(dist: Path) -> None:
    package = REPOSITORY / "src/seqwright"
    files = {path.relative_to(package.parent).as_posix() for path in package.rglob("*") if path.is_file()}
    files = {name for name in files if "__pycache__" not in name}
    (wheel,), (source,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        assert {name for name in archive.namelist() if ".dist-info/" not in name} == files
    with tarfile.open(source) as archive:
        held = {name.partition("/src/")[2] for name in archive.getnames() if "/src/" in name}
    assert held == files


def test_the_wheel_alone_is_imported(installed: Path, tmp_path: Path) -> None:
    place = run(installed / "python", "-c", "import seqwright; print(seqwright.__file__)", cwd=tmp_path)
    assert Path(place.strip()).is_relative_to(installed.parent)


def test_the_wheel_shows_its_help_and_its_recipes(installed: Path, tmp_path: Path) -> None:
    assert "train" in run(installed / "seqwright", "--help", cwd=tmp_path)
    assert "dates-demo" in run(installed / "seqwright", "recipes", cwd=tmp_path)


def test_the_wheel_trains_and_uses_what_it_trained(installed: Path, tmp_path: Path) -> None:
    small = ["data.examples=60", "data.valid=10", "data.test=10", "model.width=16", "model.feed_forward=16"]
    steps = ["training.steps=2", "training.save_every=2", "training.validate_every=2", "training.threads=1"]
    program, cache = installed / "seqwright", str(tmp_path / "cache")
    run(program, "train", "reverse", "--run", "out", *small, *steps, cwd=tmp_path, SEQWRIGHT_CACHE=cache)
    assert (tmp_path / "out/step-000002/model.safetensors").is_file()
    assert run(program, "translate", "out", "3 1 2", cwd=tmp_path, SEQWRIGHT_CACHE=cache).count("\n") == 1
