"""Checkpoints appear whole or not at all; a damaged one is noticed and an older one serves."""

import errno
import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open

from seqwright.errors import RunError
from seqwright.training.checkpoint import (
    Checkpoint,
    newest_whole,
    prune,
    read_checkpoint,
    read_mark,
    step_folder,
    steps_on_disk,
    write_checkpoint,
    write_mark,
)
from seqwright.training.journal import Journal
from seqwright.whole_file import flush

STATE: dict[str, Any] = {"place": (2, 3), "sums": {}, "best": {}, "seconds": 1.5}


def a_checkpoint(number: float = 1.5) -> Checkpoint:
    model = {"weight": torch.full((3, 5), number), "count": torch.tensor([7])}
    return Checkpoint({"model": model, "optimizer": {"step": torch.tensor(number)}}, STATE)


def write(run: Path, *steps: int) -> None:
    for step in steps:
        write_checkpoint(run, step, a_checkpoint(step), {"vocabulary": "11"})


def contents(run: Path) -> dict[str, bytes]:
    return {str(path.relative_to(run)): path.read_bytes() for path in sorted(run.rglob("*")) if path.is_file()}


# ------------------------------------------------------------------------------------------------ writing, reading


def test_what_is_written_is_read(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "run", 12, a_checkpoint(), {"vocabulary": "11"})
    assert folder == tmp_path / "run" / "step-000012"
    files, state = read_checkpoint(tmp_path / "run", 12)
    assert files.keys() == {"model", "optimizer"}
    assert torch.equal(files["model"]["weight"], torch.full((3, 5), 1.5))
    assert files["model"]["count"].dtype is torch.int64
    assert (state["step"], state["place"], state["best"]) == (12, [2, 3], {})


def test_only_the_files_wanted_are_read(tmp_path: Path) -> None:
    write(tmp_path, 1)
    (step_folder(tmp_path, 1) / "optimizer.safetensors").unlink()
    assert read_checkpoint(tmp_path, 1, ("model", "averages")).files.keys() == {"model"}


def test_the_metadata_stands_in_every_file(tmp_path: Path) -> None:
    write(tmp_path, 1)
    for path in step_folder(tmp_path, 1).glob("*.safetensors"):
        with safe_open(path, "pt") as file:
            assert json.loads(file.metadata()["seqwright"]) == {"vocabulary": "11"}


def test_a_view_that_is_not_contiguous_can_be_saved(tmp_path: Path) -> None:
    turned = torch.arange(6.0).view(2, 3).T
    write_checkpoint(tmp_path, 1, Checkpoint({"model": {"turned": turned}}, STATE), {})
    assert torch.equal(read_checkpoint(tmp_path, 1).files["model"]["turned"], turned)


def test_writing_a_step_again_replaces_it(tmp_path: Path) -> None:
    write(tmp_path, 1)
    write_checkpoint(tmp_path, 1, Checkpoint({"model": {"other": torch.zeros(2)}}, STATE), {})
    assert read_checkpoint(tmp_path, 1).files.keys() == {"model"}
    assert {path.name for path in tmp_path.iterdir()} == {"step-000001"}


