"""Models as ONNX files: encoders, and decoders as one step with its state, in a folder with a card that says how.

`read_onnx` opens such a folder again; what was damaged, or written in another form, is refused.
"""

import hashlib
import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from seqwright.errors import DataError, RunError, SettingError, brief
from seqwright.inputs.tokenizers import ROLES, Tokenizer
from seqwright.interchange.onnx_graphs import SIZES, STEP, Graph, graphs_of
from seqwright.interchange.onnx_tracing import TracedGraph, followable
from seqwright.interchange.tokenizer_files import write_tokenizer
from seqwright.interchange.weight_files import read_json, write_json
from seqwright.whole_file import LONGEST_NAME

CARD = "seqwright-onnx.json"
FORMAT = 1
OPSET = 20
ANY = 1 << 30  # tokens, where a model sets no limit
APART = 1 << 30  # bytes of weights from which they lie in a file beside the graph: one of ONNX holds 2 GiB at most
CLOSE = 1e-3  # largest difference, beside numbers of that size, between a graph and its model
PROVIDERS = ["CPUExecutionProvider"]
TYPES = {"FLOAT": "float32", "INT64": "int64", "BOOL": "bool"}


class Surroundings(NamedTuple):
    """The tokens that stand before a text that is read, between two of them, and behind the last."""

    before: list[int]
    between: list[int]
    behind: list[int]


class WrittenGraphs(NamedTuple):
    """The files of the graphs, and whether onnxruntime was there to check them."""

    files: list[str]
    checked: bool


class OnnxFolder(NamedTuple):
    """A folder of graphs and what its card says of them."""

    folder: Path
    card: dict[str, Any]

    def session(self, graph: str) -> Any:
        """A graph in onnxruntime, `session.run(None, {name: array, …})`; "encoder" or "decoder_step"."""
        if graph not in self.card["graphs"]:
            raise RunError(f"{self.folder} has no graph '{graph}', only {', '.join(self.card['graphs'])}: choose that")
        path = self.folder / self.card["graphs"][graph]["file"]
        runtime = onnxruntime_library()
        try:
            return runtime.InferenceSession(str(path), providers=PROVIDERS)
        except Exception as problem:  # the library raises exceptions of its own, which have no class in common
            raise RunError(
                f"onnxruntime {runtime.__version__} cannot load {path} ({brief(str(problem))}): install a newer one, "
                "or export the run again"
            ) from problem


def onnx_library() -> None:
    """Nothing where torch can write ONNX, or a sentence on how it can."""
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise SettingError(
            f"export to ONNX needs onnx and onnxscript ({error}): install them with `pip install 'seqwright[onnx]'`"
        ) from error


def onnxruntime_library() -> Any:
    """The library that computes with ONNX, or a sentence on how to have it."""
    try:
        import onnxruntime
    except ImportError as error:
        raise SettingError("onnxruntime is not installed: install it with `pip install onnxruntime`") from error
    return onnxruntime


# ------------------------------------------------------------------------------------------------ writing


def write_onnx(
    folder: Path,
    model: nn.Module,
    source: Tokenizer,
    target: Tokenizer,
    *,
    around: Surroundings,
    context: int | None,
    about: Mapping[str, Any],
) -> WrittenGraphs:
    """Write into a new folder the graphs of a model, its tokenizers and a card.

    Where onnxruntime is installed, each graph is asked once, with inputs of other sizes, and must say what the model
    says; `about` is what else the card tells.
    """
    onnx_library()
    graphs = graphs_of(model.cpu().eval())
    card: dict[str, Any] = {"format": FORMAT, "opset": OPSET, **about, "context": context}
    card |= {"tokenizer": "tokenizer.json", "target_tokenizer": "tokenizer.json", "around": around._asdict()}
    card |= {"marks": {role: getattr(target, role) for role in ROLES}, "never_written": target.unwritten()}
    twin = followable(model)
    card["graphs"] = {graph.name: _written(folder, graph, twin) for graph in graphs}
    checked = [_agrees(folder / f"{graph.name}.onnx", graph, model) for graph in graphs]
    writes = any(graph.name == STEP for graph in graphs)
    segments = any("segment" in graph.inputs for graph in graphs)
    write_tokenizer(source, folder, context=context or ANY, around=not writes, segments=segments)
    if target is not source:
        (folder / "target").mkdir()
        write_tokenizer(target, folder / "target", context=context or ANY, around=False, segments=False)
        card["target_tokenizer"] = "target/tokenizer.json"
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    card["files"] = {str(path.relative_to(folder)): _sha256(path) for path in files}
    write_json(folder / CARD, card)
    return WrittenGraphs([graph["file"] for graph in card["graphs"].values()], all(checked))


