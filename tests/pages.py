"""What the pages of the project show, taken apart: commands, recipes, code, and what stands between backticks."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from seqwright.data.cards import READERS, cards
from seqwright.data.imported import ImportedSettings
from seqwright.kinds import KINDS

REPOSITORY = Path(__file__).resolve().parents[1]
HISTORY = {"LOG.md"}  # what was true then


class Shown(NamedTuple):
    """A command as a page shows it, where, and the line below it."""

    place: str
    words: list[str]
    below: str

    @property
    def refused(self) -> bool:
        """Whether the page shows that it is refused."""
        return self.below.startswith(f"seqwright {self.words[0]}: ")


def pages() -> list[Path]:
    """The pages that say how things are now."""
    docs = [path for path in (REPOSITORY / "docs").rglob("*.md") if "_build" not in path.parts]
    now = [path for path in docs if path.parent.name != "decisions" and path.name not in HISTORY]
    return [*(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "results/README.md")), *sorted(now)]


def fenced(text: str, language: str = "") -> list[str]:
    """The code blocks of a Markdown text in a language; without one, those that have none."""
    return re.findall(rf"^ *```{language}\n(.*?)^ *```", text, flags=re.MULTILINE | re.DOTALL)


def plain_blocks(text: str) -> list[str]:
    """The blocks that show a terminal."""
    return [block for language, block in re.findall(r"^ *```(\S*)\n(.*?)^ *```", text, re.M | re.S) if language in TEXT]


TEXT = {"", "text"}


def inline(text: str) -> list[str]:
    """What stands between backticks outside of blocks, lines joined."""
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
    return [" ".join(each.split()) for each in re.findall(r"`([^`]+)`", prose)]


def commands(path: Path) -> Iterator[Shown]:
    """The commands in the blocks of a page, without what is said about them behind two spaces."""
    for block in plain_blocks(path.read_text(encoding="utf-8")):
        lines = re.sub(r"\\\n\s*", "", block).splitlines()
        for line, below in zip(lines, [*lines[1:], ""], strict=True):
            typed = line.strip().removeprefix("$ ")
            if re.match(r"seqwright [a-z]+( |$)", typed):
                yield Shown(str(path.relative_to(REPOSITORY)), shlex.split(_typed(typed))[1:], below)


def _typed(line: str) -> str:
    """A line up to the first two spaces that no quotes hold, and up to what takes its output elsewhere."""
    found = re.match(r"(?:\"[^\"]*\"|'[^']*'|[^\"'\s]|\s(?!\s))+", line)
    return re.split(r" [|>&]", found[0] if found else line)[0]


def setting_names() -> dict[str, set[str]]:
    """Every setting that a section can have, whatever its kind."""
    data: list[Any] = [reader.settings for reader in READERS.values() if reader.thing]
    data += [card.settings for card in cards().values()] + [ImportedSettings]
    names = {"data": _fields(data)}
    for section, kinds in KINDS.items():
        names[section] = _fields([kind.load(kind.settings) for several in kinds.values() for kind in several])
    return names


def _fields(classes: list[type[BaseModel]]) -> set[str]:
    return {name for each in classes for name in each.model_fields}