def test_a_checkpoint_is_flushed_to_the_disk_before_it_appears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file, then the folder, then the rename, then the folder that holds it."""
    events: list[str] = []
    flush, rename = os.fsync, Path.rename

    def noted_flush(descriptor: int) -> None:
        events.append(f"flush {os.path.basename(os.readlink(f'/proc/self/fd/{descriptor}'))}")  # noqa: PTH115, PTH119
        flush(descriptor)

    def noted_rename(self: Path, target: Path) -> Path:
        events.append(f"rename {self.name} {target.name}")
        return rename(self, target)

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("this system does not tell what a descriptor stands for")
    monkeypatch.setattr(os, "fsync", noted_flush)
    monkeypatch.setattr(Path, "rename", noted_rename)
    write(tmp_path, 1)
    assert events == [
        "flush model.safetensors",
        "flush optimizer.safetensors",
        "flush state.json",
        "flush .step-000001.writing",
        "rename .step-000001.writing step-000001",
        f"flush {tmp_path.name}",
    ]


def test_what_a_crash_left_aside_is_no_checkpoint_and_is_written_over(tmp_path: Path) -> None:
    write(tmp_path, 1)
    half = tmp_path / ".step-000002.writing"
    half.mkdir()
    (half / "rest").write_text("half")
    assert steps_on_disk(tmp_path) == [1]
    write(tmp_path, 2)
    assert not (step_folder(tmp_path, 2) / "rest").exists()


def test_steps_are_found_oldest_first_and_nothing_else(tmp_path: Path) -> None:
    assert steps_on_disk(tmp_path / "nowhere") == []
    for name in ("step-000010", "step-000002", "step-1234567", "step-12", "eval", ".step-000003.writing"):
        (tmp_path / name).mkdir()
    assert steps_on_disk(tmp_path) == [2, 10, 1234567]


# ------------------------------------------------------------------------------------------------ a full disk


def full_disk(*_: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class HalfFull:
    """A disk that is full after some calls."""

    def __init__(self, real: Any, calls: int) -> None:
        self.real, self.calls = real, calls

    def __call__(self, *given: Any) -> Any:
        self.calls -= 1
        return full_disk() if self.calls < 0 else self.real(*given)


@pytest.mark.parametrize(
    ("place", "calls"), [("write", 0), ("write", 1), ("write", 2), *(("fsync", calls) for calls in range(5))]
)
def test_a_full_disk_leaves_the_older_checkpoint_untouched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, calls: int
) -> None:
    write(tmp_path, 1)
    write_mark(tmp_path, "last", 1)
    before = contents(tmp_path)
    with monkeypatch.context() as patch:
        if place == "fsync":
            patch.setattr(os, "fsync", HalfFull(os.fsync, calls))
        else:
            full = HalfFull(Path.write_bytes, calls)

            def written(path: Path, data: bytes) -> Any:
                return full(path, data)

            patch.setattr(Path, "write_bytes", written)
        with pytest.raises(RunError) as error:
            write(tmp_path, 2)
    for said in ("step 2", str(tmp_path), "No space left on device", "make room"):
        assert said in str(error.value)
    after = contents(tmp_path)
    assert {name: after[name] for name in before} == before
    assert list(tmp_path.glob(".*")) == []
    found = newest_whole(tmp_path)
    assert found is not None
    # The very last flush comes after the checkpoint has appeared: then it is there, and whole.
    assert (found[0], found[2]) == ((2, []) if place == "fsync" and calls == 4 else (1, []))


def test_a_full_disk_while_a_step_is_replaced_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 1)
    before = contents(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk)
        with pytest.raises(RunError):
            write(tmp_path, 1)
    assert contents(tmp_path) == before


def test_a_full_disk_while_a_mark_is_written_is_an_error_with_a_sentence_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 1, 2)
    write_mark(tmp_path, "last", 1)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk)
        with pytest.raises(RunError, match="No space left on device"):
            write_mark(tmp_path, "last", 2)
    assert read_mark(tmp_path, "last") == 1


# ------------------------------------------------------------------------------------------------ damage


def flip_a_byte(folder: Path) -> None:
    path = folder / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(bytes(data))


def truncate(folder: Path) -> None:
    path = folder / "optimizer.safetensors"
    path.write_bytes(path.read_bytes()[:-4])


def lose_the_state(folder: Path) -> None:
    (folder / "state.json").unlink()


def lose_a_file(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def cut_the_state(folder: Path) -> None:
    path = folder / "state.json"
    path.write_text(path.read_text()[:20])


def empty_the_state(folder: Path) -> None:
    (folder / "state.json").write_text("{}")


def another_kind_of_state(folder: Path) -> None:
    (folder / "state.json").write_text("[]")


def agree_on_rubbish(folder: Path) -> None:
    """A file that is no safetensors, with its right sha256."""
    (folder / "model.safetensors").write_bytes(b"rubbish")
    state = json.loads((folder / "state.json").read_text())
    state["sha256"]["model.safetensors"] = hashlib.sha256(b"rubbish").hexdigest()
    del state["state_sha256"]
    (folder / "state.json").write_text(json.dumps(state))


def not_text(folder: Path) -> None:
    (folder / "state.json").write_bytes(b"\xff\xfe\x00")


DAMAGES = [
    flip_a_byte,
    truncate,
    lose_the_state,
    lose_a_file,
    cut_the_state,
    empty_the_state,
    another_kind_of_state,
    agree_on_rubbish,
    not_text,
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_noticed_and_named(tmp_path: Path, damage: Any) -> None:
    write(tmp_path, 3)
    damage(step_folder(tmp_path, 3))
    with pytest.raises(RunError, match=r"step-000003.* is damaged"):
        read_checkpoint(tmp_path, 3)


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_newest_whole_checkpoint_serves_and_the_damaged_one_is_complained_of(tmp_path: Path, damage: Any) -> None:
    write(tmp_path, 1, 2, 3)
    damage(step_folder(tmp_path, 3))
    found = newest_whole(tmp_path)
    assert found is not None
    step, (files, state), complaints = found
    assert (step, state["step"], float(files["optimizer"]["step"])) == (2, 2, 2.0)
    assert len(complaints) == 1
    assert "step-000003" in complaints[0]


def test_without_a_whole_checkpoint_every_damage_is_told(tmp_path: Path) -> None:
    write(tmp_path, 1, 2)
    flip_a_byte(step_folder(tmp_path, 1))
    lose_the_state(step_folder(tmp_path, 2))
    with pytest.raises(RunError) as error:
        newest_whole(tmp_path)
    for said in ("step-000001", "step-000002", "--fresh"):
        assert said in str(error.value)


def test_a_folder_without_checkpoints_has_no_newest(tmp_path: Path) -> None:
    assert newest_whole(tmp_path) is None


# ------------------------------------------------------------------------------------------------ marks, pruning


def test_a_mark_names_a_step(tmp_path: Path) -> None:
    write(tmp_path, 1, 20)
    write_mark(tmp_path, "best", 20)
    assert (tmp_path / "best").read_text() == "step-000020\n"
    assert read_mark(tmp_path, "best") == 20
    write_mark(tmp_path, "best", 1)
    assert read_mark(tmp_path, "best") == 1


def test_a_mark_that_names_nothing_there_is_none(tmp_path: Path) -> None:
    write(tmp_path, 1)
    assert read_mark(tmp_path, "best") is None
    for rubbish in (b"step-000002\n", b"", b"step-1", b"\xff\xfe"):
        (tmp_path / "best").write_bytes(rubbish)
        assert read_mark(tmp_path, "best") is None


def test_pruning_keeps_the_newest_and_the_spared(tmp_path: Path) -> None:
    write(tmp_path, 1, 2, 3, 4, 5)
    (tmp_path / ".step-000009.writing").mkdir()
    (tmp_path / "eval").mkdir()
    prune(tmp_path, keep=2, spared={1})
    assert {path.name for path in tmp_path.iterdir()} == {"step-000001", "step-000004", "step-000005", "eval"}


def test_pruning_fewer_than_are_kept_removes_nothing(tmp_path: Path) -> None:
    write(tmp_path, 1, 2)
    prune(tmp_path, keep=3, spared=set())
    assert steps_on_disk(tmp_path) == [1, 2]


def test_a_run_can_be_copied_elsewhere(tmp_path: Path) -> None:
    write(tmp_path / "here", 1)
    write_mark(tmp_path / "here", "best", 1)
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    shutil.rmtree(tmp_path / "here")
    assert read_mark(tmp_path / "there", "best") == 1
    assert read_checkpoint(tmp_path / "there", 1).state["step"] == 1
    assert not any(str(tmp_path / "here").encode() in data for data in contents(tmp_path / "there").values())


def test_a_folder_and_a_file_are_flushed_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    (tmp_path / "file").write_text("x")
    flush(tmp_path / "file")
    flush(tmp_path)
    assert synced == [(tmp_path / "file").stat().st_ino, tmp_path.stat().st_ino]


def test_a_line_of_the_journal_is_on_disk_when_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal.jsonl"
    synced: list[str] = []

    def fsync(descriptor: int) -> None:
        assert os.fstat(descriptor).st_ino == path.stat().st_ino
        synced.append(path.read_text())  # what the system has got by then

    monkeypatch.setattr(os, "fsync", fsync)
    Journal(path).write({"step": 1})
    Journal(path).write({"step": 2})
    assert synced == ['{"step": 1}\n', '{"step": 1}\n{"step": 2}\n']


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, None) for name in ("step", "place", "sums", "best", "seconds", "sha256")),
        ("place", [1]),
        ("place", "ab"),
        ("place", [-1, 3]),
        ("best", {"a": 1}),
        ("best", {"score": 1.0, "waited": 0, "step": "x"}),
        ("best", {"score": "x", "waited": 0, "step": 1}),
        ("sums", {"loss.sum": []}),
    ],
)
def test_a_state_that_lacks_something_is_damaged_and_the_checkpoint_before_serves(
    name: str, value: object, tmp_path: Path
) -> None:
    write(tmp_path, 1, 2)
    path = step_folder(tmp_path, 2) / "state.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))
    found = newest_whole(tmp_path)
    assert found is not None
    assert found[0] == 1
    assert found[2] == [f"the checkpoint {step_folder(tmp_path, 2)} is damaged: state.json lacks {name}"]


@pytest.mark.parametrize(("name", "value"), [("place", [3, 3]), ("seconds", 2.5), ("sums", {"loss.sum": 1.0})])
def test_a_state_that_is_not_as_it_was_written_is_damaged(name: str, value: object, tmp_path: Path) -> None:
    write(tmp_path, 1, 2)
    path = step_folder(tmp_path, 2) / "state.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))
    found = newest_whole(tmp_path)
    assert found is not None
    assert found[0] == 1
    assert found[2] == [f"the checkpoint {path.parent} is damaged: state.json is not as it was written"]


def test_a_state_of_the_version_before_has_no_sum_of_itself_and_serves(tmp_path: Path) -> None:
    write(tmp_path, 1)
    path = step_folder(tmp_path, 1) / "state.json"
    state = json.loads(path.read_text())
    del state["state_sha256"]
    path.write_text(json.dumps(state))
    assert read_checkpoint(tmp_path, 1).state["place"] == [2, 3]


def test_a_checkpoint_without_a_model_is_damaged(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, 1, Checkpoint({"optimizer": {"step": torch.zeros(1)}}, STATE), {})
    with pytest.raises(RunError, match=r"state\.json lacks the sha256 of model\.safetensors"):
        read_checkpoint(tmp_path, 1)


@pytest.mark.parametrize("text", ["7", "[1]", '{"event": "train"}', '{"step": "x"}', "[" * 100_000, "1" * 5000])
def test_a_line_of_the_journal_that_is_none_ends_it(text: str, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.write({"step": 1})
    with journal.path.open("a") as file:
        file.write(f'{text}\n{{"step": 3}}\n')
    assert journal.lines() == [{"step": 1}]
    journal.cut_back(5)
    assert journal.path.read_text() == '{"step": 1}\n'
