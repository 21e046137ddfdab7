"""A document as sentences: each line of it is one, or several where a `.`, `!` or `?` ends one within the line.

A mark ends a sentence where white space follows it, or a closing quote or bracket and then white space. The rule knows
no abbreviations: "Mr. Smith" is two sentences. What is cut so is good enough to ask whether one follows another; the
paper itself calls any span of text a sentence (Devlin et al. 2019, section 3).
"""

import re

ENDED = re.compile(r"([.!?…][\"'”’»)\]]*)\s+|(?<=[。！？])")


def sentences(document: str) -> list[str]:
    """The sentences of a document, without the white space around them; blank ones are none."""
    return [sentence for line in ENDED.sub(_ended, document).split("\n") if (sentence := line.strip())]


def _ended(found: re.Match[str]) -> str:
    return f"{found[1] or ''}\n"
