"""Text ↔ token numbers: characters, words, BPE, unigram and WordPiece over the `tokenizers` library.

Decoding what was encoded gives the text back to the last space. Every space becomes "▁" and one more "▁" is put before
the text. The text is cut into units: a word with the "▁" before it, a punctuation mark, a single digit, and where
tokens can be pieces also a mark with its "▁" and a run of spaces. Each unit is encoded on its own, and decoding puts
the pieces together again. Where tokens are characters, there are neither units nor a "▁" before the text; where they
are `spaced`, a unit is whatever stands between spaces.

A "<s>" that the user wrote is three units, "<", "s" and ">", and so never becomes the token "<s>".
"""

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self, final

import numpy as np
import tokenizers
from numpy.typing import NDArray
from tokenizers import Regex, models, normalizers, pre_tokenizers

from seqwright.errors import DataError, RunError
from seqwright.inputs.vocabularies import (
    BEGIN,
    CONTINUATION,
    END,
    FOREIGN,
    LONGEST,
    PAD,
    RESERVED,
    SPACE,
    UNKNOWN,
    Kind,
    TokenizerSettings,
    learnt_model,
)

__all__ = ["BEGIN", "END", "PAD", "UNKNOWN", "Kind", "Numbers", "Tokenizer", "TokenizerSettings"]

LETTERS = rf"▁?[^▁\s\p{{N}}\p{{P}}\p{{S}}]{{1,{LONGEST}}}"
WHOLE_UNITS = rf"{LETTERS}|[\s\S]"
# Only what can be spelled out of shorter pieces may also be a mark with its "▁", or a run of spaces.
SPELLED_UNITS = rf"▁{{1,{LONGEST}}}(?=▁)|▁?[\p{{P}}\p{{S}}&&[^▁]]|{WHOLE_UNITS}"
SPACED_UNITS = rf"▁?[^▁\s]{{1,{LONGEST}}}|[\s\S]"

Numbers = NDArray[np.unsignedinteger[Any]]


@final
class Tokenizer:
    """A trained vocabulary: text to token numbers and back. The numbers 0 to 3 are PAD, UNKNOWN, BEGIN and END."""

    def __init__(self, library: tokenizers.Tokenizer) -> None:
        self._library = library
        self._normaliser = library.normalizer
        self._splitter = library.pre_tokenizer
        numbered = library.get_vocab(with_added_tokens=False)
        self._pieces = sorted(numbered, key=lambda piece: numbered[piece])
        self.size = len(self._pieces)
        self.dtype = np.dtype(np.uint16 if self.size <= 1 << 16 else np.uint32)
        self.kind = _kind(library)
        self._texts = [self._text(number) for number in range(self.size)]

    @classmethod
    def train(cls, texts: Iterable[str], settings: TokenizerSettings) -> Self:
        """A tokenizer learnt from texts, which are read once; the same texts always give the same bytes."""
        blank = tokenizers.Tokenizer(models.WordLevel({}, unk_token=RESERVED[UNKNOWN]))
        blank.normalizer = _normaliser(settings)
        if settings.kind != "characters":
            blank.pre_tokenizer = _splitter(settings)
        unlearnt = cls(blank)
        units = Counter[str]()
        for text in texts:
            units.update(unlearnt.units(text))
        if not units:
            raise DataError("there is no text to train a tokenizer on: every line is empty; expected at least one word")
        blank.model = learnt_model(units, settings)
        return cls(blank)

    @classmethod
    def of_words(cls, words: Sequence[str]) -> Self:
        """A tokenizer of given words: one is whatever stands between white space, and the others are unknown.

        Words are as `spellings` has them: "▁<s>" is that which a text spells "<s>".
        """
        pieces = [*RESERVED, *(SPACE + word.removeprefix(SPACE) for word in words)]
        numbered = {piece: number for number, piece in enumerate(pieces)}
        library = tokenizers.Tokenizer(models.WordLevel(numbered, unk_token=RESERVED[UNKNOWN]))
        single = [normalizers.Replace(Regex("[ \t-\r]+"), " "), normalizers.Replace(Regex("^ | $"), "")]
        library.normalizer = normalizers.Sequence(
            [*single, _normaliser(TokenizerSettings(kind="words", normalise="none"))]
        )
        library.pre_tokenizer = pre_tokenizers.Split(Regex("▁[^▁]+"), "isolated")
        return cls(library)

    @classmethod
    def load(cls, path: Path) -> Self:
        """The tokenizer that `save` wrote."""
        if not path.is_file():
            raise RunError(f"{path} is missing; expected the tokenizer that training wrote: restore it from a copy")
        try:
            library = tokenizers.Tokenizer.from_str(path.read_text(encoding="utf-8"))
        except Exception as problem:  # the library raises bare exceptions
            raise RunError(f"{path} cannot be read as a tokenizer ({problem}); restore the file from a copy") from None
        found = library.get_vocab()
        ours = all(found.get(piece) == number for number, piece in enumerate(RESERVED))
        whole = library.normalizer is not None and sorted(found.values()) == list(range(len(found)))
        if not ours or not whole or library.get_added_tokens_decoder():
            raise RunError(
                f"{path} holds a tokenizer that Seqwright did not write: its first tokens must be"
                f" {' '.join(RESERVED)}, and none may be missing; restore the file from a copy"
            )
        return cls(library)

    def save(self, path: Path) -> None:
        """Write the library's JSON, which its other users can read too."""
        path.write_text(self.json(), encoding="utf-8", newline="\n")

    def json(self) -> str:
        """What `save` writes."""
        return self._library.to_str()

    def fingerprint(self) -> str:
        """A sha256 that is the same for two tokenizers that do the same."""
        return hashlib.sha256(self.json().encode()).hexdigest()

    def encode(self, texts: Sequence[str]) -> list[Numbers]:
        """The token numbers of each text, without BEGIN and END."""
        encodings = self._library.encode_batch_fast(texts, add_special_tokens=False)
        return [np.array(encoding.ids, dtype=self.dtype) for encoding in encodings]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of token numbers: PAD, BEGIN and END are left out, UNKNOWN is shown as "<unk>"."""
        joined = "".join([self._texts[number] for number in ids])
        if self.kind != "characters":
            joined = joined.removeprefix(SPACE)
        return joined.replace(SPACE, " ")

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The tokens as the vocabulary spells them."""
        return [self._pieces[number] for number in ids]

    def spellings(self) -> list[str]:
        """Every token for a file in which white space stands between words, each another.

        White space in a token is written as its bytes, a line feed as "<0x0A>", like in SentencePiece's vocabularies;
        a space is "▁" already. Where all tokens are whole words with that "▁" before them, it is left off, but for a
        word that would then be a reserved token, or nothing.
        """
        own = ["".join(map(_as_bytes, piece)) for piece in self._pieces[len(RESERVED) :]]
        if all(piece.startswith(SPACE) for piece in own):
            own = [piece if piece[1:] in {"", *RESERVED} else piece[1:] for piece in own]
        return [*RESERVED, *own]

    def words(self, ids: Iterable[int]) -> list[tuple[str, list[int]]]:
        """Whole words with the positions of their pieces; punctuation marks and reserved tokens stand alone."""
        items: list[tuple[str, list[int]]] = []
        joinable = False
        for position, number in enumerate(ids):
            reserved = number < len(RESERVED)
            text = RESERVED[number] if reserved else self._texts[number]
            if joinable and not reserved and _one_word(items[-1][0], text):
                before, positions = items[-1]
                items[-1] = before + text, [*positions, position]
            else:
                items.append((text, [position]))
            joinable = not reserved and self.kind != "characters"
        return [(text.lstrip(SPACE) or text, positions) for text, positions in items]

    def units(self, text: str) -> list[str]:
        """The stretches of a text that are encoded each on its own."""
        normalised = self._normaliser.normalize_str(text)
        if self._splitter is None:
            return list(normalised)
        return [unit for unit, _ in self._splitter.pre_tokenize_str(normalised)]

    def unknown_characters(self, texts: Iterable[str]) -> Counter[str]:
        """The characters that no token contains, with how often they occur.

        Where tokens are words, a word can be unknown although each of its characters occurs in others.
        """
        known = set("".join(self._texts[len(RESERVED) :])) | {SPACE}
        seen = Counter[str]()
        for text in texts:
            seen.update(self._normaliser.normalize_str(text))
        missing = {character: count for character, count in seen.items() if character not in known}
        return Counter({SPACE if character == FOREIGN else character: count for character, count in missing.items()})

    def _text(self, number: int) -> str:
        """What a token adds to the decoded text."""
        if number == UNKNOWN:
            # Where one unknown letter makes the whole word unknown, the space before it is lost as well.
            return SPACE + RESERVED[UNKNOWN] if self.kind in ("words", "wordpiece") else RESERVED[UNKNOWN]
        if number < len(RESERVED):
            return ""
        # A "##" in the text is two units, so that at the beginning of a piece it always is the mark.
        return self._pieces[number].removeprefix(CONTINUATION) if self.kind == "wordpiece" else self._pieces[number]


