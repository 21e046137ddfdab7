"""How a text that somebody typed is cut into the words that a tagger knows."""

import re
from collections.abc import Callable
from typing import Literal

Split = Literal["punctuation", "python", "whitespace"]

MARKS = re.compile(
    r"https?://\S+|[@#]\w+"  # addresses, and names after @ and #
    r"|n't\b|['’](?:s|m|d|re|ve|ll)\b|\w+?(?=n't\b)"  # what English joins: do n't, it 's
    r"|\d+(?:[.,:/]\d+)+|\w+(?:[-.&]\w+)*"  # numbers and words with what is inside of them: 3.5, well-known, AT&T
    r"|\.\.+|[^\w\s]",  # marks
    re.IGNORECASE,
)
CODE = re.compile(
    r"(?P<nothing>\#.*|\\\n)"
    r"|(?P<string>(?:\b[rbfu]{1,2})?(?:'''[\s\S]*?'''|\"\"\"[\s\S]*?\"\"\"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"))"
    r"|(?:\d[\w.]*|\.\d\w*)(?:(?<=e)[-+]\d+)?|\w+"  # numbers and names
    r"|\*\*=?|//=?|<<=?|>>=?|->|\.\.\.|[-+*/%@&|^<>=!:]=|[^\w\s]",  # operators
    re.IGNORECASE,
)
STRING = '"…"'  # what stands for every string: what is in it plays no part


def cut_at_marks(text: str) -> list[str]:
    """Words and marks, much as treebanks have them: `It's fine.` is `It`, `'s`, `fine`, `.`."""
    return MARKS.findall(text)


def cut_as_code(text: str) -> list[str]:
    """The tokens of Python, without comments."""
    found = (match for match in CODE.finditer(text) if match["nothing"] is None)
    return [STRING if match["string"] else match.group() for match in found]


CUTS: dict[Split, Callable[[str], list[str]]] = {
    "punctuation": cut_at_marks,
    "python": cut_as_code,
    "whitespace": str.split,
}
