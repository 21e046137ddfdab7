"""The screenshots of the documentation show what a terminal shows today, and are small."""

import html
import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("name", ["help", "train-help"])
def test_the_picture_of_a_help_text_has_its_words(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("PIL", reason="Pillow is not installed")
    monkeypatch.setattr(sys, "path", [str(DOCS), *sys.path])
    import screenshots  # type: ignore[import-not-found,unused-ignore]

    drawn = (DOCS / "images" / f"{name}.svg").read_text(encoding="utf-8")
    texts = re.findall(r"<text [^>]*>([^<]*)</text>", drawn)
    words = " ".join(html.unescape(" ".join(texts)).split())
    told = " ".join(screenshots.help_text(screenshots.HELP[name]).split())
    assert told in words, "`python docs/screenshots.py` draws it again"
    assert re.search(r"https?://(?!www\.w3\.org)", drawn) is None


def test_the_screenshots_are_small() -> None:
    sizes = {name: (DOCS / "images" / name).stat().st_size for name in ("help.svg", "train-help.svg", "notebook.png")}
    assert max(sizes.values()) < 200_000
