"""A folder as `transformers` writes it, damaged or made to do harm: one sentence, soon, and nothing outside is read."""

import json
import re
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from seqwright.inputs.tokenizers import Tokenizer
from tests.story.test_interchange import changed, here, home, made, main, refused

__all__ = ["here", "home"]  # fixtures
HUGE = 10**12
DEEP = "[" * 100_000 + "]" * 100_000


def nested(folder: Path) -> None:
    (folder / "config.json").write_text(f'{{"a": {DEEP}}}')


def outside(folder: Path) -> None:
    """An index that names a file beside the folder, which is there."""
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").rename(folder.parent / "outside.safetensors")
    index = {"weight_map": dict.fromkeys(tensors, "../outside.safetensors")}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def wide(folder: Path) -> None:
    """As many layers and as wide as one long tensor of zeros would allow: a petabyte."""
    tensors = load_file(folder / "model.safetensors")
    save_file({**tensors, "long": torch.zeros(10**7, dtype=torch.uint8)}, folder / "model.safetensors")
    changed("config.json", n_embd=3 * 10**6, n_inner=10**7)(folder)


HARM: list[tuple[str, Callable[[Path], object], str]] = [
    *(
        (
            "gpt",
            changed("config.json", **{key: HUGE}),
            f"{key} = 1,000,000,000,000, which is beyond what its 28 tensors",
        )
        for key in ("n_layer", "n_embd", "n_inner", "n_positions", "n_head")
    ),
    ("bert", changed("config.json", max_position_embeddings=HUGE), "which is beyond what its"),
    ("bert", changed("config.json", type_vocab_size=HUGE), "which is beyond what its"),
    ("gpt", wide, "has the unknown long"),
    ("gpt", changed("config.json", n_positions="x"), "n_positions = 'x', expected a whole number"),
    ("gpt", changed("config.json", n_head=[3]), r"n_head = \[3\], expected a whole number"),
    ("gpt", changed("config.json", n_head=True), "n_head = True, expected a whole number"),
    ("gpt", changed("config.json", n_embd=12.5), r"n_embd = 12\.5, expected a whole number"),
    ("bert", changed("config.json", layer_norm_eps="small"), "layer_norm_eps = 'small', expected a number from 0 to 1"),
    ("bert", changed("config.json", hidden_dropout_prob=float("nan")), "hidden_dropout_prob = nan, expected a number"),
    ("gpt", changed("config.json", architectures=5), "architectures = 5, expected a list of names"),
    ("gpt", changed("config.json", architectures=[5]), r"architectures = \[5\], expected a list of names"),
    ("gpt", changed("config.json", architectures=[["a"]]), "architectures = .*, expected a list of names"),
    ("gpt", nested, "is nested too deeply to be the file of a model"),
    ("gpt", outside, "names '../outside.safetensors', which is not a file of that folder, so it is not read"),
]


@pytest.mark.parametrize(("kind", "harm", "sentence"), HARM)
def test_a_harmful_folder_is_refused_in_a_sentence(
    kind: str, harm: Callable[[Path], object], sentence: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    harm(here / kind)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = refused(capsys, "import", kind)
    assert pytest.approx(before, abs=500_000) == resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # kilobytes
    assert re.search(sentence, said), said
    assert not (here / "runs" / kind).exists()


def test_a_roberta_without_padding_is_refused_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    made("roberta", tmp_path / "run", width=12, heads=3, layers=2, context=17, feed_forward=19)
    assert main(["export", "run", "roberta", "--to", "hf"]) == 0
    changed("config.json", pad_token_id=None)(tmp_path / "roberta")
    assert "pad_token_id = None, expected the number of a token" in refused(capsys, "import", "roberta")


class PanicException(BaseException):  # as the library calls it
    """What Rust raises where it gives up."""


@pytest.mark.parametrize("kind", [PanicException, Exception])
def test_a_tokenizer_that_makes_rust_panic_is_refused_in_a_sentence(
    kind: type[BaseException], here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def panic(*_: Any) -> None:
        raise kind("called `Result::unwrap()` on an `Err` value")

    monkeypatch.setattr(Tokenizer, "encode", panic)
    assert "the tokenizer of gpt cannot be used (called `Result::unwrap()`" in refused(capsys, "import", "gpt")
