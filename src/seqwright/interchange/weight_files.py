"""Tensors in files of other programs: safetensors, in one file or in several with an index."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from seqwright.data.files import require_small
from seqwright.errors import DataError
from seqwright.whole_file import write_whole

ONE, INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLES = {".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"}
ZIPPED, PROTOCOLS = b"PK\x03\x04", (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")  # how pickles begin
# Names that layers had when the first BERT was converted from TensorFlow; many checkpoints still have them.
OLD_NAMES = {".gamma": ".weight", ".beta": ".bias"}


def weight_files(folder: Path) -> list[Path]:
    """The files of a folder that hold its tensors."""
    if (folder / ONE).is_file():
        return [folder / ONE]
    if (folder / INDEX).is_file():
        named = read_json(folder / INDEX).get("weight_map")
        if not isinstance(named, dict) or not named:
            raise DataError(f"{folder / INDEX} has no 'weight_map', expected the file of each tensor: get it again")
        names = sorted({str(name) for name in named.values()})
        outside = [name for name in names if Path(name).name != name]
        if outside:
            raise DataError(
                f"{folder / INDEX} names {outside[0]!r}, which is not a file of that folder, so it is not read: get "
                "the folder again"
            )
        return [folder / name for name in names]
    for path in sorted(folder.iterdir()):
        refuse_pickle(path)
    others = sorted(path.name for path in folder.glob("*.safetensors"))
    also = f", but {', '.join(others)}: name the file instead" if others else ""
    raise DataError(f"{folder} has no {ONE} and no {INDEX}, expected the weights of a model there{also}")


def refuse_pickle(path: Path) -> None:
    """Say of what is called like a pickle why it is not read, and how it becomes a file that is."""
    if path.suffix.lower() in PICKLES and path.name != "training_args.bin":
        raise _pickled(path)


def _pickled(path: Path) -> DataError:
    # Opened here, since torch goes by the name of what it opens itself.
    tensors = f"{{k: v.clone() for k, v in torch.load(open('{path.name}', 'rb'), 'cpu', weights_only=True).items()}}"
    line = f"import torch, safetensors.torch as s; s.save_file({tensors}, '{ONE}')"
    return DataError(
        f"{path} is a pickle, which can run any program on whoever opens it, so it is not read; convert it in its "
        f'folder, which reads numbers only: python -c "{line}"'
    )


def _begins_like_a_pickle(path: Path) -> bool:
    """Whether a file begins as `torch.save` writes it, whatever it is called.

    A safetensors file has the length of its header first, which may be the same two bytes, but then a brace.
    """
    with path.open("rb") as file:
        head = file.read(9)
    return head.startswith(ZIPPED) or (head.startswith(PROTOCOLS) and not head.endswith(b"{"))


def read_tensors(files: list[Path]) -> dict[str, Tensor]:
    """The tensors of all files by their names, in full precision."""
    found: dict[str, Tensor] = {}
    for path in files:
        if not path.is_file():
            raise DataError(f"{path} is missing, though {INDEX} names it: get the folder again")
        try:
            tensors = load_file(path)
        except (SafetensorError, OSError, ValueError) as error:
            if _begins_like_a_pickle(path):
                raise _pickled(path) from error
            reason = str(error).removeprefix("Error while deserializing header: ")
            raise DataError(f"{path} is damaged or cut off ({reason}): get it again") from error
        for name, tensor in tensors.items():
            found[_as_today(name)] = tensor.float() if tensor.is_floating_point() else tensor
    return found


def _as_today(name: str) -> str:
    for old, new in OLD_NAMES.items():
        if name.endswith(old):
            return name.removesuffix(old) + new
    return name


def write_tensors(tensors: Mapping[str, Tensor], folder: Path) -> None:
    """One file, as `transformers` expects it."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    try:
        save_file(plain, folder / ONE, metadata={"format": "pt"})
    except SafetensorError as error:  # the library's name for a full disk too
        raise OSError(str(error)) from error


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file that holds an object."""
    require_small(path)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError(f"there is no {path}; expected the folder of a model as `transformers` writes it") from error
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read as JSON ({error}): get it again") from error
    except RecursionError as error:
        raise DataError(f"{path} is nested too deeply to be the file of a model: get it again") from error
    if not isinstance(found, dict):
        raise DataError(f"{path} holds no JSON object, but {type(found).__name__}: get it again")
    return found


def write_json(path: Path, plain: Mapping[str, Any]) -> None:
    """The same the other way."""
    write_whole(path, json.dumps(plain, ensure_ascii=False, indent=2) + "\n")
