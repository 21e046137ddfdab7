"""How Sphinx builds these pages. The generated pages of the reference are written again before each build."""

import re
import sys
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))

from docstrings import as_written, is_noise
from reference_pages import write_pages

from seqwright import __version__

project = "Seqwright"
author = "The Seqwright authors"
project_copyright = "2026, The Seqwright authors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
smartquotes = False  # "5%" is what one types
default_role = "literal"  # `x` in a docstring is code

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
add_module_names = False

html_theme = "furo"
html_title = f"Seqwright {__version__}"
html_copy_source = False


def write_reference(app: Sphinx) -> None:
    write_pages(Path(app.srcdir) / "reference")


def with_results(app: Sphinx, docname: str, source: list[str]) -> None:
    """Let results/README.md, which lies outside of these pages, be the page `results`, and lead its links there."""
    if docname == "results":
        text = (
            (Path(app.srcdir).parent / "results" / "README.md").read_text(encoding="utf-8").replace("](../docs/", "](")
        )
        source[0] = re.sub(r"\[([^]]+)\]\(([a-z_]+\.(?:md|json))\)", r"\1 (`results/\2`)", text)
    else:
        source[0] = re.sub(r"\]\(\.\./((?:\.\./)?)results/README\.md", r"](\1results.md", source[0])


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", write_reference)
    app.connect("source-read", with_results)
    app.connect("autodoc-process-docstring", as_written)
    app.connect("autodoc-skip-member", is_noise)
