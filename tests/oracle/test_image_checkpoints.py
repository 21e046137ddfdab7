"""ViT, DeiT and DINOv2 against Hugging Face's `transformers`: both directions, every tensor, the pixels too."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from seqwright.batches.labelled import Labelled
from seqwright.cli.exporting import export_run
from seqwright.cli.importing import import_model
from seqwright.errors import DataError, RunError
from seqwright.inputs import Given
from seqwright.interchange.weight_files import read_tensors
from seqwright.layers.taps import listen
from seqwright.recipe import recipe_from
from seqwright.runs import Run, model_of, open_run, write_run
from seqwright.training.weights import unique_tensors

transformers = pytest.importorskip("transformers", reason="transformers is not installed: pip install seqwright[dev]")
transformers.logging.set_verbosity_error()

SIDE, PATCH = 12, 4
LABELS: dict[str, dict[Any, Any]] = {
    "id2label": {0: "cat", 1: "dog", 2: "a cow"},
    "label2id": {"cat": 0, "dog": 1, "a cow": 2},
}
SIZES = {"hidden_size": 12, "num_attention_heads": 3, "num_hidden_layers": 2, "image_size": SIDE, "patch_size": PATCH}
CONFIGS: dict[str, dict[str, Any]] = {
    "vit": {**SIZES, "intermediate_size": 19},
    "deit": {**SIZES, "intermediate_size": 19},
    "dinov2": {**SIZES, "mlp_ratio": 2},
    "dinov2_with_registers": {**SIZES, "mlp_ratio": 2, "num_register_tokens": 3},
}
CLASSIFIERS = [
    ("vit", "ViTForImageClassification"),
    ("deit", "DeiTForImageClassification"),
    ("deit", "DeiTForImageClassificationWithTeacher"),
    ("dinov2", "Dinov2ForImageClassification"),
    ("dinov2_with_registers", "Dinov2WithRegistersForImageClassification"),
]
BODIES = [
    ("vit", "ViTModel"),
    ("deit", "DeiTModel"),
    ("dinov2", "Dinov2Model"),
    ("dinov2_with_registers", "Dinov2WithRegistersModel"),
]


@torch.no_grad()
def theirs(family: str, architecture: str, folder: Path, **settings: Any) -> Any:
    """A model of theirs of a few parameters, none of them zero or one, saved."""
    config = transformers.AutoConfig.for_model(family, **{**CONFIGS[family], **LABELS, **settings})
    model: Any = getattr(transformers, architecture)(config)
    draw = torch.Generator().manual_seed(7)
    for parameter in model.parameters():
        parameter.add_(torch.randn(parameter.shape, generator=draw) * 0.2)
    model.save_pretrained(folder)
    return model.eval()


def preprocessor(folder: Path, **settings: Any) -> None:
    plain = {"do_resize": True, "size": {"height": SIDE, "width": SIDE}, "image_mean": [0.5, 0.4, 0.3]}
    plain |= {"image_std": [0.2, 0.3, 0.4], "image_processor_type": "ViTImageProcessor", **settings}
    (folder / "preprocessor_config.json").write_text(json.dumps(plain))


def imported(folder: Path, run: Path) -> Run:
    import_model(folder, run, None, yes=False)
    return open_run(run)


def pixels(rows: int = SIDE, columns: int = SIDE, channels: int = 3) -> Tensor:
    return torch.randn(2, channels, rows, columns, generator=torch.Generator().manual_seed(1))


def ours_said(run: Run, x_BCYX: Tensor) -> tuple[Tensor, Tensor]:
    """The vectors of the body, and the logits."""
    batch, model = Labelled(x_BCYX, torch.ones(len(x_BCYX), 1, dtype=torch.bool), torch.zeros(len(x_BCYX))), run.model
    with torch.no_grad(), listen(model) as heard:
        logits_BC = model(batch)[0]
    return heard["body.contextual"][0], logits_BC


def agree(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)
    assert one.std() > 0.01  # something was computed at all


@torch.no_grad()
@pytest.mark.parametrize(("family", "architecture"), CLASSIFIERS)
def test_a_classifier_says_the_same_here_and_there_and_back(family: str, architecture: str, tmp_path: Path) -> None:
    model = theirs(family, architecture, tmp_path / "theirs")
    run = imported(tmp_path / "theirs", tmp_path / "run")
    x_BCYX = pixels()
    wanted = model(x_BCYX, output_hidden_states=True)
    h_BPD, logits_BC = ours_said(run, x_BCYX)
    agree(logits_BC, wanted.logits)
    base = getattr(model, model.base_model_prefix)
    agree(h_BPD, base(x_BCYX).last_hidden_state)
    assert run.output.labels == ("cat", "dog", "a cow")
    export_run(tmp_path / "run", tmp_path / "back", "hf", None, "best", yes=False)
    again = getattr(transformers, architecture).from_pretrained(tmp_path / "back").eval()
    torch.testing.assert_close(again(x_BCYX).logits, wanted.logits, atol=1e-6, rtol=0)
    assert again.config.id2label == LABELS["id2label"]
    before, after = (read_tensors([tmp_path / name / "model.safetensors"]) for name in ("theirs", "back"))
    assert before.keys() - after.keys() <= {f"{family}.embeddings.mask_token"}
    teacher = architecture.endswith("Teacher")
    for name, tensor in after.items():
        if not (teacher and name.endswith("classifier.bias")):  # of two biases only the mean says something
            assert torch.equal(tensor, before[name]), name


@torch.no_grad()
@pytest.mark.parametrize(("family", "architecture"), [each for each in CLASSIFIERS if "Teacher" not in each[1]])
def test_batches_of_any_size_agree_to_the_last_digits_of_double_precision(
    family: str, architecture: str, tmp_path: Path
) -> None:
    """But for the two classifiers of a teacher and a student, whose mean is rounded to single precision here."""
    model = theirs(family, architecture, tmp_path / "theirs").double()
    run = imported(tmp_path / "theirs", tmp_path / "run")
    run = run._replace(model=run.model.double())
    for size in (1, 3, 17):
        x_BCYX = torch.randn(size, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(size), dtype=torch.float64)
        torch.testing.assert_close(ours_said(run, x_BCYX)[1], model(x_BCYX).logits, atol=1e-10, rtol=0)


@torch.no_grad()
@pytest.mark.parametrize(("family", "architecture"), BODIES)
def test_a_bare_body_gives_the_same_vectors(
    family: str, architecture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = theirs(family, architecture, tmp_path / "theirs")
    run = imported(tmp_path / "theirs", tmp_path / "run")
    agree(ours_said(run, pixels())[0], model(pixels()).last_hidden_state)
    told = " ".join(capsys.readouterr().err.split())
    assert "new, since there is no classifier: head.output" in told
    assert ("pooler.dense.weight" if family in {"vit", "deit"} else "mask_token") in told


@torch.no_grad()
@pytest.mark.parametrize(("family", "architecture"), [CLASSIFIERS[0], CLASSIFIERS[2], CLASSIFIERS[3]])
def test_images_of_another_size_are_read_alike(family: str, architecture: str, tmp_path: Path) -> None:
    model = theirs(family, architecture, tmp_path / "theirs")
    preprocessor(tmp_path / "theirs", size={"height": 20, "width": 20})
    run = imported(tmp_path / "theirs", tmp_path / "run")
    assert run.recipe.model.grid == 3
    assert run.inputs.sizes()["rows"] == 20
    resampling = {} if family == "dinov2" else {"interpolate_pos_encoding": True}
    for rows, columns in ((20, 20), (8, 16)):
        agree(ours_said(run, pixels(rows, columns))[1], model(pixels(rows, columns), **resampling).logits)


def test_a_model_that_was_trained_here_says_the_same_there(tmp_path: Path) -> None:
    run = written(tmp_path / "run", {"kind": "vit", "width": 12, "heads": 2, "layers": 2, "patch": 4})
    export_run(tmp_path / "run", tmp_path / "there", "hf", None, "best", yes=False)
    model = transformers.AutoModelForImageClassification.from_pretrained(tmp_path / "there").eval()
    drawn = np.random.default_rng(1).integers(0, 256, (24, 32, 3), dtype=np.uint8)
    processor = transformers.AutoImageProcessor.from_pretrained(tmp_path / "there")
    there = processor(Image.fromarray(drawn), return_tensors="pt")["pixel_values"]
    here = run.input.stack(run.input.encode(Given([run.input.parse(drawn)])).take(np.array([0]), None))["input_B"]
    torch.testing.assert_close(here, there, atol=1e-5, rtol=0)
    with torch.no_grad():
        agree(ours_said(run, there)[1], model(there).logits)


def written(folder: Path, model: dict[str, Any], rows: int = SIDE, columns: int = SIDE) -> Run:
    """A run of a new model."""
    from seqwright.inputs.fitted_images import Frame
    from seqwright.inputs.image import ImageInput
    from seqwright.outputs.label import LabelOutput
    from seqwright.tasks.wired import Wires

    data = {"imported": "x", "sha256": "x"}
    recipe = recipe_from({"task": "image-classification", "data": data, "model": model}, name="run")
    wires = Wires(
        ImageInput(Frame(3, rows, columns), (0.5, 0.4, 0.3), (0.2, 0.3, 0.4)), LabelOutput({"cat": 3, "dog": 4})
    )
    made = model_of(recipe, wires.sizes())
    draw = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for tensor in unique_tensors(made).values():
            tensor.add_(torch.randn(tensor.shape, generator=draw) * 0.2)
    write_run(recipe, folder, wires, made)
    return open_run(folder)


@pytest.mark.parametrize(
    ("model", "columns", "named"),
    [
        ({"positions": "sinusoidal"}, 12, "positions = 'sinusoidal'"),
        ({"pooling": "patches"}, 12, "pooling = 'patches'"),
        ({"registers": 2}, 12, "registers = 2"),
        ({"layer_scale": 0.1}, 12, "pooling = 'class'"),
        ({"layer_scale": 0.1, "pooling": "class-and-patches", "feed_forward": 13}, 12, "feed_forward = 13"),
        ({}, 16, "images of 12 × 16"),
        ({"patch": 5}, 12, "patch = 5, which does not tile the images,"),
    ],
)
def test_what_transformers_cannot_compute_is_refused(
    model: dict[str, Any], columns: int, named: str, tmp_path: Path
) -> None:
    plain = {"kind": "vit", "width": 12, "heads": 2, "layers": 1, "patch": 4, **model}
    written(tmp_path / "run", plain, columns=columns)
    with pytest.raises(RunError, match="has no equal in transformers") as told:
        export_run(tmp_path / "run", tmp_path / "there", "hf", None, "best", yes=False)
    assert named in str(told.value)
    assert not (tmp_path / "there").exists()


# --------------------------------------------------------------------------------------------- how images are read


def test_the_preprocessor_says_how_images_are_scaled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    theirs("vit", "ViTForImageClassification", tmp_path / "theirs")
    preprocessor(tmp_path / "theirs")
    run = imported(tmp_path / "theirs", tmp_path / "run")
    assert (run.input.mean_C, run.input.deviation_C) == ((0.5, 0.4, 0.3), (0.2, 0.3, 0.4))
    assert "all of an image squeezed to 12 × 12" in " ".join(capsys.readouterr().err.split())
    drawn = np.random.default_rng(1).integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
    there = transformers.AutoImageProcessor.from_pretrained(tmp_path / "theirs")
    wanted = there(Image.fromarray(drawn), return_tensors="pt")["pixel_values"]
    here = run.input.stack(run.input.encode(Given([run.input.parse(drawn)])).take(np.array([0]), None))["input_B"]
    torch.testing.assert_close(here, wanted, atol=1e-5, rtol=0)


def test_labels_of_one_name_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {"id2label": {0: "crane", 1: "dog", 2: "crane"}, "label2id": {"crane": 0, "dog": 1}}
    theirs("vit", "ViTForImageClassification", tmp_path / "theirs", **names)
    assert imported(tmp_path / "theirs", tmp_path / "run").output.labels == ("crane (0)", "dog", "crane (2)")
    assert "crane (0), crane (2)" in " ".join(capsys.readouterr().err.split())


# ---------------------------------------------------------------------------------------------------- hostile files

HUGE = 10**12
WRONG: list[tuple[str, dict[str, Any], str]] = [
    *(
        ("vit", {key: HUGE}, f"{key} = 1,000,000,000,000, which is beyond what its")
        for key in (
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "intermediate_size",
            "patch_size",
            "num_channels",
        )
    ),
    ("vit", {"image_size": HUGE}, "positions of 9 patches"),
    ("vit", {"image_size": [12, 12]}, r"image_size = \[12, 12\]"),
    ("vit", {"image_size": 0}, "positions of 9 patches"),
    ("vit", {"image_size": None}, "lacks image_size"),
    ("vit", {"patch_size": 6, "image_size": 18}, "filters of"),
    ("vit", {"patch_size": 0}, "positions of 9 patches"),
    ("vit", {"num_channels": 1}, "num_channels = 1"),
    ("vit", {"hidden_size": "x"}, "expected a whole number"),
    ("vit", {"layer_norm_eps": "x"}, "expected a number from 0 to 1"),
    ("vit", {"hidden_act": "relu"}, "hidden_act = 'relu'"),
    ("vit", {"qkv_bias": False}, "qkv_bias = False"),
    ("vit", {"architectures": ["ViTForMaskedImageModeling"]}, "ViTForMaskedImageModeling; those that can"),
    ("vit", {"architectures": 5}, "expected a list of names"),
    ("vit", {"model_type": ["vit"]}, "is of model_type"),
    ("vit", {"problem_type": "multi_label_classification"}, "several labels at once"),
    ("dinov2", {"use_swiglu_ffn": True}, "use_swiglu_ffn = True"),
    ("dinov2", {"mlp_ratio": HUGE}, "mlp_ratio = 1000000000000 .* that fit the weights"),
    ("dinov2", {"mlp_ratio": "x"}, "mlp_ratio = 'x'"),
    ("dinov2", {"layerscale_value": -1}, "layerscale_value = -1"),
    ("dinov2_with_registers", {"num_register_tokens": HUGE}, "num_register_tokens = 1,000,000,000,000"),
    ("dinov2_with_registers", {"num_register_tokens": 0}, "unknown"),
]


@pytest.mark.parametrize(("family", "changes", "told"), WRONG)
def test_a_config_that_does_not_fit_the_weights_is_refused(
    family: str, changes: dict[str, Any], told: str, tmp_path: Path
) -> None:
    theirs(family, dict(reversed(CLASSIFIERS))[family], tmp_path / "theirs")
    path = tmp_path / "theirs" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(DataError, match=told):
        import_model(tmp_path / "theirs", tmp_path / "run", None, yes=False)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"size": {"height": HUGE, "width": HUGE}}, "only square ones, of at most 4096"),
        ({"size": {"height": 12, "width": 16}}, "of 12 × 16"),
        ({"size": "large"}, "the size 'large'"),
        ({"size": 12.0}, "the size 12.0"),
        ({"size": [12]}, r"the size \[12\]"),
        ({"size": {"height": -1, "width": -1}}, "expected whole numbers above 0"),
        ({"image_mean": [0.5]}, "for 3 channels"),
        ({"image_std": [0.5, 0.0, 0.5]}, "expected numbers above 0"),
        ({"image_mean": ["x", 0, 0]}, "where a number is expected"),
        ({"rescale_factor": 1.0}, "rescale_factor = 1.0"),
    ],
)
def test_a_preprocessor_that_cannot_be_is_refused(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    theirs("vit", "ViTForImageClassification", tmp_path / "theirs")
    preprocessor(tmp_path / "theirs", **changes)
    with pytest.raises(DataError, match=told):
        import_model(tmp_path / "theirs", tmp_path / "run", None, yes=False)