def _kind(library: tokenizers.Tokenizer) -> Kind:
    """Which of our kinds a tokenizer of the library is; its JSON has no room for the name."""
    match library.model:
        case models.Unigram():
            return "unigram"
        case models.WordPiece():
            return "wordpiece"
        case models.WordLevel():
            return "words"  # or "spaced", which differs only in the units that the library's splitter finds
        case _:
            return "characters" if library.pre_tokenizer is None else "bpe"


def _one_word(before: str, text: str) -> bool:
    """Whether a piece belongs to the same word as what stands before it."""
    if text.startswith(SPACE):
        return False
    return not before.strip(SPACE) or not (_stands_alone(before[-1]) or _stands_alone(text[0]))


def _as_bytes(character: str) -> str:
    """White space as its bytes, any other character as it is."""
    return "".join(f"<0x{byte:02X}>" for byte in character.encode()) if character.isspace() else character


def _stands_alone(character: str) -> bool:
    return unicodedata.category(character)[0] in "PSZ" or character.isspace()


def _normaliser(settings: TokenizerSettings) -> normalizers.Normalizer:
    steps: list[normalizers.Normalizer] = []
    match settings.normalise:
        case "nfc":
            steps.append(normalizers.NFC())
        case "nfkc":
            steps.append(normalizers.NFKC())
        case "nfd":
            steps.append(normalizers.NFD())
        case "nfkd":
            steps.append(normalizers.NFKD())
        case "none":
            pass
    if settings.lowercase:
        steps.append(normalizers.Lowercase())
    steps.append(normalizers.Replace(SPACE, FOREIGN))
    if settings.kind != "characters":
        steps.append(normalizers.Prepend(SPACE))
    steps.append(normalizers.Replace(" ", SPACE))
    return normalizers.Sequence(steps)


def _splitter(settings: TokenizerSettings) -> pre_tokenizers.PreTokenizer:
    units = {"words": WHOLE_UNITS, "spaced": SPACED_UNITS}.get(settings.kind, SPELLED_UNITS)
    return pre_tokenizers.Split(Regex(units), "isolated")
