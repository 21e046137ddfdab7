"""The screenshots of the documentation: help in a terminal of 80 columns, and the notebook as a browser shows it.

`python docs/screenshots.py` makes them again, in docs/images. The notebook needs Chromium; without it that one stays.
"""

import html
import io
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image, ImageChops
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text
from typer.testing import CliRunner

from seqwright.cli.app import app

DOCS = Path(__file__).resolve().parent
IMAGES = DOCS / "images"
HELP = {"help": ("--help",), "train-help": ("train", "--help")}
COLUMNS = 80
CELLS = 9  # of the notebook: so many from its beginning fit a picture
WIDE, HIGH = 860, 3000  # pixels of the browser's window; what is empty below is cut off
SVG = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: {char_height}px;
  line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""
STYLE = """
body { font: 14px/1.5 "DejaVu Sans", sans-serif; margin: 24px; color: #1d2129; background: white; }
h1 { font-size: 24px; margin: 0 0 8px; } h2 { font-size: 18px; margin: 18px 0 6px; } p { margin: 4px 0 10px; }
pre { font: 13px/1.45 "DejaVu Sans Mono", monospace; margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
.cell { display: grid; grid-template-columns: 60px 1fr; column-gap: 10px; margin: 8px 0; }
.cell > span { font: 12px/1.7 "DejaVu Sans Mono", monospace; text-align: right; color: #5b6472; }
.code { background: #f6f7f9; border: 1px solid #d5dae1; border-radius: 3px; padding: 7px 9px; }
.out { padding: 4px 9px; } .out img { max-width: 100%; } code { background: #f1f3f5; padding: 0 3px; }
table { border-collapse: collapse; font-size: 13px; } td, th { padding: 2px 10px; text-align: right; }
tbody tr:nth-child(odd) { background: #f6f7f9; } progress { vertical-align: middle; }
"""


def help_picture(name: str, words: tuple[str, ...]) -> Path:
    """What a terminal shows of a help text."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text(f"$ seqwright {' '.join(words)}", style="bold green"))
    console.print(Text(help_text(words)), soft_wrap=True)
    target = IMAGES / f"{name}.svg"
    drawn = console.export_svg(title="seqwright", theme=MONOKAI, code_format=SVG, unique_id=name)
    target.write_text(drawn, encoding="utf-8")
    return target


def help_text(words: tuple[str, ...]) -> str:
    """What is printed."""
    typed = CliRunner().invoke(app, list(words), terminal_width=COLUMNS, prog_name="seqwright")
    return typed.output.rstrip()


def notebook_picture(notebook: Path, browser: str) -> Path:
    """The beginning of an executed notebook, as a browser shows it."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"][:CELLS]
    page = f"<!doctype html><meta charset='utf-8'><style>{STYLE}</style>{''.join(map(_cell, cells))}"
    target = IMAGES / "notebook.png"
    with tempfile.TemporaryDirectory() as folder:
        written, taken = Path(folder) / "page.html", Path(folder) / "taken.png"
        written.write_text(page, encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={WIDE},{HIGH}"]
        command = [browser, *options, f"--screenshot={taken}", written.as_uri()]
        subprocess.run(command, check=True, capture_output=True)
        picture = Image.open(taken).convert("RGB")
    drawn = ImageChops.difference(picture, Image.new("RGB", picture.size, "white")).getbbox()
    bottom = HIGH if drawn is None else min(HIGH, drawn[3] + 24)
    picture.crop((0, 0, WIDE, bottom)).quantize(128).save(target, optimize=True)
    return target


def _cell(cell: dict[str, Any]) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return _markdown(source)
    number = cell["execution_count"]
    outputs = "".join(f'<span></span><div class="out">{_output(each)}</div>' for each in cell["outputs"])
    code = f'<span>[{number}]:</span><pre class="code">{html.escape(source)}</pre>'
    return f'<div class="cell">{code}{outputs}</div>'


def _output(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "text/html" in data:
        return "".join(data["text/html"])
    if "image/png" in data:
        return f'<img src="data:image/png;base64,{"".join(data["image/png"])}">'
    return f"<pre>{html.escape(''.join(data.get('text/plain', output.get('text', ''))))}</pre>"


def _markdown(source: str) -> str:
    """Headings, paragraphs and code: what the notebook uses."""
    found = []
    for block in source.split("\n\n"):
        level = len(block) - len(block.lstrip("#"))
        text = html.escape(block.lstrip("# ").replace("\n", " "))
        pieces = text.split("`")
        text = "".join(f"<code>{each}</code>" if number % 2 else each for number, each in enumerate(pieces))
        found.append(f"<h{level}>{text}</h{level}>" if level else f"<p>{text}</p>")
    return "".join(found)


if __name__ == "__main__":
    for name, words in HELP.items():
        print(help_picture(name, words))
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    print(
        notebook_picture(DOCS / "notebooks" / "first-steps.ipynb", browser)
        if browser
        else "there is no Chromium: docs/images/notebook.png is as it was"
    )
