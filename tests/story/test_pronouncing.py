"""Somebody teaches a model to pronounce the words of their own dictionary, and compares the words by its vectors."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.story.command import typed

SOUNDS = {"a": "AH", "b": "B", "k": "K", "o": "OW", "t": "T"}
RECIPE = """\
task = "grapheme-to-phoneme"
input = { tokenizer = "characters", shared = false, lowercase = true }
output = { tokenizer = "whitespace" }
data = { train = "mine.dict", valid = "10%" }
model = { kind = "seq2seq", cell = "gru", width = 32, dropout = 0.0 }
training = { steps = 150, tokens = 512, schedule = "constant", rate = 0.01, warmup = 5, metric = "word_error_rate", \
validate_every = 75, threads = 1 }
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a dictionary, its recipe, and what was learnt from it."""
    folder = tmp_path_factory.mktemp("home")
    words = [first + second + third for first in "bkt" for second in "ao" for third in "abkot"]
    words += [word + end for word in words for end in ("", "a", "o")]
    lines = [f"{word.upper()}  {' '.join(SOUNDS[letter] for letter in word)}" for word in dict.fromkeys(words)]
    (folder / "mine.dict").write_text("\n".join([*lines, "BAA(1)  B AA"]) + "\n", encoding="utf-8")
    (folder / "other.dict").write_text("KAT  T AH K\nKAT(1)  K AH T\nBOO  T T T T\n", encoding="utf-8")
    (folder / "mine.toml").write_text(RECIPE, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("SEQWRIGHT_CACHE", str(folder / "cache"))
        assert typed("train", "mine.toml") == 0
    return folder


@pytest.fixture(autouse=True)
def _there(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    monkeypatch.setenv("SEQWRIGHT_CACHE", str(home / "cache"))


def test_words_are_pronounced_as_they_are_typed(capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("pronounce", "runs/mine", "KAT", "bot") == 0
    assert capsys.readouterr().out.splitlines() == ["k ah t", "b ow t"]


def test_validation_and_evaluation_count_wrong_words(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = [json.loads(line) for line in (home / "runs/mine/journal.jsonl").read_text().splitlines()]
    found = [line for line in journal if line["event"] == "valid"]
    assert {"word_error_rate", "phoneme_error_rate"} <= found[-1].keys()
    assert "bleu" not in found[-1]
    best = int((home / "runs/mine/best").read_text().strip().removeprefix("step-"))
    lowest = min(line["word_error_rate"] for line in found)
    assert next(line["word_error_rate"] for line in found if line["step"] == best) == lowest
    # K AH T is one of the two ways of KAT; BOO is not said with four T.
    assert typed("eval", "runs/mine", "--data", "other.dict", "--json") == 0
    assert json.loads(capsys.readouterr().out)["word_error_rate"] == 50.0


def test_what_moves_each_sound_is_drawn_though_there_is_no_attention(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed("look", "runs/mine", "kat") == 0
    said = capsys.readouterr().out
    assert "gradients to the source" in said
    assert "diagonality" in said
    assert (home / "runs/mine/pictures/kat/gradients-to-the-source.png").stat().st_size > 1000
    assert typed("look", "runs/mine", "kat", "--with", "runs/mine") == 0
    assert capsys.readouterr().out.count("runs/mine (gradients to the source: it has no attention)") == 2
    assert typed("look", "runs/mine", "kat", "--with", "runs/mine", "--json") == 0
    one, other = map(json.loads, capsys.readouterr().out.splitlines())
    assert one == other
    assert 0 < one["entropy"] < 2


def test_the_thought_vectors_of_words(home: Path) -> None:
    assert typed("embed", "runs/mine", "KAT", "kat", "BOO", "--output", "vectors.npy") == 0
    vectors = np.load(home / "vectors.npy")
    assert vectors.shape == (3, 32)
    np.testing.assert_allclose(vectors[0], vectors[1], rtol=1e-5)
    assert np.abs(vectors[0] - vectors[2]).max() > 0.1


def test_a_pooling_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("embed", "runs/mine", "KAT", "--pooling", "last") == 2
    assert "--pooling is 'last'; choose mean, first or thought" in capsys.readouterr().err
