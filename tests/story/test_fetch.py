"""Downloading a dataset from a real server on this machine, with everything that goes wrong on the way."""

import hashlib
import os
import random
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from filelock import FileLock

from seqwright.data import fetch as fetching
from seqwright.data.cards import Card, CardFile, cards, provided
from seqwright.data.fetch import Fetched, fetch
from seqwright.errors import DownloadError

CONTENT = random.Random(5).randbytes(300_007)  # longer than several reads
SHARED = Path(__file__).parents[3] / "shared" / "data"


@dataclass
class Host:
    """What the server has, how it misbehaves, and what it was asked for."""

    content: bytes = CONTENT
    ranges: bool = True  # it can send the rest of a file
    tells_length: bool = True
    breaks_after: int | None = None  # bytes, then the connection closes
    stalls: threading.Event | None = None  # after the break it holds the connection open until this is set
    moved: dict[str, str] = field(default_factory=dict)  # where a path redirects to
    asked: list[str | None] = field(default_factory=list)  # the Range header of every request
    address: str = ""


class Handler(BaseHTTPRequestHandler):
    host: Host

    def do_GET(self) -> None:
        asked = self.headers["Range"]
        self.host.asked.append(asked)
        if self.path in self.host.moved:
            self.send_response(302)
            self.send_header("Location", self.host.moved[self.path])
            self.end_headers()
        elif self.path == "/train.de.gz":
            self.send_file(int(asked.removeprefix("bytes=").removesuffix("-")) if asked and self.host.ranges else 0)
        else:
            self.send_error(404)

    def send_file(self, start: int) -> None:
        content = self.host.content
        if start >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if self.host.tells_length:
            self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.wfile.write(content[start:][: self.host.breaks_after])
        if self.host.stalls:
            self.wfile.flush()
            self.host.stalls.wait(20)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def host() -> Iterator[Host]:
    known = Host()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("HostHandler", (Handler,), {"host": known}))
    known.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield known
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for downloads, no data of the user's own, and no proxy between this machine and itself."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.delenv("SEQWRIGHT_DATA", raising=False)
    return tmp_path / "downloads"


def card_of(address: str, content: bytes = CONTENT, name: str = "train.de.gz") -> Card:
    file = CardFile(name, f"{address}/{name}", hashlib.sha256(content).hexdigest(), len(content))
    return Card("toy", "pairs", "A toy", "pairs", files=(file,))


def failure(card: Card, folder: Path) -> str:
    with pytest.raises(DownloadError) as told:
        fetch(card, folder)
    assert "\n" not in str(told.value)
    return str(told.value)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock")


# What goes well


def test_a_whole_download_arrives_unchanged_and_tells_its_progress(host: Host, folder: Path) -> None:
    heard: list[tuple[str, int, int]] = []
    card = card_of(host.address)
    fetched = fetch(card, folder, progress=lambda *progress: heard.append(progress))
    assert fetched == [Fetched(card.files[0], folder / "train.de.gz", downloaded=True)]
    assert (folder / "train.de.gz").read_bytes() == CONTENT
    assert names(folder) == ["train.de.gz"]
    assert host.asked == [None]
    assert heard[-1] == ("train.de.gz", len(CONTENT), len(CONTENT))
    assert [done for _, done, _ in heard] == sorted(done for _, done, _ in heard)
    assert len(heard) > 3


def test_what_is_here_already_is_not_asked_for_again(host: Host, folder: Path) -> None:
    fetch(card_of(host.address), folder)
    again = fetch(card_of(host.address), folder)
    assert [file.downloaded for file in again] == [False]
    assert host.asked == [None]


def test_a_damaged_download_of_an_earlier_day_is_replaced(host: Host, folder: Path) -> None:
    folder.mkdir()
    (folder / "train.de.gz").write_bytes(CONTENT[:-1] + b"?")
    assert fetch(card_of(host.address), folder)[0].downloaded
    assert (folder / "train.de.gz").read_bytes() == CONTENT


