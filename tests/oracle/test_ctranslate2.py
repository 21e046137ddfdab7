"""CTranslate2 computes the same with the weights that it is given: its own program is the oracle."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import seqwright as sw
from seqwright.batches import padded
from seqwright.batches.pairs import Pairs, sources
from seqwright.batches.text import texts
from seqwright.decoding import DecodingSettings, Prefix, decoded
from seqwright.engines import CTranslate2Engine
from seqwright.errors import RunError
from seqwright.interchange.ctranslate2 import ctranslate2_form
from seqwright.outputs.text_search import Opening
from seqwright.runs import Run
from tests.random_runs import LETTERS, language_model, random_run, translator, vocabulary
from tests.small_models import small
from tests.wires import masked_wires

if importlib.util.find_spec("ctranslate2") is None:  # not imported: what is computed with is decided as it loads
    pytest.skip("CTranslate2 is not installed: pip install 'seqwright[ctranslate2]'", allow_module_level=True)


def some_sources(run: Run, *lengths: int) -> Pairs:
    draw = np.random.default_rng(2)
    rows = [draw.integers(5, run.input.tokenizer.size, length) for length in lengths]
    return sources(rows, end=run.input.tokenizer.end)


def opening_of(run: Run, batch: Pairs, steps: int | Tensor, forced: tuple[int, ...] = ()) -> Opening:
    prefix = Prefix(*padded([np.array(forced)] * len(batch))) if forced else None
    return Opening(torch.full((len(batch),), run.output.tokenizer.begin), prefix, steps)


def both(run: Run, batch: Any, settings: DecodingSettings, opening: Opening) -> tuple[list[Any], list[Any]]:
    """What each row is continued with, by our own search and by CTranslate2, where nothing is forbidden."""
    model: Any = run.model
    with torch.inference_mode():
        ours = decoded(model, model.start(batch), settings, **opening._asdict(), end=run.output.tokenizer.end)
    theirs = CTranslate2Engine(run).decoded(batch, settings, opening, forbidden=())
    return (
        [[(each.tokens, each.finished) for each in row] for row in ours],
        [[(each.tokens, each.finished) for each in row] for row in theirs],
    )


@pytest.mark.parametrize("block", ["pre-norm", "post-norm"])
@pytest.mark.parametrize("shared", [True, False], ids=["shared", "apart"])
def test_a_transformer_writes_the_same_greedily_as_far_as_each_row_may(
    tmp_path: Path, block: str, shared: bool
) -> None:
    run = translator(tmp_path / "run", block, shared=shared)
    batch = some_sources(run, 5, 3, 7, 5, 11)
    opening = opening_of(run, batch, torch.tensor([9, 13, 4, 9, 17]))
    ours, theirs = both(run, batch, DecodingSettings(), opening)
    assert theirs == ours
    assert {len(row[0][0]) for row in ours} >= {4, 9, 17}  # the limits are met


def found_by_both(run: Run, length_penalty: float) -> tuple[list[list[Any]], list[list[Any]]]:
    """What a beam of 5 finds for some sources, by our own search and by CTranslate2, where nothing is forbidden."""
    model: Any = run.model
    batch, settings = some_sources(run, 5, 3, 7, 5, 11), DecodingSettings(beam=5, length_penalty=length_penalty)
    opening = opening_of(run, batch, 13)
    with torch.inference_mode():
        ours = decoded(model, model.start(batch), settings, **opening._asdict(), end=run.output.tokenizer.end)
    theirs = CTranslate2Engine(run).decoded(batch, settings, opening, forbidden=())
    return list(ours), theirs


every_seed = pytest.mark.parametrize("seed", range(10))
every_penalty = pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0])


@every_seed
@every_penalty
def test_by_beam_search_it_writes_the_same_or_what_our_own_score_is_lower_for(
    tmp_path: Path, seed: int, length_penalty: float
) -> None:
    """It stops by a count of what has ended, so it can miss what ours goes on to find; never the other way round."""
    block = ("pre-norm", "post-norm")[seed % 2]
    for mine, its in zip(*found_by_both(translator(tmp_path / "run", block, seed=seed), length_penalty), strict=True):
        if length_penalty == 0 or mine[0].tokens == its[0].tokens:
            assert its[0].tokens == mine[0].tokens
            assert its[0].score == pytest.approx(mine[0].score, abs=1e-4)
        else:
            assert its[0].score < mine[0].score


@every_seed
@every_penalty
def test_by_beam_search_it_writes_the_same_where_it_does_not_stop_early(
    tmp_path: Path, seed: int, length_penalty: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seqwright.engines.PATIENCE", 13.0)  # as many as five can end in 13 steps
    block = ("post-norm", "pre-norm")[seed % 2]
    ours, theirs = found_by_both(translator(tmp_path / "run", block, seed=seed), length_penalty)
    assert [row[0].tokens for row in theirs] == [row[0].tokens for row in ours]


def test_scores_are_those_of_our_own_search(tmp_path: Path) -> None:
    run = translator(tmp_path / "run", "pre-norm")
    batch, model = some_sources(run, 5, 3, 7), run.model
    opening, settings = opening_of(run, batch, 13), DecodingSettings(beam=4, n_best=3)
    with torch.inference_mode():
        ours = decoded(model, model.start(batch), settings, **opening._asdict(), end=run.output.tokenizer.end)  # type: ignore[operator]
    theirs = CTranslate2Engine(run).decoded(batch, settings, opening, forbidden=())
    for mine, its in zip(ours, theirs, strict=True):
        assert [each.tokens for each in its] == [each.tokens for each in mine]
        for one, other in zip(mine, its, strict=True):
            assert other.score == pytest.approx(one.score, abs=1e-4)
            assert other.log_probability == pytest.approx(one.log_probability, abs=1e-4)


@pytest.mark.parametrize("beam", [1, 4])
def test_what_a_translation_is_made_to_begin_with_counts_neither_as_length_nor_as_chosen(
    tmp_path: Path, beam: int
) -> None:
    run = translator(tmp_path / "run", "pre-norm")
    batch = some_sources(run, 5, 3, 7)
    settings = DecodingSettings(beam=beam, shortest=3)
    ours, theirs = both(run, batch, settings, opening_of(run, batch, 8, forced=(6, 9)))
    assert theirs == ours


@pytest.mark.parametrize("beam", [1, 4])
def test_a_gpt_continues_prompts_of_different_length_in_the_same_way(tmp_path: Path, beam: int) -> None:
    run = language_model(tmp_path / "run")
    tokenizer, draw = run.input.tokenizer, np.random.default_rng(3)
    rows = [draw.integers(5, tokenizer.size, length) for length in (4, 2, 9, 1)]
    batch = texts(rows, begin=tokenizer.begin, end=tokenizer.end)
    prompt = Prefix(batch.input_BT[:, 1:], batch.real_BT[:, 1:])
    opening = Opening(batch.input_BT[:, 0], prompt, torch.tensor([11, 7, 11, 13]))
    ours, theirs = both(run, batch, DecodingSettings(beam=beam), opening)
    assert theirs == ours


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert"])
def test_a_bert_gives_the_same_vectors(tmp_path: Path, kind: str) -> None:
    sizes = {"width": 12, "heads": 3, "layers": 2, "context": 17, "feed_forward": 19}
    plain = {"task": "masked-language-modeling", "model": {"kind": kind, **sizes}}
    run = random_run(tmp_path / "run", plain, masked_wires(vocabulary(LETTERS), 16), scale=7.0)
    some = ["a b c d e", "f", "g h i j k l m"]
    plain_ND = run.embed(some)
    assert np.abs(plain_ND).max() > 0.1
    theirs_ND = sw.load(tmp_path / "run", engine="ctranslate2").embed(some)
    np.testing.assert_allclose(theirs_ND, plain_ND, atol=1e-4)


@pytest.mark.parametrize("block", ["pre-norm", "post-norm"])
def test_the_encoder_of_a_translation_gives_the_same_vectors(tmp_path: Path, block: str) -> None:
    run = translator(tmp_path / "run", block)
    some = ["a b c d e", "f", "g h i j k l m"]
    theirs_ND = sw.load(tmp_path / "run", engine="ctranslate2").embed(some)
    np.testing.assert_allclose(theirs_ND, run.embed(some), atol=1e-4)


def test_int8_rounds_and_stays_near(tmp_path: Path) -> None:
    """It would be wrong by a third where two products overflow that are added in 16 bits."""
    run = translator(tmp_path / "run", "pre-norm")
    some, engined = ["a b c d e", "f", "g h i j k l m"], sw.load(tmp_path / "run", engine="ctranslate2")
    plain_ND, rounded_ND = run.embed(some), engined.embed(some, precision="int8")
    assert not np.allclose(rounded_ND, plain_ND, atol=1e-4)
    assert np.abs(rounded_ND - plain_ND).max() < 0.03 * np.abs(plain_ND).max()


REFUSED: dict[tuple[str, str], str] = {
    ("moe-transformer", "translation"): "CTranslate2 has no experts, which block 2 of the model's encoder has",
    ("convs2s", "translation"): "the model's encoder is a ConvS2SEncoder",
    ("luong", "translation"): "the model's encoder is a ",
    ("gpt", "text-classification"): "CTranslate2 gives the logits of a GPT and keeps its vectors",
    ("lstm", "language-modeling"): "CTranslate2 has Transformers, GPT and BERT",
}


@pytest.mark.parametrize(("kind", "task"), REFUSED)
def test_a_part_that_has_no_equal_there_is_named(kind: str, task: str) -> None:
    model: nn.Module = small(kind, task)
    with pytest.raises(RunError, match=REFUSED[kind, task]):
        ctranslate2_form(model)
