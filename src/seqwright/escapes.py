"""Text from data and names, made harmless: a terminal obeys control characters, Markdown and HTML obey marks."""

import re

# All but tab and line feed; marks that turn the direction of what follows; halves of characters, which none can write.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_MARKS = re.compile(r"[\\`*_\[\]<&]")
_LEADING = re.compile(r"^(\d*)([#>+\-=~|.)])")


def visible(text: str) -> str:
    r"""Text with its control characters spelled out, `\x1b` in place of the escape that begins a command."""
    return CONTROL.sub(lambda found: _spelled(ord(found[0])), text)


def _spelled(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x20 else f"\\u{code:04x}"  # the latter as JSON has it too


def markdown_text(text: str) -> str:
    """Text as it stands, inside a line of Markdown: no emphasis, code, link or HTML in it is one."""
    return _MARKS.sub(r"\\\g<0>", visible(" ".join(text.split())))


def markdown_paragraph(text: str) -> str:
    """The same at the beginning of a line, where more marks mean something: `#`, `-`, `1.`."""
    return _LEADING.sub(r"\1\\\2", markdown_text(text))


def markdown_cell(text: str) -> str:
    """The same in a cell of a table."""
    return markdown_text(text).replace("|", r"\|")


def markdown_code(text: str) -> str:
    """Text as code in a line of Markdown, whatever backticks it has."""
    plain = visible(" ".join(text.split("\n")))
    fence = "`" * (1 + max(map(len, re.findall("`+", plain)), default=0))
    space = " " if "`" in plain[:1] + plain[-1:] else ""
    return f"{fence}{space}{plain}{space}{fence}"
