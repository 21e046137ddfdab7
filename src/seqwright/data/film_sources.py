"""Films in files: a folder of frames or a GIF for each, below a folder with the name of its label or named in a table.

T frames · N films
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, NoReturn, Protocol

from seqwright.data.decoded_films import ENDINGS, film_of_file, film_of_frames
from seqwright.data.decoded_images import Undecoded, UnreadableImageError
from seqwright.data.faults import RowError
from seqwright.data.files import content_hash, existing
from seqwright.data.films import NOWHERE, FilmExample, Place, UndecodedFilm
from seqwright.data.image_sources import named_like_an_image
from seqwright.data.image_stores import ImageFile, Store, content_of, is_store, store_of
from seqwright.data.labelled_tables import LABEL_WORDS
from seqwright.data.rows import Dialect
from seqwright.data.tables import FORMS, Column, Record, TableFile, Usual, find
from seqwright.errors import DataError, by_setting

FILM_WORDS = ("film", "path", "file", "filename", "video", "clip", "folder")
PLACE_WORDS = ("places", "track", "positions")
USUAL = {
    "film": Usual(FILM_WORDS, (0, 1)),
    "label": Usual(LABEL_WORDS, (1, 0), needed=False, text=False),
    "places": Usual(PLACE_WORDS, needed=False, text=False),
}
UNKNOWN = ("", "-", "?")
MOST_NAMED = 3  # files in a remark


class FoundFilm(NamedTuple):
    """An example, and what tells its film from others, for cutting parts."""

    example: FilmExample
    mark: Callable[[], str]


class FilmSource(Protocol):
    """Films of one file or folder."""

    location: Path

    def found(self) -> Iterator[FoundFilm]:
        """Every film with what is said of it, in a fixed order."""

    def fingerprint(self) -> str:
        """Changes with whatever decides the films."""

    def remarks(self) -> list[str]:
        """What the user should look at twice."""


# ------------------------------------------------------------------------------------------------------ one film


def film_of_members(members: Iterable[ImageFile], where: str) -> UndecodedFilm:
    """A film of a file each frame, in the order of their names, in which numbers count as such; or of a file alone."""
    files = sorted(members, key=lambda member: natural(member.path.name))
    if len(files) == 1 and files[0].path.name.lower().endswith(ENDINGS):
        return UndecodedFilm(lambda: film_of_file(files[0].content(), where), files[0].content)
    images = [Undecoded(member.content, f"{where}/{member.path.name}") for member in files]
    return UndecodedFilm(partial(film_of_frames, images, where), partial(_joined, files))


def _joined(files: Iterable[ImageFile]) -> bytes:
    return b"".join(file.content() for file in files)


def natural(name: str) -> list[tuple[int, int, str]]:
    """What names are sorted by: 2.png comes before 10.png."""
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.findall(r"\d+|\D+", name)]


def film_at(path: Path, name: str) -> FilmExample:
    """The film of a path: a folder of frames, or a file."""
    if path.is_dir():
        files = [each for each in store_of(path).members() if len(each.path.parts) == 1 and is_frame(each)]
        if not files:
            raise DataError(f"{name} has no frames, which are images: name another folder, or a GIF")
        return FilmExample(film_of_members(files, name), name=name)
    path = existing(str(path))
    content = partial(content_of, path)
    return FilmExample(UndecodedFilm(lambda: film_of_file(content(), name), content), name=name)


def films_below(path: Path) -> Iterator[FilmExample]:
    """Every film below a folder or in an archive, by its path there; a blank one is the folder itself."""
    films = _grouped(store_of(path))
    for name in sorted(films, key=natural):
        short = "" if name == "." else name
        yield FilmExample(film_of_members(films[name], str(path / short)), name=short)


def is_frame(member: ImageFile) -> bool:
    """Whether a file can be one."""
    return named_like_an_image(member.path.name)


def no_film(where: str, told: str, name: str = "") -> FilmExample:
    """An example that cannot be read, and why."""
    refuse = partial(_refuse, where, told)
    return FilmExample(UndecodedFilm(refuse, partial(str.encode, where)), name=name or where)


def _refuse(where: str, told: str) -> NoReturn:
    raise UnreadableImageError(f"{where} {told}: correct it", "not there")


def _grouped(store: Store) -> dict[str, list[ImageFile]]:
    """The frames of each film by its path: that of a folder of frames, or of a GIF that lies beside others.

    Images that lie beside each other are the frames of one film, unless they end in .gif.
    """
    found: dict[str, list[ImageFile]] = {}
    for member in store.members():
        if is_frame(member):
            alone = member.path.suffix.lower() == ".gif"
            found.setdefault((member.path if alone else member.path.parent).as_posix(), []).append(member)
    return found


def _mark(members: Iterable[ImageFile]) -> str:
    return ",".join(member.mark() for member in members)


# ------------------------------------------------------------------------------------------------------- folders


class LabelledFilmFolders:
    """The films of each label lie below a folder with its name: folders of frames, or GIFs."""

    def __init__(self, path: Path) -> None:
        self.path, self._store = path, store_of(path)
        self.location = self._store.location

    def found(self) -> Iterator[FoundFilm]:
        """Every film of every label, in the order of their paths."""
        films = _grouped(self._store)
        if not any(len(PurePosixPath(name).parts) == 2 for name in films):
            raise DataError(
                f"{self.path} has no films, expected a folder for each label, and in it for each film a folder of "
                "frames or a GIF"
            )
        for name in sorted(films, key=natural):
            parts = PurePosixPath(name).parts
            if len(parts) > 2:
                raise DataError(
                    f"{self.path / name} lies too deep, expected a folder for each label with films in it: perhaps "
                    f"'{(self.path / name).parent.parent}' was meant"
                )
            if len(parts) == 2:
                film = film_of_members(films[name], str(self.path / name))
                yield FoundFilm(FilmExample(film, parts[0], name=name), partial(_mark, films[name]))

    def fingerprint(self) -> str:
        """Of the folder, or of the archive."""
        return self._store.fingerprint()

    def remarks(self) -> list[str]:
        """What is passed over."""
        loose = [name for name in _grouped(self._store) if len(PurePosixPath(name).parts) < 2]
        others = [each.path.as_posix() for each in self._store.members() if not is_frame(each)]
        told = [(loose, "images of {} that lie in no film of a label, passed over")]
        told.append((others, "files of {} whose names are not those of images, passed over"))
        return [f"{what.format(self.path)}: {len(some):,} ({_some(some)})" for some, what in told if some]


# --------------------------------------------------------------------------------------------------------- tables


class FilmTable:
    """A table with the path of a film in each row, and its label or its places; paths are below the table's folder."""

    def __init__(self, path: Path, asked: dict[str, Column], films: str | None, dialect: Dialect) -> None:
        self.path, self.location, self.dialect = path, path, dialect
        self._asked = asked
        root = path.parent if films is None else path.parent / Path(films).expanduser()
        if not is_store(root):
            raise DataError(
                f"there is no folder or archive {root} with the films of {path}: "
                + by_setting("correct data.films, which is seen from the table's folder", "put it there")
            )
        self._store = store_of(root)

    @cached_property
    def _table(self) -> TableFile:
        """The label of a table without names is the second column, but not where there are places."""
        forms, otherwise = (".txt", *FORMS), ", a folder for each label, an archive of such folders or an .npz file"
        table = TableFile(self.path, {"film": USUAL["film"]}, {}, forms, otherwise, dialect=self.dialect)
        placed = self._asked["places"] is not None or find(None, PLACE_WORDS, table.names()) is not None
        usual = {**USUAL, "label": USUAL["label"]._replace(places=())} if placed else USUAL
        return replace(table, usual=usual, asked=self._asked)

    def found(self) -> Iterator[FoundFilm]:
        """The film of every row."""
        films = _grouped(self._store)
        return self._table.read(lambda record: self._found(record, films))

    def _found(self, record: Record, films: Mapping[str, list[ImageFile]]) -> FoundFilm:
        path = _path(record)
        if not path:
            return FoundFilm(no_film(record.where, "names no film"), str)
        label = record.values.get("label")
        said = "" if label is None else label.strip() if isinstance(label, str) else json.dumps(label)
        places = places_of(record.values.get("places"), record.where, record.line)
        members = self._members(path, films)
        if members:
            film = film_of_members(members, str(self._store.path / path))
            return FoundFilm(FilmExample(film, said, places, path), partial(_mark, members))
        told = f"names the film '{path}', which is not in {self._store.path}"
        if self.dialect.bad_rows == "refuse":
            skip = by_setting("correct it, say where the films lie with data.films, or set data.bad_rows=skip")
            raise RowError(f"{record.where} {told}: {skip}", record.line, "a film that is not there")
        return FoundFilm(no_film(record.where, told, path)._replace(label=said), partial(str, path))

    def _members(self, path: str, films: Mapping[str, list[ImageFile]]) -> list[ImageFile]:
        """The frames of a folder; or a file that is a film by itself, though others lie beside it."""
        name = PurePosixPath(path.replace("\\", "/")).as_posix()
        if name in films:
            return films[name]
        found = self._store.find(name)
        return [found] if found is not None and found.path.name.lower().endswith(ENDINGS) else []

    def fingerprint(self) -> str:
        """Of the table and of the films that it names."""
        films = _grouped(self._store)
        named = (self._members(path, films) for path in map(_path, self._table.records()) if path)
        seen = hashlib.sha256("\n".join(map(_mark, named)).encode()).hexdigest()
        return json.dumps([content_hash(self.path), seen, *map(str, self._table.asked.values())])

    def remarks(self) -> list[str]:
        """What the table leaves open."""
        return self._table.remarks()