@pytest.mark.parametrize("tells_length", [True, False])
def test_a_download_that_broke_off_goes_on_where_it_stopped(host: Host, folder: Path, tells_length: bool) -> None:
    host.breaks_after, host.tells_length = 100_003, tells_length
    said = failure(card_of(host.address), folder)
    assert "broke off after 100,003 of 300,007 bytes" in said
    assert "run the same command again" in said
    assert names(folder) == ["train.de.gz.part"]
    said = failure(card_of(host.address), folder)
    assert "broke off after 200,006 of 300,007 bytes" in said
    fetch(card_of(host.address), folder)
    assert (folder / "train.de.gz").read_bytes() == CONTENT
    assert names(folder) == ["train.de.gz"]
    assert host.asked == [None, "bytes=100003-", "bytes=200006-"]


def test_a_connection_that_falls_silent_counts_as_broken(
    host: Host, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "PATIENCE", 0.2)
    host.breaks_after, host.stalls = 100_003, threading.Event()
    try:
        assert "broke off after 100,003 of 300,007 bytes" in failure(card_of(host.address), folder)
    finally:
        host.stalls.set()
    assert (folder / "train.de.gz.part").stat().st_size == 100_003


def test_a_server_that_cannot_send_the_rest_is_asked_for_the_whole(host: Host, folder: Path) -> None:
    host.breaks_after = 100_003
    failure(card_of(host.address), folder)
    host.breaks_after, host.ranges = None, False
    fetch(card_of(host.address), folder)
    assert (folder / "train.de.gz").read_bytes() == CONTENT
    assert host.asked == [None, "bytes=100003-"]


def test_a_complete_part_is_checked_without_asking(host: Host, folder: Path) -> None:
    folder.mkdir()
    (folder / "train.de.gz.part").write_bytes(CONTENT)
    fetch(card_of(host.address), folder)
    assert (folder / "train.de.gz").read_bytes() == CONTENT
    assert host.asked == []


def test_a_part_longer_than_the_file_is_thrown_away(host: Host, folder: Path) -> None:
    folder.mkdir()
    (folder / "train.de.gz.part").write_bytes(CONTENT + b"?")
    fetch(card_of(host.address), folder)
    assert (folder / "train.de.gz").read_bytes() == CONTENT
    assert host.asked == [None]


def test_a_redirection_on_the_web_is_followed(host: Host, folder: Path) -> None:
    host.moved["/old.de.gz"] = f"{host.address}/train.de.gz"
    fetch(card_of(host.address, name="old.de.gz"), folder)
    assert (folder / "old.de.gz").read_bytes() == CONTENT


# The user's own data