def _written(folder: Path, graph: Graph, twin: nn.Module) -> dict[str, Any]:
    """Write one graph of a model that torch can follow; what the card says of it."""
    name, examples, axes = f"{graph.name}.onnx", graph.examples(SIZES), graph.axes()
    program = _program(graph, twin)
    apart = sum(parameter.numel() * parameter.element_size() for parameter in twin.parameters()) > APART
    program.save(str(folder / name), external_data=apart)
    inputs: dict[str, dict[str, Any]] = {}
    for each, tensor, free in zip(graph.inputs, examples, axes, strict=True):
        shape = [free.get(axis, size) for axis, size in enumerate(tensor.shape)]
        inputs[each] = {"type": str(tensor.dtype).removeprefix("torch."), "shape": shape}
        inputs[each] |= {"first": graph.first[each]} if each in graph.first else {}
        inputs[each] |= {"after": graph.after[each]} if each in graph.after else {}
    outputs = {
        each: {"type": TYPES[value.dtype.name], "shape": [_size(size) for size in value.shape]}
        for each, value in zip(graph.outputs, program.model.graph.outputs, strict=True)
    }
    return {"file": name, "inputs": inputs, "outputs": outputs}


def _size(size: Any) -> int | str:
    return size if isinstance(size, int) else str(size.value)


@contextmanager
def _quietly() -> Iterator[None]:
    """Without warnings, and without what is logged that is none."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _program(graph: Graph, twin: nn.Module) -> Any:
    """A graph as torch's exporter makes it, which warns of much that is its own business."""
    with _quietly(), torch.enable_grad():
        try:
            return torch.onnx.export(
                TracedGraph(graph.computed(twin)),
                graph.examples(SIZES),
                input_names=graph.inputs,
                output_names=graph.outputs,
                dynamic_shapes=(tuple(graph.axes()),),
                opset_version=OPSET,
                dynamo=True,
                verbose=False,
            )
        except Exception as problem:  # of any kind: what a model computes is its own
            raise RunError(
                f"torch cannot make an ONNX graph of the {graph.name} of this {type(twin).__name__} "
                f"({brief(str(problem.__cause__ or problem), 200)}): use another format"
            ) from problem


def _agrees(path: Path, graph: Graph, model: nn.Module) -> bool:
    """Whether onnxruntime is there; what it computes of inputs of other sizes must be what the model computes."""
    try:
        runtime = onnxruntime_library()
    except SettingError:
        return False
    examples = graph.examples({name: 1 if name == "batch" else size + 1 for name, size in SIZES.items()})
    with torch.inference_mode():
        ours = graph.computed(model)(*examples)
    session = runtime.InferenceSession(str(path), providers=PROVIDERS)
    theirs = session.run(None, {name: each.numpy() for name, each in zip(graph.inputs, examples, strict=True)})
    for name, one, other in zip(graph.outputs, ours, theirs, strict=True):
        if one.shape != other.shape or not np.allclose(one.numpy(), other, rtol=CLOSE, atol=CLOSE):
            raise RunError(
                f"onnxruntime {runtime.__version__} computes other {name} with {path.name} than the model does, so "
                "that nothing is written: use another format, and report it"
            )
    return True


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ------------------------------------------------------------------------------------------------ reading


def read_onnx(folder: str | Path) -> OnnxFolder:
    """The folder that `export --to onnx` wrote; one of another form, or one with a changed file, is refused."""
    folder = Path(folder)
    where = folder / CARD
    if not where.is_file():
        raise DataError(f"{folder} has no {CARD}; expected a folder that `seqwright export RUN --to onnx` wrote")
    card = read_json(where)
    if card.get("format") != FORMAT:
        raise DataError(
            f"{where} is of format {brief(card.get('format'))}, and this version of Seqwright reads format {FORMAT}: "
            "export the run again"
        )
    files, graphs = card.get("files"), card.get("graphs")
    if not isinstance(files, dict) or not isinstance(graphs, dict):
        raise DataError(f"{where} lacks 'files' or 'graphs': export the run again")
    named = [graph.get("file") if isinstance(graph, dict) else graph for graph in graphs.values()]
    named += [card.get("tokenizer"), card.get("target_tokenizer")]
    if unknown := [name for name in named if name not in list(files)]:
        raise DataError(f"{where} names {brief(unknown[0])} and has no sha256 of it: export the run again")
    if outside := [name for name in files if not _is_below(name)]:
        raise DataError(f"{where} names {brief(outside[0])}, which is no file of that folder: export the run again")
    for name, sha256 in files.items():
        if not (folder / name).is_file():
            raise DataError(f"{folder / name} is missing, which {CARD} names: export the run again")
        if _sha256(folder / name) != sha256:
            raise DataError(f"{folder / name} was changed since {CARD} was written: export the run again")
    return OnnxFolder(folder, card)


def _is_below(name: str) -> bool:
    """Whether a name can be that of a file below the folder."""
    path = PurePath(name)
    plain = name.isascii() and name.isprintable() and len(name) <= LONGEST_NAME
    return plain and not path.is_absolute() and ".." not in path.parts
