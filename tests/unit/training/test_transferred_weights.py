"""Beginning from what another model has learnt."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from seqwright.errors import RunError, SettingError
from seqwright.layers.positions import resampled_grid
from seqwright.models.headed import ViTClassifierSettings, pooled_model
from seqwright.recipe import read_recipe, written
from seqwright.training.weights import transferred, unique_tensors


class Body(nn.Module):
    def __init__(self, tokens: int = 5, width: int = 3) -> None:
        super().__init__()
        self.tokens = nn.Embedding(tokens, width)
        self.layer = nn.Linear(width, width)
        self.scale = nn.Parameter(torch.tensor(0.5))


class WithHead(nn.Module):
    def __init__(self, tokens: int = 5, width: int = 3, classes: int = 2) -> None:
        super().__init__()
        self.body = Body(tokens, width)
        self.output = nn.Linear(width, classes)


class Other(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(5, 3)


def drawn(module: nn.Module, seed: int) -> nn.Module:
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=draw))
    return module


def copies(module: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in unique_tensors(module).items()}


def test_a_whole_model_becomes_the_body_of_one_with_a_head() -> None:
    source, target = drawn(Body(), 1), drawn(WithHead(), 2)
    before = copies(target)
    notes = transferred(source, target, "runs/x")
    for name, tensor in unique_tensors(source).items():
        assert torch.equal(unique_tensors(target)[f"body.{name}"], tensor)
    assert torch.equal(unique_tensors(target)["output.weight"], before["output.weight"])
    assert "randomly initialised: output.weight, output.bias" in notes


def test_the_body_of_a_model_with_a_head_is_taken_without_the_head() -> None:
    source, target = drawn(WithHead(classes=7), 1), drawn(WithHead(classes=7), 2)
    del target.output
    notes = transferred(source, target, "runs/x")
    assert torch.equal(unique_tensors(target)["body.layer.weight"], unique_tensors(source)["body.layer.weight"])
    assert "not used: output.bias, output.weight" in notes


def test_new_tokens_keep_their_own_vectors() -> None:
    source, target = drawn(WithHead(tokens=5), 1), drawn(WithHead(tokens=7), 2)
    before = copies(target)["body.tokens.weight"]
    transferred(source, target, "runs/x")
    found = unique_tensors(target)["body.tokens.weight"]
    assert torch.equal(found[:5], unique_tensors(source)["body.tokens.weight"])
    assert torch.equal(found[5:], before[5:])


def test_an_output_for_other_classes_is_new() -> None:
    source, target = drawn(WithHead(classes=2), 1), drawn(WithHead(classes=3), 2)
    before = copies(target)
    notes = transferred(source, target, "runs/x")
    assert torch.equal(unique_tensors(target)["output.weight"], before["output.weight"])
    assert "randomly initialised: output.weight, output.bias" in notes


def image_model(rows: int, *, channels: int = 1, **settings: object) -> nn.Module:
    plain = {"width": 6, "heads": 2, "layers": 1, "patch": 4, **settings}
    model = pooled_model(
        ViTClassifierSettings.model_validate(plain), classes=2, channels=channels, rows=rows, columns=8
    )
    return drawn(model, rows)


def test_positions_of_another_grid_are_resampled_and_told() -> None:
    source, target = image_model(8), image_model(20)
    notes = transferred(source, target, "runs/x")
    name = "body.positions.place_YXD"
    assert f"resampled: {name} from 2 × 2 × 6 to 5 × 2 × 6" in notes
    found, wanted = unique_tensors(target), resampled_grid(unique_tensors(source)[name], 5, 2)
    assert torch.equal(found[name], wanted)
    assert torch.equal(found["body.positions.before_ND"], unique_tensors(source)["body.positions.before_ND"])


def test_filters_of_other_patches_and_channels_are_not() -> None:
    for other in (image_model(8, patch=2), image_model(8, channels=3), image_model(8, width=12)):
        with pytest.raises(RunError, match="leave the sizes out"):
            transferred(other, image_model(8), "runs/x")


def test_a_class_token_that_nothing_reads_is_not_used() -> None:
    notes = transferred(image_model(8), image_model(8, class_tokens=0, pooling="patches"), "runs/x")
    assert "not used: body.class_ND, body.positions.before_ND" in notes


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        (WithHead(width=4), "leave the sizes out"),
        (WithHead(tokens=9), "leave the sizes out"),
        (Other(), "it is of another model"),
    ],
)
def test_a_body_that_does_not_fit_is_refused(source: nn.Module, complaint: str) -> None:
    with pytest.raises(RunError, match=complaint):
        transferred(source, WithHead(), "runs/x")


def resolved(folder: Path, *, kind: str = "wordpiece") -> Path:
    folder.mkdir()
    plain = {
        "model": {"kind": "bert", "width": 24, "heads": 3, "layers": 2, "head": True},
        "input": {"tokenizer": kind, "vocabulary": 77, "lowercase": True, "longest": 99},
    }
    (folder / "resolved.toml").write_text(written(plain), encoding="utf-8")
    return folder


def recipe(folder: Path, *, inputs: str = "") -> str:
    path = folder / "mine.toml"
    path.write_text(
        'task = "text-classification"\n[data]\ntrain = "x.tsv"\n'
        f'[model]\nweights = "{folder / "other"}"\n[input]\n{inputs}\n',
        encoding="utf-8",
    )
    return str(path)


def test_what_the_recipe_leaves_open_is_taken_from_the_other_run(tmp_path: Path) -> None:
    resolved(tmp_path / "other")
    found = read_recipe(recipe(tmp_path), ["model.layers=1"])
    assert (found.model.kind, found.model.width, found.model.heads, found.model.layers) == ("bert", 24, 3, 1)
    assert (found.input.tokenizer, found.input.vocabulary, found.input.lowercase) == ("wordpiece", 77, True)
    assert found.input.longest == 512  # only what decides the tokenizer is taken


def test_another_tokenizer_than_the_weights_have_is_refused(tmp_path: Path) -> None:
    resolved(tmp_path / "other")
    with pytest.raises(SettingError, match="the tokenizer comes from"):
        read_recipe(recipe(tmp_path, inputs='tokenizer = "bpe"'))


def test_weights_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"model.weights is .* where there is no run"):
        read_recipe(recipe(tmp_path))


def test_of_weights_that_are_not_there_the_nearest_run_is_named(tmp_path: Path) -> None:
    resolved(tmp_path / "othe")
    with pytest.raises(SettingError, match=r"model.weights is .* where there is no run\. Did you mean '.*othe'\?"):
        read_recipe(recipe(tmp_path))


def test_a_run_that_was_begun_does_not_need_the_other_one(tmp_path: Path) -> None:
    begun = resolved(tmp_path / "begun")
    assert read_recipe(recipe(tmp_path), run=begun).model.width == 24
