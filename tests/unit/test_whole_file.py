"""Files and folders appear whole or not at all, whoever else writes them, and whatever was left before."""

import errno
import fcntl
import gzip
import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from seqwright.errors import DataError
from seqwright.exchange import exchange
from seqwright.whole_file import (
    appear,
    aside_of,
    bytes_whole,
    emptied,
    folder_whole,
    replacing,
    write_whole,
    written_whole,
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_when_it_is_whole_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")
    with written_whole(path) as file:
        file.write("new")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert names(tmp_path) == ["table.csv"]


def test_what_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), written_whole(path) as file:
        file.write(f"half{1 // 0}")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["table.csv"]


def test_a_file_is_on_disk_before_it_appears_and_its_name_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, events = tmp_path / "report.json", list[str]()
    replace = Path.replace

    def synced(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        events.append("folder" if is_folder else os.pread(descriptor, 99, 0).decode())

    def replaced(self: Path, target: Path) -> Path:
        events.append("replaced")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    write_whole(path, "whole")
    assert events == ["whole", "replaced", "folder"]


def test_a_compressed_file_is_on_disk_with_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: seen.append(os.pread(descriptor, 999, 0)) if not seen else None)
    write_whole(tmp_path / "answers.jsonl.gz", "text\n" * 50)
    assert gzip.decompress(seen[0]).decode() == "text\n" * 50


def test_what_a_killed_process_left_is_taken_over(tmp_path: Path) -> None:
    aside_of(tmp_path / "file").write_text("much longer than what comes now")
    write_whole(tmp_path / "file", "short")
    assert (tmp_path / "file").read_text() == "short"
    left = aside_of(tmp_path / "folder")
    (left / "deep").mkdir(parents=True)
    (left / "rest").write_text("left")
    with folder_whole(tmp_path / "folder") as aside:
        (aside / "new").write_text("new")
    assert names(tmp_path) == ["file", "folder"]
    assert names(tmp_path / "folder") == ["new"]


def test_a_link_stays_one_and_the_mode_of_a_file_too(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "real").chmod(0o600)
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o600


