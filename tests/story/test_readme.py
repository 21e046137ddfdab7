"""What the README shows is what happens."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

REPOSITORY = Path(__file__).resolve().parents[2]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


def fenced(text: str, language: str = "") -> list[str]:
    """The code blocks of a Markdown text in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("page", "statement", "answer"),
    [
        ("README.md", "", "eins drei"),
        pytest.param("docs/python.md", "sw.fit(", "['2 1 3', '0 9 4 4 7']", marks=pytest.mark.long),
    ],
)
def test_the_python_example_prints_what_it_says(
    page: str, statement: str, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.manual_seed(3)
    blocks = fenced((REPOSITORY / page).read_text(encoding="utf-8"), "python")
    code = next(block for block in blocks if statement in block)
    exec(compile(code, page, "exec"), {})
    assert capsys.readouterr().out.strip() == answer


def test_the_misspelt_setting_gets_the_answer_shown() -> None:
    (shown,) = [block for block in fenced(README) if "training.stpes" in block]
    command, answer = shown.strip().split("\n")
    words = command.removeprefix("$ seqwright ").split()
    said = subprocess.run([sys.executable, "-m", "seqwright", *words], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr.strip()) == (2, answer)


def test_every_verb_shown_exists() -> None:
    verbs = set(re.findall(r"(?:^|^\$ |`)seqwright ([a-z]+)", README, flags=re.MULTILINE))
    assert {"train", "look", "data"} <= verbs
    said = subprocess.run([sys.executable, "-m", "seqwright", "--help"], capture_output=True, text=True, check=True)
    assert verbs <= set(re.findall(r"[a-z]+", said.stdout))


def test_every_link_leads_somewhere() -> None:
    for name in ("README.md", "CONTRIBUTING.md", "results/README.md"):  # Sphinx looks after docs/
        page = REPOSITORY / name
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)|src=\"([^\"]+)\"", text):
            link = target[0] or target[1]
            if not link.startswith("http"):
                assert (page.parent / link).exists(), f"{name} links to {link}"


@pytest.mark.parametrize("page", ["README.md", "results/README.md"])
def test_the_cells_of_tables_are_short(page: str) -> None:
    rows = [row for row in (REPOSITORY / page).read_text(encoding="utf-8").splitlines() if row.startswith("|")]
    assert max(len(cell.strip()) for row in rows for cell in row.split("|")) <= 200


def test_the_readme_fits_on_a_few_screens() -> None:
    assert len(README.splitlines()) <= 170
