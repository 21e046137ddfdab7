"""ARPA files against KenLM, which reads ours, and against arithmetic by hand on a file of another form."""

import gzip
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from seqwright.batches.text import texts
from seqwright.errors import DataError, SettingError
from seqwright.interchange.arpa import read_arpa, write_arpa
from seqwright.models.ngram import Ngram, NgramSettings

V = 17
WORDS = ["der", "die", "das", "▁x", "é", "猫", "#", "\u00a0", "\u2028", "=", "\\", "0", "-1"]
PIECES = ["<pad>", "<unk>", "<s>", "</s>", *WORDS]

BY_HAND = """a comment that programs put before

\\data\\
ngram 1=5
ngram  2=4
ngram 3=2

\\1-grams:
-99\t<s>\t-0.3
-0.7\t</s>
-0.6\tthe\t-0.2
-0.5 cat -0.1
-1.5\t<unk>\t-0.9

\\2-grams:
-0.4\t<s> the\t-0.05
-0.25\tthe cat\t0
-0.3\tcat </s>
-0.8\tthe the

\\3-grams:
-0.1\t<s> the cat
-0.2\tthe the cat

\\end\\
"""


def rows_of(seed: int, rows: int) -> list[NDArray[np.int64]]:
    draw = np.random.default_rng(seed)
    return [4 + np.minimum(draw.zipf(1.4, draw.integers(0, 13)) - 1, V - 5) for _ in range(rows)]


def counted(settings: NgramSettings, seed: int = 1) -> Ngram:
    model = Ngram(settings, vocabulary=V)
    model.observe(texts(rows_of(seed, 97), begin=2, end=3))
    model.conclude()
    return model


def in_tens(model: Ngram, row: NDArray[np.int64]) -> list[float]:
    """The logarithms to base 10 of a sentence's tokens and its end."""
    found: list[float] = (model.log_probability(texts([row], begin=2, end=3))[0][0] / math.log(10)).tolist()
    return found


@pytest.mark.parametrize(
    "settings",
    [
        NgramSettings(order=2, smoothing="kneser-ney"),
        NgramSettings(order=3, smoothing="stupid-backoff"),
        NgramSettings(order=5),
        NgramSettings(order=6, prune=(0, 0, 1)),
    ],
    ids=lambda settings: f"{settings.order}-{settings.smoothing}",
)
def test_kenlm_gives_every_sentence_the_same_probability(settings: NgramSettings, tmp_path: Path) -> None:
    kenlm = pytest.importorskip("kenlm", reason="KenLM's Python module is not installed (pip install ufal.kenlm)")
    model = counted(settings)
    write_arpa(model, tmp_path / "ours.arpa", PIECES)
    theirs = kenlm.Model(str(tmp_path / "ours.arpa"))
    assert theirs.order == settings.order
    assert "\n0\t<s>\t" in (tmp_path / "ours.arpa").read_text(encoding="utf-8")  # as lmplz writes it: given for nothing
    unknown = [np.array([4, 1, 5, 5]), np.array([1])]
    for row in [*rows_of(1, 31), *rows_of(2, 31), *unknown]:
        found = in_tens(model, row)
        sentence = " ".join("another" if token == 1 else PIECES[token] for token in row)
        assert [score for score, _, _ in theirs.full_scores(sentence)] == pytest.approx(found, abs=1e-5)
        assert theirs.score(sentence) == pytest.approx(sum(found), abs=1e-4)


