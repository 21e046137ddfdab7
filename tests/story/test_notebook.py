"""The notebook of the documentation runs from top to bottom, and its stored outputs are of the kinds it gives."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "notebooks" / "first-steps.ipynb"
SOURCE = Path(__file__).resolve().parents[2] / "src"
SHORTER = {'"steps": 800': '"steps": 3', "steps = 200": "steps = 3", "steps=60": "steps=3", "10_000": "200"}


def kinds(cell: Any) -> set[str]:
    """What a cell shows: `image/png`, `text/html`, `stream`, …"""
    return {kind for output in cell.outputs for kind in output.get("data", {output.output_type: ""})}


@pytest.fixture
def stored() -> Any:
    return nbformat.read(NOTEBOOK, as_version=4)


def test_every_cell_runs_and_shows_what_is_stored(stored: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short trainings stand for those of the notebook; everything else is as it is written."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    before = [kinds(cell) for cell in stored.cells if cell.cell_type == "code"]
    for cell in stored.cells:
        for long, short in SHORTER.items():
            cell.source = cell.source.replace(long, short)
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(stored, timeout=280, kernel_name="python3", resources=where).execute()
    assert [kinds(cell) for cell in stored.cells if cell.cell_type == "code"] == before
    assert {"image/png", "text/html", "stream"} <= set().union(*before)


def test_what_is_stored_is_small_and_says_nothing_of_a_machine(stored: Any) -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert len(text) < 1_000_000
    assert re.findall(r"/(?:home|root|tmp|work|Users)/", text) == []
    assert [cell.execution_count for cell in stored.cells if cell.cell_type == "code"] == list(
        range(1, 1 + sum(cell.cell_type == "code" for cell in stored.cells))
    )
    assert not any(output.output_type == "error" for cell in stored.cells for output in cell.get("outputs", ()))


def test_the_first_prediction_that_a_reader_sees_is_right(stored: Any) -> None:
    (asked,) = [cell for cell in stored.cells if cell.source.startswith('run(["Saturday, May 5, 1951"')]
    assert "'Samstag, 5. Mai 1951'), WrittenText('in 572 Minuten')" in asked.outputs[0].data["text/plain"]


def test_every_short_training_is_one_of_the_notebook(stored: Any) -> None:
    code = "".join(cell.source for cell in stored.cells)
    assert [long for long in SHORTER if long not in code] == []