def test_what_the_user_has_is_not_asked_for(
    host: Host, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own" / "toy" / "train.de.gz"
    own.parent.mkdir(parents=True)
    own.write_bytes(CONTENT)
    monkeypatch.setenv("SEQWRIGHT_DATA", str(tmp_path / "own"))
    card = card_of(host.address)
    assert fetch(card, folder) == [Fetched(card.files[0], own, downloaded=False)]
    assert host.asked == []
    assert not folder.exists()


def test_another_edition_in_the_users_data_is_told_and_left_alone(
    host: Host, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own" / "toy" / "train.de.gz"
    own.parent.mkdir(parents=True)
    own.write_bytes(b"another edition")
    monkeypatch.setenv("SEQWRIGHT_DATA", str(tmp_path / "own"))
    said = failure(card_of(host.address), folder)
    assert str(own) in said
    assert hashlib.sha256(b"another edition").hexdigest() in said
    assert own.read_bytes() == b"another edition"
    assert host.asked == []


@pytest.mark.skipif(not SHARED.is_dir(), reason="the real data is not in ../shared/data")
def test_the_real_files_are_found_and_hold_what_their_card_says(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQWRIGHT_DATA", str(SHARED))
    here = [each for each in cards().values() if all(file.address or provided(each, file) for file in each.files)]
    assert {"digits", "cifar10-small", "sst2"} <= {each.name for each in here}
    for card in here:
        assert not any(file.downloaded for file in fetch(card, folder))


# What goes wrong


def test_a_wrong_checksum_is_told_with_both_and_the_next_try_starts_afresh(host: Host, folder: Path) -> None:
    host.content = CONTENT[:-1] + b"?"
    said = failure(card_of(host.address), folder)
    assert hashlib.sha256(CONTENT).hexdigest() in said
    assert hashlib.sha256(host.content).hexdigest() in said
    assert names(folder) == []
    host.content = CONTENT
    fetch(card_of(host.address), folder)
    assert (folder / "train.de.gz").read_bytes() == CONTENT
    assert host.asked == [None, None]


def test_a_file_that_changed_between_two_tries_is_noticed(host: Host, folder: Path) -> None:
    host.breaks_after = 100_003
    failure(card_of(host.address), folder)
    host.breaks_after, host.content = None, random.Random(7).randbytes(len(CONTENT))
    mixed = CONTENT[:100_003] + host.content[100_003:]
    assert hashlib.sha256(mixed).hexdigest() in failure(card_of(host.address), folder)
    assert names(folder) == []


@pytest.mark.parametrize("change", [-7, 7])
def test_a_file_of_another_length_is_refused_before_it_is_downloaded(host: Host, folder: Path, change: int) -> None:
    host.content = random.Random(5).randbytes(len(CONTENT) + change)
    heard: list[int] = []
    with pytest.raises(DownloadError, match=rf"sends {len(CONTENT) + change:,} bytes, expected 300,007"):
        fetch(card_of(host.address), folder, progress=lambda path, done, size: heard.append(done))
    assert heard == []
    assert names(folder) == []


def test_a_file_that_does_not_end_is_stopped(host: Host, folder: Path) -> None:
    host.content, host.tells_length = CONTENT * 10, False
    said = failure(card_of(host.address), folder)
    assert "expected 300,007" in said
    assert f"{len(host.content):,}" not in said  # it was not read to its end
    assert names(folder) == []


def test_a_part_beyond_the_end_of_a_shrunken_file_is_thrown_away(host: Host, folder: Path) -> None:
    host.breaks_after = 100_003
    failure(card_of(host.address), folder)
    host.breaks_after, host.content = None, CONTENT[:50_021]
    assert "sends 50,021 bytes, expected 300,007" in failure(card_of(host.address), folder)
    assert host.asked == [None, "bytes=100003-", None]
    assert names(folder) == []


def test_a_missing_file_is_told(host: Host, folder: Path) -> None:
    said = failure(card_of(host.address, name="train.fr.gz"), folder)
    assert "404" in said
    assert f"{host.address}/train.fr.gz" in said
    assert names(folder) == []


def test_a_refused_connection_is_told(folder: Path) -> None:
    with socket.socket() as taken:  # a port that is bound but not listened to refuses
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        said = failure(card_of(address), folder)
    assert address in said
    assert "refused" in said


@pytest.mark.parametrize("address", ["file:///etc", "ftp://127.0.0.1", "data:,x", "train"])
def test_an_address_outside_the_web_is_refused(folder: Path, address: str) -> None:
    assert "is refused, expected one that begins with https://" in failure(card_of(address), folder)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("address", "said"),
    [("file:///etc/hostname", "Redirection to url 'file:///etc/hostname' is not allowed"), ("ftp://x/y", "type: ftp")],
)
def test_a_redirection_out_of_the_web_is_not_followed(host: Host, folder: Path, address: str, said: str) -> None:
    host.moved["/train.de.gz"] = address
    assert said in failure(card_of(host.address), folder)
    assert host.asked == [None]
    assert names(folder) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full to stand for a full disk")
def test_a_full_disk_is_told(host: Host, folder: Path) -> None:
    folder.mkdir()
    (folder / "train.de.gz.part").symlink_to("/dev/full")
    said = failure(card_of(host.address), folder)
    assert f"the disk of {folder} is full" in said
    assert "300,007 bytes" in said


def test_a_folder_that_cannot_be_made_is_told(host: Host, folder: Path) -> None:
    folder.write_text("a file where the folder should be")
    said = failure(card_of(host.address), folder)
    assert "train.de.gz cannot be written into" in said
    assert host.asked == []


def test_a_second_download_into_the_same_folder_is_refused(host: Host, folder: Path) -> None:
    folder.mkdir()
    with FileLock(folder / ".lock"):
        assert "another process is downloading" in failure(card_of(host.address), folder)
    assert host.asked == []
