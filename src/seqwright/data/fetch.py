"""Fetching the files of a dataset card: resumable, checked against the card's sha256, whole or not at all."""

import errno
import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from filelock import FileLock, Timeout

from seqwright import __version__
from seqwright.data.cards import Card, CardFile, located, provided
from seqwright.data.files import content_hash
from seqwright.errors import DownloadError

Progress = Callable[[str, int, int], None]  # the file's path, the bytes that are here, the bytes in all

PATIENCE = 30.0  # seconds without a single byte after which a connection counts as broken
_PIECE = 1 << 16  # bytes read at a time


class Fetched(NamedTuple):
    """A file of a card and where it lies now."""

    file: CardFile
    path: Path
    downloaded: bool  # False where an unchanged copy was there already


def fetch(card: Card, folder: Path, *, progress: Progress = lambda path, here, size: None) -> list[Fetched]:
    """Bring every file of a card onto this machine, into `folder` unless `$SEQWRIGHT_DATA` has it.

    What is here already and unchanged is not downloaded again; what broke off half-way resumes where it stopped.
    """
    return [_fetched(card, file, folder, progress) for file in card.files]


def require_addresses(card: Card) -> None:
    """Refuse to download what is published nowhere in the form that the card describes."""
    if not card.files:
        raise DownloadError(f"{card.name} has no files to download: its examples are made while they are read")
    for file in card.files:
        if not file.address and located(card, file) is None:
            raise DownloadError(
                f"{file.path} of {card.name} cannot be downloaded: no address is known for it; "
                + (card.obtain or f"put a copy with the sha256 {file.sha256} into $SEQWRIGHT_DATA/{card.home}")
            )


def _fetched(card: Card, file: CardFile, folder: Path, progress: Progress) -> Fetched:
    own = provided(card, file)
    if own is not None and content_hash(own) != file.sha256:
        raise DownloadError(
            f"{own} has the sha256 {content_hash(own)}, expected {file.sha256}: "
            "it is another edition or damaged, so replace it or move it out of $SEQWRIGHT_DATA"
        )
    path = own or folder / file.path
    here = own is not None or (path.is_file() and content_hash(path) == file.sha256)
    if not here:
        _download(file, path, progress)
    progress(file.path, file.size, file.size)
    return Fetched(file, path, downloaded=not here)


def _download(file: CardFile, path: Path, progress: Progress) -> None:
    """Download into a `.part` file beside `path`; it takes that name once it is whole and its sha256 is right."""
    if urlsplit(file.address).scheme not in ("http", "https"):
        raise DownloadError(f"the address {file.address} is refused, expected one that begins with https:// or http://")
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_name(".lock"), timeout=0):  # two writers would interleave their bytes in one `.part`
            found = _received(file, part, progress)
            if found != file.sha256:
                part.unlink()
                raise DownloadError(
                    f"{file.address} has the sha256 {found}, expected {file.sha256}: it was damaged on the way or has "
                    "changed since the card was written; the download is removed, the next try starts afresh"
                )
            part.replace(path)
    except Timeout as error:
        raise DownloadError(f"another process is downloading into {path.parent}: wait until it is done") from error
    except OSError as error:
        raise DownloadError(_disk_trouble(error, file, path.parent)) from error


def _received(file: CardFile, part: Path, progress: Progress) -> str:
    """Complete `part` from the network, from where an earlier try stopped, and give the sha256 of the whole."""
    here = part.stat().st_size if part.exists() else 0
    if here == file.size:
        return _begun(part).hexdigest()
    with _answer(file.address, here if here < file.size else 0) as response:
        if response.status != http.HTTPStatus.PARTIAL_CONTENT:
            here = 0  # the server sends the whole file, whatever it was asked for
        _require_size(file, part, None if response.length is None else here + response.length)
        digest = _begun(part) if here else hashlib.sha256()
        with part.open("ab" if here else "wb") as out:
            for piece in _pieces(response):
                out.write(piece)
                digest.update(piece)
                here += len(piece)
                if here > file.size:
                    break
                progress(file.path, here, file.size)
            out.flush()
            os.fsync(out.fileno())
    if here < file.size:
        raise DownloadError(
            f"{file.address} broke off after {here:,} of {file.size:,} bytes: run the same command again to resume"
        )
    _require_size(file, part, here)
    return digest.hexdigest()


def _begun(part: Path) -> "hashlib._Hash":
    """The sha256 so far, to be continued."""
    with part.open("rb") as file:
        return hashlib.file_digest(file, "sha256")


def _require_size(file: CardFile, part: Path, found: int | None) -> None:
    """Refuse a file of another length before it is downloaded, if the server tells the length."""
    if found is not None and found != file.size:
        part.unlink(missing_ok=True)
        raise DownloadError(
            f"{file.address} sends {found:,} bytes, expected {file.size:,}: "
            "it has changed since the card was written, so the card's sha256 cannot hold"
        )


# The network


def _opener() -> urllib.request.OpenerDirector:
    """An opener without urllib's handlers for file:, ftp: and data:, which a redirection could otherwise reach."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _answer(address: str, start: int) -> http.client.HTTPResponse:
    """The server's answer to a request for the bytes from `start` on."""
    headers = {"User-Agent": f"seqwright/{__version__}", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    try:
        response = _opener().open(urllib.request.Request(address, headers=headers), timeout=PATIENCE)
    except urllib.error.HTTPError as error:
        error.close()
        if start and error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return _answer(address, 0)
        hint = "the file has moved" if error.code in (404, 410) else "try again later"
        raise DownloadError(f"the server answered {error.code} ({error.reason}) for {address}: {hint}") from error
    except (OSError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise DownloadError(f"no answer from {address} ({reason}): check the network and try again") from error
    assert isinstance(response, http.client.HTTPResponse)
    return response


def _pieces(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """What arrives, as it arrives, until the promised length or a break; the caller counts and sees which it was."""
    left = response.length
    while left is None or left > 0:
        try:
            piece = response.read1(_PIECE if left is None else min(left, _PIECE))
        except (OSError, http.client.HTTPException):
            return
        if not piece:
            return
        left = None if left is None else left - len(piece)
        yield piece


def _disk_trouble(error: OSError, file: CardFile, folder: Path) -> str:
    if error.errno == errno.ENOSPC:
        return (
            f"the disk of {folder} is full, expected room for the {file.size:,} bytes of {file.path}: "
            "make room and run the same command again to resume"
        )
    return f"{file.path} cannot be written into {folder} ({error.strerror}): check the folder and its permissions"
