"""Damage to files: a valid file and a source of chance give one that is damaged, or made to do harm.

Bytes are flipped, cut, doubled and put in; where a file has a form (JSON, TOML, gzip, zip, the header of safetensors),
values inside of it are exchanged as well, so that what is wrong lies behind the first check. The same chance gives the
same damage: `mutated(name, data, Random("labelled-csv 17"))`.
"""

import gzip
import io
import json
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import tomlkit

DIGITS = b"9" * 5000
DEEP = b"[" * 3000
STRANGE: tuple[bytes, ...] = (
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3", b"\xed\xa0\x80", b"\x1b[2J", b"\x85", b"\xe2\x80\xa8", b"\r"),
    *(b"\n", b"\n\n", b"\t", b",", b";", b'"', b"'", b"=", b"#", b":", b"@data\n", b"\\", b"\\ud800", b"[", b"}", b"-"),
    *(b"nan", b"-inf", b"1e999", b"-1", b"0", b"1e-320", b"99999999999999999999", b"9999-12-31", b"true", b"null"),
    *(DIGITS, DEEP, b'{"a":' * 3000, b"a" * 70_000, b"a," * 20_000, b"../../outside", b"/etc/passwd", b"x=1\n"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 3, 2**31, 2**63, 10**12, 10**30, -(10**30), 0.5, 1e308, float("inf"), float("nan")),
    *("", "x", "\0", "\x1b[31m", "../../outside", "/etc/passwd", "9" * 400, "5%", "100%", "find", "a b", "é"),
    *([], [0], [[]], ["x"], {}, {"x": 0}, {"": None}, [1, 2, 3], ["a", None]),
)
Mutate = Callable[[bytes, Random], bytes]


def mutated(name: str, data: bytes, rng: Random) -> bytes:
    """The content of a file after one to three kinds of damage."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        inside = _forms(name)
        mutate = rng.choice((*inside, *BYTES)) if not inside or rng.random() < 0.5 else rng.choice(inside)
        data = mutate(data, rng)
    return data


def _forms(name: str) -> tuple[Mutate, ...]:
    """What can be done inside a file that is called so."""
    match name.rpartition(".")[2]:
        case "json":
            return (_json,)
        case "jsonl":
            return (_json_line,)
        case "toml":
            return (_toml,)
        case "gz":
            return (_gzip(name.removesuffix(".gz")),)
        case "zip" | "xlsx":
            return (_zip,)
        case "safetensors":
            return (_header,)
        case _:
            return ()


# ------------------------------------------------------------------------------------------------ bytes


def _place(data: bytes, rng: Random) -> int:
    return rng.randrange(len(data) + 1)


def _slice(data: bytes, rng: Random) -> tuple[int, int]:
    low = _place(data, rng)
    return low, min(len(data), low + rng.choice((1, 2, 7, 30, 200)))


def _flip(data: bytes, rng: Random) -> bytes:
    if not data:
        return data
    place = rng.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]


def _truncate(data: bytes, rng: Random) -> bytes:
    return data[: _place(data, rng)]


def _insert(data: bytes, rng: Random) -> bytes:
    place = _place(data, rng)
    return data[:place] + rng.choice(STRANGE) + data[place:]


def _replace(data: bytes, rng: Random) -> bytes:
    low, high = _slice(data, rng)
    return data[:low] + rng.choice(STRANGE) + data[high:]


def _noise(data: bytes, rng: Random) -> bytes:
    low, high = _slice(data, rng)
    return data[:low] + rng.randbytes(rng.choice((1, 4, 20))) + data[high:]


def _duplicate(data: bytes, rng: Random) -> bytes:
    low, high = _slice(data, rng)
    return data[:high] + data[low:high] * rng.choice((1, 2, 100)) + data[high:]


def _delete(data: bytes, rng: Random) -> bytes:
    low, high = _slice(data, rng)
    return data[:low] + data[high:]


def _swap(data: bytes, rng: Random) -> bytes:
    lines = data.split(b"\n")
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def _widen(data: bytes, rng: Random) -> bytes:
    """UTF-16, as some programs save text."""
    return data.decode("utf-8", "replace").encode(rng.choice(("utf-16", "utf-16-le", "utf-32")))


def _number(data: bytes, rng: Random) -> bytes:
    """Another number in place of one."""
    places = [place for place, byte in enumerate(data) if 48 <= byte <= 57]
    if not places:
        return _insert(data, rng)
    low = high = rng.choice(places)
    while high < len(data) and 48 <= data[high] <= 57:
        high += 1
    return data[:low] + rng.choice((b"-1", b"0", b"1e999", b"nan", b"99999999999999999999", DIGITS)) + data[high:]


BYTES: tuple[Mutate, ...] = (
    *(_flip, _truncate, _insert, _replace, _noise, _duplicate, _delete, _swap, _number, _number),
    _widen,
)


# ------------------------------------------------------------------------------------------------ forms


def exchanged(plain: Any, rng: Random) -> Any:
    """A tree of plain values with another value, or nothing, at one of its places."""
    places = list(_places(plain, ()))
    if not places:
        return rng.choice(VALUES)
    *way, last = rng.choice(places)
    tree = json.loads(json.dumps(plain, default=str))
    inner = tree
    for key in way:
        inner = inner[key]
    if rng.random() < 0.2:
        del inner[last]
    else:
        inner[last] = rng.choice(VALUES)
    return tree


def _places(plain: Any, way: tuple[Any, ...]) -> Any:
    """The way to every value of a tree."""
    items = plain.items() if isinstance(plain, dict) else enumerate(plain) if isinstance(plain, list) else ()
    for key, value in items:
        yield (*way, key)
        yield from _places(value, (*way, key))


def _json(data: bytes, rng: Random) -> bytes:
    try:
        return json.dumps(exchanged(json.loads(data), rng)).encode()
    except (ValueError, RecursionError):
        return rng.choice(BYTES)(data, rng)


def _json_line(data: bytes, rng: Random) -> bytes:
    lines = data.split(b"\n")
    place = rng.randrange(len(lines))
    return b"\n".join([*lines[:place], _json(lines[place], rng), *lines[place + 1 :]])


def _toml(data: bytes, rng: Random) -> bytes:
    try:
        return tomlkit.dumps(_without_null(exchanged(tomllib.loads(data.decode()), rng))).encode()
    except (ValueError, TypeError, RecursionError):
        return rng.choice(BYTES)(data, rng)


def _without_null(plain: Any) -> Any:
    """TOML has no null, and tomlkit writes no number beyond what Python's floats are told by."""
    if isinstance(plain, dict):
        return {str(key): _without_null(value) for key, value in plain.items() if value is not None}
    if isinstance(plain, list):
        return [_without_null(value) for value in plain if value is not None]
    return plain


def _gzip(name: str) -> Mutate:
    def mutate(data: bytes, rng: Random) -> bytes:
        try:
            return gzip.compress(mutated(name, gzip.decompress(data), rng), 1, mtime=0)
        except (OSError, EOFError, zlib.error):
            return rng.choice(BYTES)(data, rng)

    return mutate


def _zip(data: bytes, rng: Random) -> bytes:
    """Damage to a file of an archive, or to its name."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        chosen = rng.choice(sorted(members))
        named = rng.choice((chosen, chosen, chosen, "../outside.csv", "/outside.csv", f"{chosen}x", "a/" * 40 + "b"))
        members = {named if name == chosen else name: content for name, content in members.items()}
        members[named] = mutated(named, members[named], rng)
        return archived(members)
    except Exception:  # what was damaged before may fail in any way, and is then damaged further
        return rng.choice(BYTES)(data, rng)


def archived(members: Mapping[str, bytes]) -> bytes:
    """A zip of these files, the same bytes whenever it is made: each is of 1980, as an archive has it by default."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return held.getvalue()


def _header(data: bytes, rng: Random) -> bytes:
    """Damage to what a safetensors file says of its tensors."""
    length = int.from_bytes(data[:8], "little")
    header = _json(data[8 : 8 + length], rng) if rng.random() < 0.8 else data[8 : 8 + length]
    said = len(header) if rng.random() < 0.9 else rng.choice((0, 2**20, 2**62, 2**64 - 1))
    return said.to_bytes(8, "little") + header + data[8 + length :]
