"""Tokenizers that other programs wrote: any tokenizer.json of the `tokenizers` library, used as it is.

How pieces become text again is the library's own affair, told by the file: "##" inside a word (WordPiece), "▁" for a
space (SentencePiece), or bytes in the guise of letters, "Ġ" for a space (GPT-2). Differs from the file: texts are
neither cut off nor filled up.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self, final

import numpy as np
import tokenizers

from seqwright.inputs.tokenizers import ROLES, Numbers, Piece, Tokenizer, in_one_line, kind_of
from seqwright.inputs.vocabularies import SPACE

UNFINISHED = "\ufffd"  # how bytes are shown that are no whole character


@final
class ForeignTokenizer(Tokenizer):
    """A vocabulary of another program; which of its special tokens begins and ends a text is told by their names."""

    def __init__(self, library: tokenizers.Tokenizer) -> None:
        library.no_truncation()
        library.no_padding()
        special = {token.content: n for n, token in library.get_added_tokens_decoder().items() if token.special}
        plain = json.loads(library.to_str())
        super().__init__(library, special, end=closing_token(plain["post_processor"]))
        self.kind = kind_of(library.model)
        one, two = (library.num_special_tokens_to_add(is_pair) for is_pair in (False, True))
        self.between = max(1, two - one)  # RoBERTa has two
        self._bytes = _bytes_as_letters() if _has(plain["pre_tokenizer"], "ByteLevel") else None
        self._as_written = {token.content for token in library.get_added_tokens_decoder().values()}
        self._spells_bytes = self._bytes is not None or bool(plain["model"].get("byte_fallback"))
        self._inside = plain["model"].get("continuing_subword_prefix") or ""
        self.opening = " " if self._bytes and not _has(plain["pre_tokenizer"], "ByteLevel", "add_prefix_space") else ""
        self._silent = {self.begin, self.end, self.pad}
        self._to_hide = [number for number in self.special.values() if number != self.unknown]

    @classmethod
    def checked(cls, library: tokenizers.Tokenizer) -> Self:
        """See `Tokenizer.checked`. A token that has a role, but was not called special, is."""
        declared = {token.content for token in library.get_added_tokens_decoder().values() if token.special}
        roles = {name for names in ROLES.values() for name in names if library.token_to_id(name) is not None}
        missing = sorted(roles - declared)
        if missing:
            library.add_special_tokens(
                [tokenizers.AddedToken(name, special=True, normalized=False) for name in missing]
            )
        return cls(library)

    def _numbers(self, ids: list[int]) -> Numbers:
        found = super()._numbers(ids)
        if self.unknown is not None and self.kind in ("words", "unigram"):
            # Their models know the special tokens as words like any other; the others can never put one together.
            found[np.isin(found, self._to_hide)] = self.unknown
        return found

    def decode(self, ids: Iterable[int]) -> str:
        """See `Tokenizer.decode`."""
        return self._library.decode([int(n) for n in ids if n not in self._silent], skip_special_tokens=False)

    def spellings(self) -> list[str]:
        """See `Tokenizer.spellings`."""
        seen: dict[str, None] = {}
        for number, piece in enumerate(self._pieces):
            spelled = self._shown([number]) if self._bytes is not None and piece not in self._as_written else piece
            plain = in_one_line(spelled)
            # Bytes that are no character, or a "▁" that stands for itself, would be the same as another token.
            seen[plain if UNFINISHED not in plain and plain not in seen else piece] = None
        return list(seen)

    def units(self, text: str) -> list[str]:
        """See `Tokenizer.units`."""
        normalised = self._normalised(text)
        if self._library.pre_tokenizer is None:
            return [normalised]
        return [normalised[slice(*place)] for _, place in self._library.pre_tokenizer.pre_tokenize_str(normalised)]

    def unknown_characters(self, texts: Iterable[str]) -> Counter[str]:
        """See `Tokenizer.unknown_characters`. Where tokens are bytes, none is unknown."""
        if self._spells_bytes:
            return Counter()
        known = set("".join(piece for piece in self._pieces if piece not in self.special))
        seen = Counter[str]()
        for text in texts:
            seen.update(self._normalised(text))
        return Counter({one: count for one, count in seen.items() if one not in known and not one.isspace()})

    def _spelled(self, ids: Sequence[int]) -> Iterator[Piece]:
        names = set(self.special.values())
        begun: list[int] = []  # the places of a character whose bytes are several tokens
        for place, number in enumerate(ids):
            if number in names:
                yield from self._given_up(ids, begun)
                yield Piece(self._pieces[number], [place], special=True)
                begun = []
                continue
            begun.append(place)
            text = self._shown([ids[each] for each in begun])
            if not text.endswith(UNFINISHED) or len(begun) > 3:  # no character has more than four bytes
                yield Piece(text, begun, special=False)
                begun = []
        yield from self._given_up(ids, begun)

    def _given_up(self, ids: Sequence[int], places: list[int]) -> Iterator[Piece]:
        """Bytes that never became a character."""
        if places:
            yield Piece(self._shown([ids[place] for place in places]), places, special=False)

    def _shown(self, ids: Sequence[int]) -> str:
        """The text that ordinary tokens add, with a "▁" for each space."""
        pieces = self.pieces(ids)
        if self._bytes is not None:
            spelled = b"".join(
                piece.encode() if piece in self._as_written else bytes(self._bytes[letter] for letter in piece)
                for piece in pieces
            )
            return spelled.decode("utf-8", "replace").replace(" ", SPACE)
        if self.kind in ("wordpiece", "words"):
            inside = self._inside
            return "".join(
                piece.removeprefix(inside) if inside and piece.startswith(inside) else SPACE + piece for piece in pieces
            )
        return "".join(pieces)

    def _normalised(self, text: str) -> str:
        return text if self._library.normalizer is None else self._library.normalizer.normalize_str(text)


def closing_token(step: Any) -> str | None:
    """The name of the token that a step of the library's JSON, or one of the steps in it, puts after a text."""
    match step:
        case {"type": "TemplateProcessing", "single": [*_, {"SpecialToken": {"id": str(name)}}]}:
            return name
        case {"type": "BertProcessing" | "RobertaProcessing", "sep": [str(name), _]}:
            return name
        case {"type": "Sequence", "processors": several}:
            return next((name for name in map(closing_token, reversed(several)) if name is not None), None)
        case _:
            return None


def _has(step: Any, kind: str, flag: str | None = None) -> bool:
    """Whether a step of the library's JSON is of a kind, and a flag of it is set; or one of the steps in it."""
    if step is None:
        return False
    inner = step.get("pretokenizers", ())
    return (step["type"] == kind and (flag is None or bool(step[flag]))) or any(_has(one, kind, flag) for one in inner)


def _bytes_as_letters() -> dict[str, int]:
    """Which byte each letter of a byte-level vocabulary stands for (Radford et al. 2019).

    Bytes that are printed in Latin-1 are themselves; the others are the letters from "Ā" on, in their order.
    """
    printed = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printed]
    return {chr(byte): byte for byte in printed} | {chr(256 + place): byte for place, byte in enumerate(others)}
