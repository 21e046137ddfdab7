"""Every error a user can cause: one sentence that says what was found, where, and what to do.

The command line prints the sentence and exits with code 2; from Python they are ordinary exceptions.
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

# An option, and its value where a path follows or one of the words that are values.
OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*)(?: (\S*/\S*|(?:thought|first|mean|source|target|plain|float32)\b))?")

LINE_BREAK = re.compile(r"\s*\n\s*")
# How libraries say that there is no memory: torch on CPU and GPU, NumPy, the loader of programs, Python, tokenizers.
OUT_OF_MEMORY = (
    *("can't allocate memory", "out of memory", "Unable to allocate", "failed to map segment", "bad_alloc"),
    *("Cannot allocate memory", "can't start new thread", "ThreadPoolBuildError"),
)
NO_HOME = "Could not determine home directory"


class UserError(Exception):
    """What the user gave cannot be used; the message says why and what to do, on one line whatever it quotes."""

    def __init__(self, sentence: str = "") -> None:
        super().__init__(LINE_BREAK.sub(" ", sentence))


class DataError(UserError):
    """A data file is missing, damaged or of another form than expected."""


class MissingFileError(DataError):
    """A data file is not where it was looked for."""


class SettingError(UserError):
    """A setting is unknown, mistyped or contradicts another."""


class ArgumentError(SettingError, TypeError):
    """An argument of a function is missing, unknown or of another type than it takes."""


class RunError(UserError):
    """A run folder is missing, damaged, locked, or does not fit what is asked of it."""


class DivergedError(UserError):
    """The loss or its gradient is not a number: with these settings training leads nowhere."""


class DownloadError(UserError):
    """A dataset could not be fetched whole and unchanged."""


def scarcity(error: BaseException) -> str | None:
    """A sentence where an error says that memory, threads or a home folder are lacking, by whatever library."""
    told = str(error)
    if isinstance(error, MemoryError) or any(word in told for word in OUT_OF_MEMORY):
        size = re.search(r"tried to allocate (\d+) bytes", told)
        of = f" for {int(size[1]):,} bytes at once" if size else ""
        return f"memory ran out{of}; raise its limit or use less: smaller batches (training.tokens) or a smaller model"
    if isinstance(error, RuntimeError) and told.startswith(NO_HOME):
        return "the home folder is not known; set HOME, or write paths out in place of ~"
    return None


_options = ContextVar("options", default=True)


@contextmanager
def in_python() -> Iterator[None]:
    """Inside, an error names arguments of Python, `run=…` and `fresh=True`, where the command line has options."""
    before = _options.set(False)
    try:
        yield
    except UserError as error:
        pieces = str(error).split("`")  # between two of them stands a command, which stays one
        told = "`".join(each if number % 2 else OPTION.sub(_argument, each) for number, each in enumerate(pieces))
        if told == str(error):
            raise
        raise type(error)(told) from error
    finally:
        _options.reset(before)


def by_option(advice: str, otherwise: str) -> str:
    """What to do by an option of the command line; in Python, where no argument has its name, otherwise."""
    return advice if _options.get() else otherwise


def _argument(option: re.Match[str]) -> str:
    name = option[1].replace("-", "_")
    value = "…" if option[2] is None else repr(option[2])
    return "fresh=True" if name == "fresh" else f"{name}={value}"


_settable = ContextVar("settable", default=True)


@contextmanager
def without_settings() -> Iterator[None]:
    """Inside, sentences advise no settings: a verb that uses a run reads files, but how it does cannot be set there."""
    before = _settable.set(False)
    try:
        yield
    finally:
        _settable.reset(before)


def by_setting(advice: str, otherwise: str = "") -> str:
    """What to do by a setting; or else, where none can be set, without one."""
    return advice if _settable.get() else otherwise


def brief(value: object, most: int = 60) -> str:
    """Any value as Python writes it, in one line that is not too long."""
    whole = " ".join(repr(value).split())
    return whole if len(whole) <= most else f"{whole[: most - 1]}…"


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like `word`, if any is."""
    import difflib

    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return close[0] if close else None


def nearest(word: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?` for the known word nearest to `word`, or nothing."""
    close = closest(word, known)
    return f" Did you mean '{close}'?" if close else ""


def run_instead(folder: Path) -> str:
    """`. Did you mean 'runs/mine'?` where a run has nearly that name, otherwise what makes one: ends a sentence."""
    beside = [path for parent in (folder.parent, Path("runs")) for path in parent.glob("*")]
    runs = {path.name: path for path in beside if (path / "resolved.toml").is_file()}
    if close := closest(folder.name.removesuffix(".toml"), runs):
        return f". Did you mean '{runs[close]}'?"
    if folder.suffix == ".toml":
        return f"; train it first: {shlex.join(['seqwright', 'train', str(folder)])}"
    return "; `seqwright train` or `import` makes one"


def instead(word: str, known: Iterable[str]) -> str:
    """`. Did you mean 'x'?` where a known word is near, otherwise `; there are x, y`: the end of a sentence."""
    words = list(known)
    there_are = "there is" if len(words) == 1 else "there are"
    return f".{near}" if (near := nearest(word, words)) else f"; {there_are} {', '.join(words)}"
