"""Writing on and scoring with a model whose context is short."""

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as hypothesis
from hypothesis import strategies as st
from torch import nn

from seqwright.batches.windows import reading_windows
from seqwright.decoding.searching import run_search
from seqwright.decoding.settings import DecodingSettings
from seqwright.decoding.stopping import before_stop
from seqwright.errors import DataError
from seqwright.inputs.running_text import RunningTextInput
from seqwright.models.gpt import GPT, GPTSettings
from seqwright.models.language_model import LanguageModel
from seqwright.outputs.continuations import room_after
from seqwright.outputs.next_token import NextTokenOutput, Surprise
from seqwright.outputs.text_search import Search, TextCandidate
from seqwright.tasks.wired import Wires
from tests.wires import running_wires

CONTEXT = 17
OPENINGS = ["the cat", "", "a dog sat on", "mat"]


class Writer(NamedTuple):
    model: Any
    wires: Wires
    settings: DecodingSettings = DecodingSettings()

    def __call__(self, openings: list[str], first: int = 0) -> list[tuple[TextCandidate, ...]]:
        search = Search(self.settings, first=first)
        return [found.candidates for found in self.wires.predict(self.model, openings, search, method="write")]

    def surprises(self, texts: list[str]) -> list[Surprise]:
        found: list[Surprise] = self.wires.predict(self.model, texts, method="surprises")
        return found

    def told(self, opening: str) -> tuple[list[str], TextCandidate]:
        pieces: list[str] = []
        return pieces, run_search(self.wires.stream(self.model, opening, self.settings), pieces.append)


def writer_with(**settings: Any) -> Writer:
    texts = ["the cat sat on a mat. the dog sat. "]
    wires = running_wires(texts, CONTEXT, rows="documents", longest=CONTEXT - 1)
    torch.manual_seed(7)
    sizes = {"width": 16, "heads": 2, "layers": 2, "context": CONTEXT}
    model = LanguageModel(GPT(GPTSettings.model_validate({**sizes, "dropout": 0.0}), **wires.sizes()))
    with torch.no_grad():  # surer than a model is at the beginning, so that texts differ
        model.body.tokens.weight.mul_(20)
        model.body.positions.weight.mul_(80)
    return Writer(model, wires, DecodingSettings(**settings))


@pytest.mark.parametrize("settings", [{}, {"temperature": 1.0, "n_best": 2, "seed": 3}, {"beam": 3}])
def test_prompts_of_different_length_are_gone_on_with_as_if_alone(settings: dict[str, Any]) -> None:
    writer = writer_with(longest=9, **settings)
    together = writer(OPENINGS)
    for row, opening in enumerate(OPENINGS):
        (alone,) = writer([opening], row)
        assert [one.text for one in alone] == [one.text for one in together[row]]
        assert all(one.text.startswith(opening) for one in alone)
    assert len({one[0].text for one in together}) == len(OPENINGS)


def test_prompts_more_than_fit_into_a_batch_come_back_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    writer = writer_with(longest=4, temperature=1.0)
    wanted = writer(OPENINGS)
    monkeypatch.setattr("seqwright.outputs.next_token.AT_ONCE", 2)
    assert [[one.text for one in row] for row in writer(OPENINGS)] == [[one.text for one in row] for row in wanted]


def test_writing_ends_where_the_context_does() -> None:
    writer = writer_with(longest=50, shortest=50)
    for opening, (one,) in zip(OPENINGS, writer(OPENINGS), strict=True):
        assert len(one.tokens) == room_after(writer.model, len(opening)) == CONTEXT - len(opening)
        assert not one.finished


def test_a_prompt_that_fills_the_context_is_refused_in_words() -> None:
    writer = writer_with()
    assert writer(["a" * (CONTEXT - 1)])[0][0].text.startswith("a" * (CONTEXT - 1))
    with pytest.raises(DataError, match=f"has {CONTEXT} tokens and one before it.* at most {CONTEXT}; shorten it"):
        writer(["cat", "a" * CONTEXT])


@pytest.mark.parametrize("stops", [(), ("t",), ("at", "o"), ("th", "tha", " a")])
@pytest.mark.parametrize("settings", [{}, {"temperature": 1.5}])
def test_what_is_told_piece_by_piece_is_the_text(stops: tuple[str, ...], settings: dict[str, Any]) -> None:
    for seed in range(3):
        writer = writer_with(stop=stops, seed=seed, longest=12, **settings)
        pieces, one = writer.told("the")
        assert "".join(pieces) == one.text
        assert one == writer(["the"])[0][0]
        several = writer._replace(settings=writer.settings.model_copy(update={"n_best": 1 + bool(settings)}))
        assert several.told("the") == (pieces, one)
        assert before_stop(one.text[len("the") :], stops) == one.text[len("the") :]