def test_a_pipe_is_written_into_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard: list[str] = []
    listener = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    listener.start()
    write_whole(pipe, "told")
    listener.join()
    assert heard == ["told"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full to stand for a full disk")
def test_a_device_that_is_full_is_a_sentence() -> None:
    with pytest.raises(DataError, match="/dev/full cannot be written: No space left on device; choose another place"):
        write_whole(Path("/dev/full"), "x" * 100_000)
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


def test_a_folder_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file or directory; choose another place"):
        write_whole(tmp_path / "nowhere" / "file", "x")


def test_a_name_as_long_as_names_can_be(tmp_path: Path) -> None:
    longest = tmp_path / ("ü" * 125 + "a.csv")
    write_whole(longest, "x")
    assert names(tmp_path) == [longest.name]


# ------------------------------------------------------------------------------------------------ folders


def test_a_folder_appears_whole(tmp_path: Path) -> None:
    with folder_whole(tmp_path / "a" / "model") as aside:
        (aside / "one").write_text("1")
        (aside / "deep").mkdir()
        (aside / "deep" / "two").write_text("2")
        assert names(tmp_path / "a") == [".model.writing"]
    assert names(tmp_path / "a") == ["model"]
    assert names(tmp_path / "a" / "model") == ["deep", "one"]


def test_a_folder_that_is_there_keeps_what_has_other_names(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("mine")
    (tmp_path / "config.json").write_text("old")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "old").touch()
    with folder_whole(tmp_path) as aside:
        (aside / "config.json").write_text("new")
        (aside / "deep").mkdir()
        assert (tmp_path / "config.json").read_text() == "old"
    assert names(tmp_path) == ["config.json", "deep", "notes.md"]
    assert (tmp_path / "config.json").read_text() == "new"
    assert names(tmp_path / "deep") == []


def test_no_part_of_the_old_ever_stands_beside_a_part_of_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("config.json", "weights"):
        (tmp_path / name).write_text("old")
    states: list[set[str]] = []
    rename, unlink = Path.rename, Path.unlink

    def seen() -> None:
        states.append({path.read_text() for path in tmp_path.iterdir() if path.is_file()})

    def renamed(self: Path, target: Path) -> Path:
        seen()
        return rename(self, target)

    def unlinked(self: Path, **given: Any) -> None:
        seen()
        unlink(self, **given)

    monkeypatch.setattr(Path, "is_mount", lambda self: True)  # so that it is replaced in place
    with folder_whole(tmp_path) as aside:
        for name in ("config.json", "weights"):
            (aside / name).write_text("new")
        monkeypatch.setattr(Path, "rename", renamed)
        monkeypatch.setattr(Path, "unlink", unlinked)
    assert len(states) == 4
    assert {"old", "new"} not in states


def test_a_folder_in_the_place_of_another_never_leaves_both(tmp_path: Path) -> None:
    final = tmp_path / "step"
    final.mkdir()
    (final / "old").touch()
    with emptied(aside_of(final)) as aside:
        (aside / "new").touch()
        appear(aside, final)
    assert names(tmp_path) == ["step"]
    assert names(final) == ["new"]


KILLED = """
# Replace a folder in a process that dies before its n-th call to the system, for n = 1, 2, … until it lives.
import json, os, shutil, signal, sys
from pathlib import Path
from seqwright import whole_file
from seqwright.whole_file import folder_whole, restored
if sys.argv[1] == "renames":
    whole_file.exchange = lambda one, other: False

def replace(home):
    with folder_whole(home / "model", lambda name: name == "gone") as aside:
        (aside / "config").write_text("new")
        (aside / "weights").write_text("new")

def kill_at(number):
    calls = 0
    def hear(frame, event, arg):
        nonlocal calls
        if event == "c_call" and getattr(arg.__self__, "__name__", "") == "posix":
            calls += 1
            if calls == number:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.setprofile(hear)

def state(folder):
    files = {path.name: path.read_text() for path in folder.iterdir()} if folder.is_dir() else {}
    return " ".join(f"{name}={text}" for name, text in sorted(files.items()))

found, number = [], 0
while True:
    number += 1
    home = Path(sys.argv[2]) / str(number)
    (home / "model").mkdir(parents=True)
    for name in ("config", "weights", "gone"):
        (home / "model" / name).write_text("old")
    (home / "model" / "notes").write_text("mine")
    child = os.fork()
    if not child:
        kill_at(number)
        replace(home)
        sys.setprofile(None)
        os._exit(0)
    died = os.waitpid(child, 0)[1] != 0
    stood = state(home / "model")
    seen = state(restored(home / "model"))
    replace(home)
    found.append([died, stood, seen, state(home / "model"), sorted(path.name for path in home.iterdir())])
    if not died:
        break
print(json.dumps(found))
"""
OLD, NEW = "config=old gone=old notes=mine weights=old", "config=new notes=mine weights=new"


@pytest.mark.parametrize("way", ["exchange", "renames"])
def test_a_folder_that_is_replaced_stands_whole_whenever_the_process_is_killed(way: str, tmp_path: Path) -> None:
    words = [sys.executable, "-c", KILLED, way, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    *killed, last = json.loads(done.stdout)
    assert last[:2] == [False, NEW]
    assert len(killed) > 30
    assert all(died for died, *_ in killed)
    stood = [state for _, state, *_ in killed]
    assert {OLD, NEW} <= {*stood} <= ({OLD, NEW} if way == "exchange" else {OLD, NEW, ""})
    assert {state for _, _, state, *_ in killed} == {OLD, NEW}  # the next command finds one of them
    assert {(state, *left) for *_, state, left in killed} == {(NEW, "model")}


def test_two_folders_change_places_or_nothing_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    assert exchange(tmp_path / "one", tmp_path / "other")
    assert (names(tmp_path / "one"), names(tmp_path / "other")) == (["other"], ["one"])
    with pytest.raises(FileNotFoundError):
        exchange(tmp_path / "one", tmp_path / "nowhere")
    for number in (errno.EINVAL, errno.ENOSYS):
        monkeypatch.setattr("ctypes.CDLL", lambda *_, **__: SimpleNamespace(renameat2=lambda *_: -1))
        monkeypatch.setattr("ctypes.get_errno", lambda number=number: number)
        assert not exchange(tmp_path / "one", tmp_path / "other")


def test_the_folder_that_one_is_in_stays_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell would be left in a folder that is gone."""
    (tmp_path / "model" / "deep").mkdir(parents=True)
    before = (tmp_path / "model").stat().st_ino
    for here in ("model/deep", "model", "."):
        monkeypatch.chdir(tmp_path / here)
        with folder_whole(tmp_path / "model") as aside:
            (aside / "new").write_text(here)
        assert (tmp_path / "model" / "new").read_text() == here
        assert ((tmp_path / "model").stat().st_ino == before) == (here != ".")
    assert names(tmp_path / "model") == ["deep", "new"]


def test_what_stays_is_linked_or_copied_with_its_links_and_the_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "model"
    (model / ".git").mkdir(parents=True)
    (model / ".git" / "head").write_text("main")
    (model / "link").symlink_to("nowhere")
    model.chmod(0o750)
    for linked in (True, False):
        of_head = (model / ".git" / "head").stat().st_ino
        with folder_whole(model) as aside:
            (aside / "config").write_text("new")
        assert ((model / ".git" / "head").stat().st_ino == of_head) == linked
        assert (model / ".git" / "head").read_text() == "main"
        assert (model / "link").readlink() == Path("nowhere")
        assert stat.S_IMODE(model.stat().st_mode) == 0o750

        def no_links(*_: object, **__: object) -> None:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))

        monkeypatch.setattr(os, "link", no_links)


def test_the_files_of_a_folder_are_synced_once_before_it_appears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    with folder_whole(tmp_path / "model") as aside:
        write_whole(aside / "config.json", "{}")
        assert synced == []
        of_file, of_folder = (aside / "config.json").stat().st_ino, aside.stat().st_ino
    assert synced == [of_file, of_folder, tmp_path.stat().st_ino]
    write_whole(tmp_path / "model" / "config.json", "{}")
    assert len(synced) == 5


def test_a_folder_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="No space left on device"), folder_whole(tmp_path / "model") as aside:
        (aside / "one").write_text("1")
    assert names(tmp_path) == []


# ------------------------------------------------------------------------------------------------ two at once

WRITER = """
import sys
from pathlib import Path
from seqwright.whole_file import written_whole
with written_whole(Path(sys.argv[1])) as file:
    file.write("other\\n" * 1000)
"""


def test_of_two_processes_one_waits_for_the_other(tmp_path: Path) -> None:
    path = tmp_path / "file"
    words = [sys.executable, "-c", WRITER, str(path)]
    with bytes_whole(path) as file:
        file.write(b"half ")
        other = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        assert other.stderr is not None
        assert other.stderr.readline() == f"waiting for another process that writes {aside_of(path)}\n"
        file.write(b"whole")
        file.flush()
        assert aside_of(path).read_text() == "half whole"
    assert other.wait() == 0
    other.stderr.close()
    assert path.read_text() == "other\n" * 1000
    assert names(tmp_path) == ["file"]


def test_without_locks_each_process_has_a_name_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with replacing(tmp_path / "file") as file:
        file.write(b"whole")
        assert f".{os.getpid()}.file.writing" in names(tmp_path)
    assert (tmp_path / "file").read_text() == "whole"
    with folder_whole(tmp_path / "folder") as aside:
        assert str(os.getpid()) in aside.name
    assert (tmp_path / "folder").is_dir()
