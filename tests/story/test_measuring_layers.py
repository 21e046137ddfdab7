"""Somebody measures what layers cost, and mistypes what is to be measured."""

import json
from pathlib import Path

import pytest

from tests.story.command import typed


def test_the_table_the_numbers_and_the_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert typed("complexity", "--sizes", "16,4,8", "--widths", "4", "--seconds", "0.0001", "-o", "here") == 0
    said = capsys.readouterr()
    for name in ("self-attention", "self-attention, weights kept", "LSTM", "RNN", "convolution"):
        assert name in said.out
    assert "k · n · d²" in said.out
    assert "there was time for" in said.err
    report = json.loads((tmp_path / "here" / "complexity.json").read_text())
    assert {(point["length"], point["width"]) for point in report["points"]} == {(4, 4), (8, 4), (16, 4)}
    exact = {each["kind"]: each["memory_measured"] for each in report["exponents"]}
    assert exact["self-attention"] == pytest.approx(1.0, abs=1e-3)
    assert exact["self-attention, weights kept"] > 1.2
    assert (tmp_path / "here" / "complexity.png").stat().st_size > 1000
    assert "<svg" in (tmp_path / "here" / "complexity.svg").read_text()


def test_the_numbers_as_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert typed("complexity", "--sizes", "4", "--widths", "4,8", "--seconds", "0.1", "--backward", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["work"] == "forward and backward"
    assert report == json.loads((tmp_path / "complexity" / "complexity.json").read_text())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--sizes", "64,x"], "--sizes is '64,x'; expected whole numbers above 0"),
        (["--widths", "0,8"], "--widths is '0,8'; expected whole numbers above 0"),
        (["--sizes", "64,64", "--widths", "8"], "have one value each"),
        (["--kernel", "1"], "--kernel is 1"),
        (["--seconds", "0"], "--seconds is 0"),
        (["--sizes", "64,100000000"], "leave out the greatest"),
        (["--output", "file"], "is a file; --output names a folder"),
    ],
)
def test_what_cannot_be_measured_is_told_at_once(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    assert typed("complexity", *words) == 2
    complaint = capsys.readouterr().err
    assert said in complaint
    assert len(complaint.strip().splitlines()) == 1