def test_a_stop_string_is_cut_off_and_ends_the_text() -> None:
    free = writer_with(longest=12)(["the"])[0][0].text
    stop = free[6:8]
    assert stop not in free[3:7]
    for settings in ({}, {"beam": 1}):
        ((one,),) = writer_with(longest=12, stop=(stop,), **settings)(["the"])
        assert one.text == free[: 3 + free[3:].index(stop)]
        assert one.finished


@hypothesis(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.integers(2, 13))
def test_windows_show_every_token_once_and_half_of_what_was_before(tokens: int, context: int) -> None:
    windows = list(reading_windows(tokens, context))
    assert [place for window in windows for place in range(window.new, window.high)] == list(range(tokens))
    assert all(0 < window.high - window.low <= context for window in windows)
    assert all(later.new - later.low == context // 2 for _, later in pairwise(windows))
    assert list(reading_windows(tokens, None)) == [(0, tokens, 0)]


@torch.no_grad()
def test_a_text_longer_than_the_context_is_scored_in_windows() -> None:
    writer, long = writer_with(), "the cat sat on a mat. the dog sat on the cat"
    tokenizer = writer.wires.tokenizer
    short, surprise = writer.surprises(["a mat", long])
    ids = [tokenizer.begin, *tokenizer.encode([long])[0].tolist(), tokenizer.end]
    bits = []
    for low, high, new in reading_windows(len(ids) - 1, CONTEXT):
        tokens_1T = torch.tensor([ids[low:high]])
        h_1TD = writer.model.body.hidden(tokens_1T, torch.ones_like(tokens_1T, dtype=torch.bool))
        logp_TV = writer.model.body.logits(h_1TD)[0].log_softmax(-1)
        bits += [-float(logp_TV[t - low, ids[t + 1]]) / math.log(2) for t in range(new, high)]
    assert surprise.bits == pytest.approx(bits, abs=1e-4)
    assert "".join(surprise.pieces) == long
    assert short.bits == pytest.approx(writer.surprises(["a mat"])[0].bits, abs=1e-5)
    assert len(short.bits) == len("a mat") + 1


class Bytes:
    """A tokenizer whose tokens are bytes, so that a character can take several."""

    size, begin, end, unknown = 258, 256, 257, None

    def encode(self, texts: list[str]) -> list[Any]:
        return [np.frombuffer(text.encode(), dtype=np.uint8).astype(np.int64) for text in texts]

    def decode(self, ids: list[int]) -> str:
        return bytes(token for token in ids if token < 256).decode(errors="replace")

    def unknowns(self, ids: Any) -> int:
        return 0

    def unwritten(self) -> list[int]:
        return [self.begin]


class Reciter(nn.Module):
    """Recites a text whatever it reads, then ends."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.said = [*text.encode(), Bytes.end]

    def start(self, batch: Any) -> tuple[torch.Tensor]:
        return (torch.zeros(len(batch.input_BT), dtype=torch.int64),)

    def step(self, tokens_B: torch.Tensor, state: tuple[torch.Tensor]) -> tuple[torch.Tensor, tuple[torch.Tensor]]:
        target_B = torch.tensor(self.said)[state[0]]
        return 50.0 * torch.nn.functional.one_hot(target_B, Bytes.size), (state[0] + 1,)

    def log_probability(self, batch: Any, carry: None) -> tuple[torch.Tensor, None]:
        return torch.zeros(batch.input_BT.shape), None


def test_characters_of_several_tokens_are_told_whole_and_scored_with_their_last_token() -> None:
    text = "né 🙂!"
    tokenizer: Any = Bytes()
    read = RunningTextInput(tokenizer, "documents", 9, 99, "drop", "drop", None)
    writer = Writer(Reciter(text), Wires(read, NextTokenOutput(tokenizer)))
    told, one = writer.told("")
    assert "".join(told) == one.text == text
    assert not any("\ufffd" in piece for piece in told)
    (surprise,) = writer.surprises([text])
    assert surprise.pieces == ["n", "", "é", " ", "", "", "", "🙂", "!", ""]
    (broken,) = writer.surprises(["🙂"])
    assert broken.pieces == ["", "", "", "🙂", ""]
