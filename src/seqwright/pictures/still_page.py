"""The frame of an HTML file that needs no network, no script and no other file."""

import html

FRAME = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1 dir="auto">{title}</h1>
{body}
</body>
</html>
"""


def still_page(title: str, body: str, style: str) -> str:
    """A page of HTML that is ready, under a title that is plain text."""
    return FRAME.format(title=escaped(title), body=body, style=style)


def escaped(text: str) -> str:
    """Text as HTML; bytes that were never a character (a broken file name, say) become question marks."""
    return html.escape(text.encode("utf-8", "replace").decode("utf-8"))
