"""What autodoc does not know about the docstrings of this project."""

from typing import Any


def literal_equations(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Set what stands indented, an equation or an example, as it is written."""
    written = lines.copy()
    lines.clear()
    inside = False
    for line, before in zip(written, ["", *written], strict=False):
        indented = line.startswith("    ")
        if indented and not inside and not before.strip():
            lines += ["::", ""]
        inside = indented or (inside and not line.strip())
        lines.append(line)


def is_noise(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the sentence that Python itself puts under each field of a named tuple."""
    return True if (getattr(thing, "__doc__", None) or "").startswith("Alias for field number") else None
