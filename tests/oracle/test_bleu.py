"""Our BLEU and chrF against sacreBLEU's own command line, number and signature."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from seqwright.metrics import bleu, chrf

REFERENCES = [
    "Am Dienstag, dem 3. Mai, kostete es 1.234,50 €.",
    "Ein Mann mit Hut fährt Fahrrad.",
    "Zwei Hunde spielen im Schnee, einer bellt laut.",
    "Das Mädchen liest ein dickes Buch über Äpfel und Birnen.",
    "Niemand weiß, wie spät es ist.",
]
HYPOTHESES = [
    "am Dienstag, den 3. Mai, kostete es 1.234,50 €.",
    "Ein Mann mit einem Hut fährt Rad.",
    "Zwei hunde spielen im Schnee, und einer bellt.",
    "Ein Mädchen liest ein dickes Buch über äpfel.",
    "Keiner weiß, wie spät es ist.",
]


@pytest.mark.parametrize("lowercase", [False, True])
def test_scores_and_signatures_are_those_of_the_command_line(lowercase: bool, tmp_path: Path) -> None:
    reference, hypothesis = tmp_path / "reference.txt", tmp_path / "hypothesis.txt"
    reference.write_text("\n".join(REFERENCES) + "\n", encoding="utf-8")
    hypothesis.write_text("\n".join(HYPOTHESES) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", str(reference), "-i", str(hypothesis)]
    command += ["-m", "bleu", "chrf", "--width", "9"]
    command += ["--lowercase", "--chrf-lowercase"] if lowercase else []
    printed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    for expected, ours in zip(printed, [bleu, chrf], strict=True):
        score = ours(HYPOTHESES, REFERENCES, lowercase=lowercase)
        assert score.value == pytest.approx(expected["score"], abs=1e-8)
        assert score.signature == expected["signature"]


def test_case_makes_a_difference_here() -> None:
    assert bleu(HYPOTHESES, REFERENCES, lowercase=True).value > bleu(HYPOTHESES, REFERENCES).value + 1