def _path(record: Record) -> str:
    return str(record.values["film"] or "").strip().rstrip("/") if record.values else ""


def places_of(given: Any, where: object, line: int = 0) -> tuple[Place, ...]:
    """Places as a table has them, "3.5,1 - 4,1.5": x and y for each frame, a dash where it is not known; or a list."""
    if given is None or (isinstance(given, str) and not given.strip()):
        return ()
    try:
        if isinstance(given, str) and given.lstrip().startswith("["):  # as a table has it that a verb wrote
            given = json.loads(given)
        if isinstance(given, str):
            return tuple(NOWHERE if each in UNKNOWN else _place(each.split(",")) for each in given.split())
        return tuple(NOWHERE if each is None else _place(each) for each in given)
    except (TypeError, ValueError, RecursionError) as error:
        raise RowError(
            f"{where} has places that cannot be read ({error}): give x and y of each frame as in '3.5,1 4,1.5', a dash "
            "where it is not known",
            line,
            "places that cannot be read",
        ) from error


def _place(pair: Any) -> Place:
    x, y = (float(each) for each in pair)
    if abs(x) == float("inf") or abs(y) == float("inf"):
        raise ValueError("an infinite place")
    return x, y


def _some(names: list[str]) -> str:
    return ", ".join(names[:MOST_NAMED]) + (", …" if len(names) > MOST_NAMED else "")
