"""What GPT and BERT show of their layers: against the same model cut off above each of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import Tensor

from seqwright.analysis.attention import maps_of
from seqwright.analysis.lens import lens_of
from seqwright.analysis.reading import joined_row, row_batch, row_of
from seqwright.analysis.vectors import WordVectors, cosines_of
from seqwright.batches.labelled import labelled
from seqwright.batches.text import texts
from seqwright.cli.looking.examples import example_of
from seqwright.errors import DataError, RunError, SettingError
from seqwright.inputs import Given
from seqwright.inputs.sentences import SentencesSettings
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.recipe import recipe_from
from seqwright.runs import Run, model_of
from tests.wires import classifier_wires, masked_wires, running_wires

TEXTS = ["the river bank is green", "a bank lends money to the river"]
PAIR = dict(zip(("text", "text_pair"), TEXTS, strict=True))
MODEL = {"width": 8, "heads": 2, "layers": 3, "feed_forward": 11, "context": 19}


def a_gpt(**inputs: Any) -> Run:
    settings = {"tokenizer": "bpe", "vocabulary": 60, **inputs}
    plain: dict[str, Any] = {"task": "language-modeling", "data": {"train": "none.txt"}, "input": settings}
    plain |= {"model": {"kind": "gpt", **MODEL}}
    return opened(plain, running_wires(TEXTS, MODEL["context"], **{"segment": MODEL["context"], **settings}))


def a_bert(**model: Any) -> Run:
    plain = {
        "task": "masked-language-modeling",
        "data": {"train": "none.txt"},
        "objective": {"kind": "masked-token"},
        "input": {"tokenizer": "words"},
        "model": {"kind": "bert", **MODEL, **model},
    }
    tokenizer = Tokenizer.train(TEXTS, SentencesSettings(tokenizer="words"), special=("<mask>",))
    return opened(plain, masked_wires(tokenizer, 19))


def a_pair_classifier() -> Run:
    plain = {
        "task": "text-classification",
        "data": {"train": "none.tsv"},
        "input": {"tokenizer": "words"},
        "model": {"kind": "bert", **MODEL},
    }
    return opened(plain, classifier_wires(TEXTS, {"yes": 1, "no": 1}, begins=True, pairs=True))


def opened(plain: dict[str, Any], inputs: Any) -> Run:
    """A run that has learnt nothing, its weights large enough to tell layers apart."""
    recipe = recipe_from(plain, name="a-run")
    torch.manual_seed(6)
    model = model_of(recipe, inputs.sizes()).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return Run(Path("runs/a-run"), recipe, inputs, model, 0)


def cut_above(run: Run, layers: int) -> Any:
    """The same model with fewer blocks."""
    recipe = run.recipe._replace(model=run.recipe.model.model_copy(update={"layers": layers}))
    model = model_of(recipe, run.inputs.sizes()).eval()
    kept = model.state_dict().keys()
    model.load_state_dict({name: tensor for name, tensor in run.model.state_dict().items() if name in kept})
    return model


@torch.inference_mode()
def next_probabilities(model: Any, run: Run, text: str) -> Tensor:
    (ids,) = run.inputs.tokenizer.encode([text])
    logits_1TV, _ = model(texts([ids], begin=run.inputs.input.first, end=run.inputs.tokenizer.end))
    probability_TV: Tensor = logits_1TV[0].softmax(-1)
    return probability_TV


# ------------------------------------------------------------------------------------------------ the lens


def test_a_layer_says_what_the_model_would_say_that_ends_there() -> None:
    run = a_gpt()
    lens = lens_of(run, TEXTS[0])
    assert list(lens.layers) == ["layer 1", "layer 2", "layer 3"]
    for layer, said in enumerate(lens.predictions, start=1):
        best = next_probabilities(cut_above(run, layer), run, TEXTS[0]).topk(5)
        found = [[probability for _, probability in each.likeliest] for each in said]
        assert_allclose(found, best.values, atol=1e-6)
        spelled = run.inputs.tokenizer.spellings()
        expected = [[spelled[number].replace("▁", " ") for number in row] for row in best.indices.tolist()]
        assert [[token for token, _ in each.likeliest] for each in said] == expected


def test_right_is_what_came_next() -> None:
    run = a_gpt()
    lens = lens_of(run, TEXTS[0])
    assert "".join(lens.input[1:]) == TEXTS[0]
    assert lens.input[0] == "</s>", "texts are joined: an end stands before"
    assert list(lens.target) == [*lens.input[1:], ""]
    (ids,) = run.inputs.tokenizer.encode([TEXTS[0]])
    for layer, said in enumerate(lens.predictions, start=1):
        likeliest_T = next_probabilities(cut_above(run, layer), run, TEXTS[0]).argmax(-1)
        assert [each.right for each in said] == [*(likeliest_T[:-1].numpy() == ids), False]


def test_a_bert_says_what_is_hidden_at_every_layer() -> None:
    run = a_bert()
    lens = lens_of(run, "the ___ bank is green")
    assert list(lens.input) == ["<s>", "the", "<mask>", "bank", "is", "green", "</s>"]
    assert list(lens.target) == []
    tokenizer = run.inputs.tokenizer
    ids = tokenizer.encode(["the", "bank is green"])
    row = np.concatenate([ids[0], [tokenizer.mask], ids[1]])
    batch = labelled([row], begin=tokenizer.begin, end=tokenizer.end)
    for layer, said in enumerate(lens.predictions, start=1):
        with torch.inference_mode():
            logits_1TV, _ = cut_above(run, layer)(batch)
        assert_allclose([each.probability for each in said], logits_1TV[0].softmax(-1).amax(-1), atol=1e-6)


def test_who_has_no_output_over_words_has_no_lens() -> None:
    with pytest.raises(RunError, match="imported without the output that predicts masked tokens"):
        lens_of(a_bert(head=False), TEXTS[0])
    with pytest.raises(RunError, match="its layers have no output over words to look through"):
        lens_of(a_pair_classifier(), PAIR)


# ------------------------------------------------------------------------------------------------ attention


def test_a_causal_model_reads_nothing_that_comes_later() -> None:
    run = a_gpt(vocabulary=40)
    row = row_of(run, TEXTS[1], 120)
    (kind,) = maps_of(run.model, row.heard, {"tokens": row.words}).values()
    assert list(kind.rows) == list(kind.columns) == ["</s>", *TEXTS[1].split()]
    assert kind.weights.shape == (3, 2, 8, 8)
    assert_allclose(kind.weights.sum(-1), 1, atol=1e-6)
    assert (kind.row_axis, kind.column_axis) == ("word that reads", "word that is read")
    pieces = [place for _, places in row.words for place in places]
    assert pieces == list(range(len(row.tokens)))
    first_read = kind.weights[:, :, 0]
    assert_allclose(first_read[..., 0], 1, atol=1e-6)
    assert (np.triu(kind.weights.max(axis=(0, 1)), k=1) < 1e-6).all()


def test_two_texts_are_read_in_one_row() -> None:
    run = a_pair_classifier()
    row = row_of(run, PAIR, 120)
    assert [word for word, _ in row.words] == ["<s>", *TEXTS[0].split(), "</s>", *TEXTS[1].split(), "</s>"]
    assert row.pieces[0] == "<s>"
    assert "".join(row.pieces[1:6]) == TEXTS[0]
    assert row_of(run, "\t".join(TEXTS), 120).pieces == row.pieces
    with pytest.raises(SettingError, match="reads two texts at a time, and there are 1; give two"):
        example_of(run, TEXTS[:1])
    with pytest.raises(SettingError, match="reads one text at a time, and there are 2"):
        example_of(a_gpt(), TEXTS)
    with pytest.raises(DataError, match="expected a text"):
        row_of(a_gpt(), PAIR, 120)


def test_a_masked_text_is_looked_at_as_it_is_filled() -> None:
    """The one way from rows to a batch, whether a document, a typed text or two."""
    run = a_bert()
    reads = run.inputs.reads_tokens
    text = "the ___ bank is green"
    seen, read = row_batch(run.inputs, [joined_row(reads, reads.parts(text))])
    (filled,) = run.inputs.batches(Given([text])).once()
    for name in ("input_BT", "real_BT", "segment_BT", "chosen_BT", "next_B"):
        assert getattr(seen, name).tolist() == getattr(filled, name).tolist(), name
    assert (seen.chosen_BT.sum(), read.before) == (1, 1)
    pair, _ = row_batch(run.inputs, [joined_row(reads, reads.parts(PAIR))])
    first, second = (len(each.split()) for each in TEXTS)
    assert pair.segment_BT.tolist() == [[0] * (first + 2) + [1] * (second + 1)]


def test_no_more_is_read_than_can_be_shown_or_than_fits(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(row_of(a_gpt(), TEXTS[0], 3, print).tokens) == 4
    assert "the first 3 of " in capsys.readouterr().out
    run = a_gpt(tokenizer="characters")
    assert len(row_of(run, TEXTS[0], 120, print).tokens) == MODEL["context"] - 1
    assert f"the first 17 of {len(TEXTS[0])} tokens" in capsys.readouterr().out


# ------------------------------------------------------------------------------------------------ words


def test_a_words_vectors_at_a_layer_are_those_of_the_model_that_ends_there() -> None:
    run = a_bert()
    vectors = WordVectors(run.model, run.inputs)
    found = vectors.occurrences("bank", TEXTS)
    assert [(each.text, TEXTS[each.text][each.begin : each.end]) for each in found] == [(0, "bank"), (1, "bank")]
    for layer in range(1, 4):
        cut = WordVectors(cut_above(run, layer), run.inputs).occurrences("bank", TEXTS)
        for whole, part in zip(found, cut, strict=True):
            assert_allclose(whole.layer_LD[layer - 1], part.contextual_D, atol=1e-5)
    assert found[0].layer_LD.shape == (3, 8)


def test_the_cosine_of_embeddings_is_one_and_of_layers_numpys() -> None:
    found = WordVectors(a_bert().model, a_bert().inputs).occurrences("bank", [*TEXTS, "bank"])
    cosine_LNN = cosines_of(found)
    assert cosine_LNN.shape == (4, 3, 3)
    assert_allclose(cosine_LNN[0], 1)
    one, other = (found[place].layer_LD[1].double().numpy() for place in (0, 2))
    expected = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    assert cosine_LNN[2, 0, 2] == cosine_LNN[2, 2, 0] == pytest.approx(expected)
    assert expected < 0.9999
