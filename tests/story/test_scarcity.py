"""A disk, memory, files or permissions that run out are one sentence, exit code 2, and nothing is lost."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.killing import Ended, ForkServer, Moment, Scarcity
from benchmarks.small_recipes import FAMILIES
from benchmarks.survival import contents
from seqwright.cli.address_space import LEAST
from seqwright.errors import scarcity

NOBODY = 65534
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits are those of Linux")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    with ForkServer() as server:
        yield server


@pytest.fixture(scope="module")
def trained(server: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recipe and its run."""
    home = tmp_path_factory.mktemp("trained")
    FAMILIES["classification"].write(home)
    ended = server.run("train", "recipe.toml", "--run", "run", "training.steps=2", folder=home)
    assert ended.code == 0, ended.said
    return home


@pytest.fixture
def home(trained: Path) -> Iterator[Path]:
    """A copy of it where everybody may come: only the owner of the tests may enter their own folder."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        shutil.copytree(trained, Path(folder) / "home")
        yield Path(folder) / "home"


def refused(ended: Ended, *words: str) -> None:
    """One sentence, at the end of what was said, and code 2."""
    assert ended.code == 2, ended.said
    assert "Traceback" not in ended.said
    last = ended.said.splitlines()[-1]
    assert last.startswith("seqwright "), ended.said
    for word in words:
        assert word in last


# ------------------------------------------------------------------------------------------------ the disk


@pytest.mark.parametrize("most", [2_000, 40_000])
def test_a_checkpoint_that_finds_no_room_leaves_the_older_ones(most: int, server: ForkServer, home: Path) -> None:
    before = contents(home / "run")
    words = ("train", "recipe.toml", "--run", "run", "training.steps=6", "training.save_every=2")
    little = Scarcity(file_bytes=most)
    refused(server.run(*words, folder=home, scarcity=little), "File too large", "earlier checkpoints are untouched")
    kept = {name: sum for name, sum in before.items() if name.startswith("step-")}
    assert kept.items() <= contents(home / "run").items()
    assert not [*(home / "run").glob(".*")]
    assert server.run(*words, folder=home).code == 0


@as_root
def test_verbs_on_a_full_disk_are_refused_and_leave_nothing(server: ForkServer, home: Path) -> None:
    disk = home / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        (disk / "old.tsv").write_text("old\n")
        words = ("classify", "run", "--file", "train.tsv", "--output", "disk/old.tsv", "--yes")
        (disk / "rest").write_bytes(b"x" * 12288)
        refused(server.run(*words, folder=home), "No space left on device")
        assert (disk / "old.tsv").read_text() == "old\n"
        refused(server.run("export", "run", "disk/model", "--to", "hf", folder=home), "No space left on device")
        refused(server.run("export", "run", "disk/run.vec", folder=home), "No space left on device")
        assert sorted(path.name for path in disk.iterdir()) == ["old.tsv", "rest"]
        made = server.run("eval", "run", folder=home, SEQWRIGHT_CACHE=str(disk / "cache"))
        assert made.code == 0, made.said
        assert "No space left on device" in made.said  # the cache is done without
    finally:
        subprocess.run(["umount", disk], check=True)


# ------------------------------------------------------------------------------------------------ permissions


@as_root
@pytest.mark.parametrize(
    "words",
    [
        ("train", "recipe.toml", "--run", "other"),
        ("train", "recipe.toml", "--run", "run", "training.steps=3"),
        ("eval", "run"),
        ("look", "run", "the grey sea"),
        ("export", "run", "model", "--to", "hf"),
        ("classify", "run", "--file", "train.tsv", "--output", "table.tsv"),
        ("new", "text-classification", "--data", "train.tsv", "--output", "own.toml"),
    ],
    ids=lambda words: " ".join(words[:3]),
)
def test_somebody_who_may_not_write_is_told_so(words: tuple[str, ...], server: ForkServer, home: Path) -> None:
    before = contents(home)
    ended = server.run(*words, folder=home, scarcity=Scarcity(user=NOBODY), SEQWRIGHT_CACHE="/nowhere")
    refused(ended, "Permission denied")
    assert contents(home) == before


@as_root
@pytest.mark.parametrize("name", ["recipe.toml", "train.tsv"])
def test_somebody_who_may_not_read_is_told_so(name: str, server: ForkServer, home: Path) -> None:
    (home / name).chmod(0o000)
    home.chmod(0o777)
    somebody = Scarcity(user=NOBODY)
    ended = server.run("train", "recipe.toml", "--run", "other", folder=home, scarcity=somebody, SEQWRIGHT_CACHE="c")
    refused(ended, "Permission denied", name)


@as_root
def test_without_a_home_the_cache_has_to_be_named(server: ForkServer, home: Path) -> None:
    home.chmod(0o777)
    nobody = Scarcity(user=54321)  # whom the system does not know
    words = ("train", "recipe.toml", "--run", "other", "training.steps=1")
    ended = server.run(*words, folder=home, scarcity=nobody, HOME=None, SEQWRIGHT_CACHE=None)
    refused(ended, "there is no home folder for the cache; point SEQWRIGHT_CACHE to a folder")
    assert server.run(*words, folder=home, scarcity=nobody, HOME=None, SEQWRIGHT_CACHE="cache").code == 0


# ------------------------------------------------------------------------------------------------ handles, memory


def test_too_many_open_files_are_a_sentence(server: ForkServer, home: Path) -> None:
    words = ("classify", "run", "--file", "train.tsv", "--output", "table.tsv")
    refused(server.run(*words, folder=home, scarcity=Scarcity(open_files=4)), "Too many open files")
    assert not [path for path in home.iterdir() if "table" in path.name]


def test_memory_that_runs_out_is_a_sentence_and_the_checkpoint_stays(server: ForkServer, home: Path) -> None:
    words = ("train", "recipe.toml", "--run", "large", "model.width=512", "training.tokens=9000")
    little = Scarcity(memory=60 * 2**20)
    refused(server.run(*words, folder=home, scarcity=little), "memory ran out", "training.tokens")


def under_ulimit(size: int, *words: str, folder: Path) -> Ended:
    """A command typed where `ulimit -v` says how much memory may be mapped, in bytes."""
    limited = f"ulimit -v {size // 1024}; exec {shlex.quote(sys.executable)} -m seqwright {shlex.join(words)}"
    done = subprocess.run(["sh", "-c", limited], cwd=folder, capture_output=True, text=True, timeout=200, check=False)
    return Ended(done.returncode, done.stderr, {})


@pytest.mark.parametrize("verb", ["train", "eval", "classify", "translate"])
@pytest.mark.parametrize("megabytes", [150, 550, 870, 1100, 1535])  # SIGINT, abort, for ever, a bad address
def test_too_little_address_space_is_a_sentence_before_a_library_is_loaded(
    megabytes: int, verb: str, home: Path
) -> None:
    words = {"train": ("recipe.toml", "--run", "other"), "eval": ("run",)}.get(verb, ("run", "the sea was fine"))
    ended = under_ulimit(megabytes * 2**20, verb, *words, folder=home)
    refused(ended, f"may map {megabytes:,} MB of memory (ulimit -v)", "need 1,536", "raise that limit")
    assert ended.said.count("\n") == 1
    assert not (home / "other").exists()


@pytest.mark.long
def test_with_the_least_address_space_that_is_asked_for_it_trains(home: Path) -> None:
    ended = under_ulimit(LEAST, "train", "recipe.toml", "--run", "other", "training.steps=2", folder=home)
    assert ended.code == 0, ended.said


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 13107200 bytes."),
        RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"),
        ImportError("libtorch_cpu.so: failed to map segment from shared object"),
        RuntimeError("can't start new thread"),
    ],
)
def test_every_library_says_it_otherwise(error: BaseException) -> None:
    told = scarcity(error)
    assert told is not None
    assert told.startswith("memory ran out")
    assert ("for 13,107,200 bytes at once" in told) == ("13107200" in str(error))


def test_another_error_is_none_of_these() -> None:
    assert scarcity(RuntimeError("shapes do not fit")) is None
    assert scarcity(RuntimeError("Could not determine home directory.")) is not None


# ------------------------------------------------------------------------------------------------ cache and clock


def test_two_processes_fill_one_cache(server: ForkServer, home: Path) -> None:
    """Both end as one does alone, and one of them tokenises."""
    words = ("train", "recipe.toml", "training.steps=2", "--run")
    assert server.run(*words, "alone", folder=home, SEQWRIGHT_CACHE="cache of one").code == 0
    found: list[Ended] = []
    with ForkServer() as second:
        other = threading.Thread(
            target=lambda: found.append(second.run(*words, "second", folder=home, SEQWRIGHT_CACHE="cache"))
        )
        other.start()
        found.append(server.run(*words, "first", folder=home, SEQWRIGHT_CACHE="cache"))
        other.join()
    assert [ended.code for ended in found] == [0, 0], found
    alone = weights(home / "alone")
    assert weights(home / "first") == weights(home / "second") == alone
    assert not [*(home / "cache").rglob(".*")]
    assert {path.name for path in (home / "cache" / "tokens").iterdir()} == {
        path.name for path in (home / "cache of one" / "tokens").iterdir()
    }


def weights(run: Path) -> dict[str, str]:
    return {name: sum for name, sum in contents(run).items() if name.endswith(".safetensors")}


@pytest.mark.parametrize("damage", ["deleted", "damaged"])
def test_a_cache_that_is_lost_between_two_halves_of_a_run_is_made_again(
    damage: str, server: ForkServer, home: Path
) -> None:
    words = ("train", "recipe.toml", "training.steps=8", "training.save_every=2", "--run")
    assert server.run(*words, "calm", folder=home, SEQWRIGHT_CACHE="calm cache").code == 0
    halfway = Moment("saving", 10**9, entry=2)
    assert server.run(*words, "halves", folder=home, SEQWRIGHT_CACHE="cache", kill=halfway).killed
    for path in [path for path in (home / "cache").rglob("*") if path.is_file()]:
        if damage == "deleted":
            path.unlink()
        else:
            path.write_bytes(path.read_bytes()[:-1])
    ended = server.run(*words, "halves", folder=home, SEQWRIGHT_CACHE="cache")
    assert ended.code == 0, ended.said
    assert "it is made again" in ended.said
    assert weights(home / "halves") == weights(home / "calm")


def test_a_cache_that_is_deleted_while_it_is_read_does_not_disturb(home: Path, tmp_path: Path) -> None:
    """What is mapped stays readable when its name is gone."""
    code = (
        "import shutil, numpy as np; from pathlib import Path\n"
        "from seqwright.text_cache import Rules, tokenised_texts\n"
        "encode = lambda texts: [np.arange(len(text), dtype=np.uint16) for text in texts]\n"
        "more = {'key': 'k', 'encode': encode, 'decode': str, 'rules': Rules(), 'where': 'it'}\n"
        "found = tokenised_texts(lambda: ['abc', 'de'], **more)\n"
        f"shutil.rmtree({str(tmp_path / 'cache')!r})\n"
        "print([row.tolist() for row in found.rows.take(np.array([0, 1]), 0)])\n"
    )
    environment = {**os.environ, "SEQWRIGHT_CACHE": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "[[0, 1, 2], [0, 1]]\n"


def test_a_clock_that_jumps_back_changes_nothing(server: ForkServer, home: Path) -> None:
    """What is newer is told by the step, never by the time of a file."""
    words = ("train", "recipe.toml", "training.steps=8", "training.save_every=2", "--run")
    assert server.run(*words, "calm", folder=home).code == 0
    assert server.run(*words, "halves", folder=home, kill=Moment("saving", 10**9, entry=2)).killed
    for number, path in enumerate(sorted((home / "halves").rglob("*"), reverse=True)):
        os.utime(path, (4e9 + number, 4e9 + number))  # in the year 2096, and the older the later
    ended = server.run(*words, "halves", folder=home)
    assert ended.code == 0, ended.said
    assert "resuming from step 4" in ended.said
    assert weights(home / "halves") == weights(home / "calm")
    listed = server.run("runs", ".", folder=home)
    assert listed.code == 0
    assert "halves" in listed.said