@pytest.mark.parametrize("name", ["model.arpa", "model.arpa.gz"])
@pytest.mark.parametrize("order", [1, 4])
def test_what_is_written_is_read_again_to_nine_digits(order: int, name: str, tmp_path: Path) -> None:
    model = counted(NgramSettings(order=order))
    write_arpa(model, tmp_path / name, PIECES)
    assert ((tmp_path / name).read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")
    again, left_out = read_arpa(tmp_path / name, PIECES)
    assert left_out == 0
    torch.testing.assert_close(again.base_V, model.base_V, rtol=1e-8, atol=0)
    for n in range(2, order + 1):
        assert torch.equal(again.table(n).key_G, model.table(n).key_G)
        torch.testing.assert_close(again.table(n).logp_G, model.table(n).logp_G, rtol=1e-8, atol=0)
        torch.testing.assert_close(again.table(n).weight_C, model.table(n).weight_C, rtol=1e-8, atol=0)


def test_a_file_of_another_program_is_read(tmp_path: Path) -> None:
    """Weights may be missing, spaces may stand for tabs, and `<s>` may have the probability 0."""
    (tmp_path / "their.arpa").write_text(BY_HAND, encoding="utf-8")
    pieces = ["<pad>", "<unk>", "<s>", "</s>", "dog", "cat", "the"]
    model, left_out = read_arpa(tmp_path / "their.arpa", pieces)
    assert left_out == 0
    the, cat, dog = 6, 5, 4
    assert in_tens(model, np.array([the, cat])) == pytest.approx([-0.4, -0.1, -0.3], abs=1e-6)
    # the | <s> the: its weight, then the bigram;  </s> | the the: no such bigram, so the weights of the contexts.
    assert in_tens(model, np.array([the, the, cat])) == pytest.approx([-0.4, -0.05 - 0.8, -0.2, -0.3], abs=1e-6)
    assert in_tens(model, np.array([the, the]))[-1] == pytest.approx(-0.2 - 0.7, abs=1e-6)
    # A piece that the file does not have is <unk> to it, as an outcome and as a context.
    assert in_tens(model, np.array([dog])) == pytest.approx([-0.3 - 1.5, -0.9 - 0.7], abs=1e-6)
    never = model.base_V[[0, 2]]
    assert never.tolist() == [-math.inf, -math.inf]


def test_words_that_are_no_pieces_are_left_out_and_counted(tmp_path: Path) -> None:
    (tmp_path / "their.arpa").write_text(BY_HAND, encoding="utf-8")
    model, left_out = read_arpa(tmp_path / "their.arpa", ["<pad>", "<unk>", "<s>", "</s>", "the"])
    assert left_out == 1 + 2 + 2
    assert [storage.ngrams for storage in model.storage()] == [3, 2, 0]
    assert in_tens(model, np.array([4]))[0] == pytest.approx(-0.4, abs=1e-6)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("\\data\\", "data", "no line '\\data\\'"),
        ("ngram 3=2", "ngram 4=2", ":6 has 'ngram 4=2', expected 'ngram 3=NUMBER'"),
        ("ngram 1=5", "ngram 1=7", ":14 has '', expected a 1-gram"),
        ("ngram 1=5", "ngram 1=4", ":13 has '-1.5\t<unk>\t-0.9', expected '\\2-grams:'"),
        ("-0.1\t<s> the cat\n-0.2\tthe the cat\n\n\\end\\\n", "-0.1\t<s> the cat\n", "ends after 1 of 2 3-grams"),
        ("-0.4\t<s> the\t", "-0.4\t<s> the the the\t", ":16 has '-0.4\t<s> the the the\t-0.05', expected a 2-gram"),
        ("-0.4\t<s> the", "zero\t<s> the", "line 16 on: a 2-gram has numbers"),
        *(
            (
                "-0.4\t<s> the",
                f"{wrong}\t<s> the",
                f":16 has '{wrong}\t<s> the\t-0.05', expected a logarithm of a probability, at most 0",
            )
            for wrong in ("nan", "inf", "1.5", "1e999")
        ),
        ("<s> the\t-0.05", "<s> the\tnan", ":16 has '-0.4\t<s> the\tnan', expected a logarithm of a probability"),
        ("<s> the\t-0.05", "<s> the\tinf", "and a finite weight after them"),
        ("ngram 3=2", f"ngram 3={'9' * 5000}", "expected 'ngram 3=NUMBER'"),
        (
            "ngram 3=2",
            "".join(f"ngram {n}=2\n" for n in range(3, 8)).strip(),
            "has n-grams of 7 orders; there are models of order 1 to 6",
        ),
        (BY_HAND, "\\data\\\n\n\\end\\\n", "has n-grams of 0 orders"),
        ("-0.8\tthe the", "-0.8\tcat the", "3-grams whose first 2 words are not among its 2-grams"),
        ("-0.2\tthe the cat", "-0.2\t<s> the cat", "has a 3-gram twice"),
    ],
)
def test_a_damaged_file_is_refused_with_its_place(old: str, new: str, said: str, tmp_path: Path) -> None:
    assert old in BY_HAND
    (tmp_path / "their.arpa").write_text(BY_HAND.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DataError) as raised:
        read_arpa(tmp_path / "their.arpa", ["<pad>", "<unk>", "<s>", "</s>", "cat", "the"])
    assert said in str(raised.value)
    assert "their.arpa" in str(raised.value)


def test_a_file_that_is_missing_or_cut_off_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_arpa(tmp_path / "no.arpa", PIECES)
    (tmp_path / "cut.arpa.gz").write_bytes(gzip.compress(BY_HAND.encode())[:50])
    with pytest.raises(DataError, match="cannot be read"):
        read_arpa(tmp_path / "cut.arpa.gz", PIECES)


@pytest.mark.parametrize("smoothing", ["maximum-likelihood", "add-k"])
def test_what_does_not_back_off_has_no_such_file(smoothing: str, tmp_path: Path) -> None:
    model = counted(NgramSettings.model_validate({"order": 2, "smoothing": smoothing}))
    with pytest.raises(SettingError, match=f"{smoothing} does not"):
        write_arpa(model, tmp_path / "none.arpa", PIECES)
    assert not (tmp_path / "none.arpa").exists()


@pytest.mark.parametrize(
    ("token", "piece", "said"),
    [
        (7, "two words", "'two words'"),
        (7, "", "''"),
        (7, "der", "two tokens are both 'der'"),
        (2, "[BOS]", "must be '<s>', not '\\[BOS\\]'"),
    ],
)
def test_pieces_that_are_no_words_are_refused(token: int, piece: str, said: str, tmp_path: Path) -> None:
    pieces = [piece if number == token else other for number, other in enumerate(PIECES)]
    with pytest.raises(DataError, match=said):
        write_arpa(counted(NgramSettings(order=2)), tmp_path / "none.arpa", pieces)
