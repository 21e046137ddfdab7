"""Tokenizers that we learn from texts: characters, words, BPE, unigram and WordPiece over the `tokenizers` library.

Decoding what was encoded gives the text back to the last space. Every space becomes "▁" and one more "▁" is put before
the text. The text is cut into units: a word with the "▁" before it, a punctuation mark, a single digit, and where
tokens can be pieces also a mark with its "▁" and a run of spaces. Each unit is encoded on its own, and decoding puts
the pieces together again. Where tokens are characters, there are neither units nor a "▁" before the text. Where they
are `whitespace`, a unit is what stands between runs of white space, as `str.split` has it, and nothing else: spaces
around a text and further ones between two words are no tokens, and decoding gives one space between words.

A "<s>" that the user wrote is three units, "<", "s" and ">", and so never becomes the token "<s>".
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Self, final

import tokenizers
from tokenizers import Regex, models, normalizers, pre_tokenizers

from seqwright.errors import DataError, RunError
from seqwright.inputs.tokenizers import Piece, Tokenizer, in_one_line, kind_of
from seqwright.inputs.vocabularies import (
    CONTINUATION,
    FOREIGN,
    LONGEST,
    RESERVED,
    SPACE,
    UNKNOWN,
    TokenizerSettings,
    learnt_model,
)

LETTERS = rf"▁?[^▁\s\p{{N}}\p{{P}}\p{{S}}]{{1,{LONGEST}}}"
WHOLE_UNITS = rf"{LETTERS}|[\s\S]"
# Only what can be spelled out of shorter pieces may also be a mark with its "▁", or a run of spaces.
SPELLED_UNITS = rf"▁{{1,{LONGEST}}}(?=▁)|▁?[\p{{P}}\p{{S}}&&[^▁]]|{WHOLE_UNITS}"
FORMS = {"nfc": normalizers.NFC, "nfkc": normalizers.NFKC, "nfd": normalizers.NFD, "nfkd": normalizers.NFKD}
WHITE_SPACE = r"[\s\x1C-\x1F]+"  # what `str.split` splits at
ASCII_WHITE_SPACE = "[ \t-\r]+"  # what other programs do
SPACED_UNITS = "▁[^▁]+"


@final
class OwnTokenizer(Tokenizer):
    """A vocabulary that was learnt here: 0 to 3 are PAD, UNKNOWN, BEGIN and END; other special tokens come last."""

    def __init__(self, library: tokenizers.Tokenizer) -> None:
        reserved = {piece: number for number, piece in enumerate(RESERVED)}
        added = {token.content: number for number, token in library.get_added_tokens_decoder().items()}
        further = {name: number for name, number in added.items() if name not in reserved}
        super().__init__(library, reserved | further)
        self._normaliser = library.normalizer
        self._splitter = library.pre_tokenizer
        self._further = frozenset(further.values())
        # A BPE without units is what spells characters; "whitespace" differs from words only in its units.
        spells = isinstance(library.model, models.BPE) and library.pre_tokenizer is None
        self.kind = "characters" if spells else kind_of(library.model)
        self.opening = " " if self.kind == "characters" else ""  # the others put a "▁" before every text themselves
        self._texts = [self._text(number) for number in range(self.size)]

    @classmethod
    def learnt(cls, texts: Iterable[str], settings: TokenizerSettings, special: Sequence[str]) -> Self:
        """See `Tokenizer.train`."""
        blank = tokenizers.Tokenizer(models.WordLevel({}, unk_token=RESERVED[UNKNOWN]))
        blank.normalizer = _normaliser(settings)
        if settings.tokenizer != "characters":
            blank.pre_tokenizer = _splitter(settings)
        unlearnt = cls(blank)
        units = Counter[str]()
        for text in texts:
            units.update(unlearnt.units(text))
        if not units:
            raise DataError("there is no text to train a tokenizer on: every line is empty; expected at least one word")
        ordinary = settings.model_copy(update={"vocabulary": settings.vocabulary - len(special)})
        blank.model = learnt_model(units, ordinary)
        learnt = cls(blank)
        return learnt.with_special(special) if special else learnt

    @classmethod
    def of_words(cls, words: Sequence[str]) -> Self:
        """A tokenizer of given words: one is whatever stands between white space, and the others are unknown.

        Words are as `spellings` has them: "▁<s>" is that which a text spells "<s>".
        """
        pieces = [*RESERVED, *(SPACE + word.removeprefix(SPACE) for word in words)]
        numbered = {piece: number for number, piece in enumerate(pieces)}
        library = tokenizers.Tokenizer(models.WordLevel(numbered, unk_token=RESERVED[UNKNOWN]))
        settings = TokenizerSettings(tokenizer="whitespace", normalise="none")
        library.normalizer = _normaliser(settings, ASCII_WHITE_SPACE)
        library.pre_tokenizer = _splitter(settings)
        return cls(library)

    @classmethod
    def checked(cls, library: tokenizers.Tokenizer) -> Self:
        """See `Tokenizer.checked`."""
        found = library.get_vocab()
        ours = all(found.get(piece) == number for number, piece in enumerate(RESERVED))
        whole = sorted(found.values()) == list(range(len(found)))
        if not ours or not whole:
            raise RunError(
                f"this is no tokenizer that Seqwright wrote: its first tokens must be {' '.join(RESERVED)}, and none"
                " may be missing; restore the file from a copy"
            )
        return cls(library)

    def decode(self, ids: Iterable[int]) -> str:
        """See `Tokenizer.decode`."""
        joined = "".join([self._texts[number] for number in ids])
        if self.kind != "characters":
            joined = joined.removeprefix(SPACE)
        return joined.replace(SPACE, " ")

    def spellings(self) -> list[str]:
        """See `Tokenizer.spellings`.

        Where all tokens are whole words with a "▁" before them, it is left off, but for a word that would then be a
        reserved token, or nothing.
        """
        own = [in_one_line(piece) for piece in self._pieces[len(RESERVED) :]]
        if all(piece.startswith(SPACE) for piece in own):
            own = [piece if piece[1:] in {"", *RESERVED} else piece[1:] for piece in own]
        return [*RESERVED, *own]

    def _spelled(self, ids: Sequence[int]) -> Iterator[Piece]:
        for place, number in enumerate(ids):
            special = number < len(RESERVED) or number in self._further
            yield Piece(self._pieces[number] if special else self._texts[number], [place], special)

    def units(self, text: str) -> list[str]:
        """See `Tokenizer.units`."""
        normalised = self._normaliser.normalize_str(text)
        if self._splitter is None:
            return list(normalised)
        return [unit for unit, _ in self._splitter.pre_tokenize_str(normalised)]

    def unknown_characters(self, texts: Iterable[str]) -> Counter[str]:
        """See `Tokenizer.unknown_characters`."""
        ordinary = (self._texts[number] for number in range(len(RESERVED), self.size) if number not in self._further)
        known = set("".join(ordinary)) | {SPACE}
        seen = Counter[str]()
        for text in texts:
            seen.update(self._normaliser.normalize_str(text))
        missing = {character: count for character, count in seen.items() if character not in known}
        return Counter({SPACE if character == FOREIGN else character: count for character, count in missing.items()})

    def _text(self, number: int) -> str:
        """What a token adds to the decoded text."""
        if number in self._further:
            return self._pieces[number]
        if number == UNKNOWN:
            # Where one unknown letter makes the whole word unknown, the space before it is lost as well.
            return SPACE + RESERVED[UNKNOWN] if self.kind in ("words", "wordpiece") else RESERVED[UNKNOWN]
        if number < len(RESERVED):
            return ""
        # A "##" in the text is two units, so that at the beginning of a piece it always is the mark.
        return self._pieces[number].removeprefix(CONTINUATION) if self.kind == "wordpiece" else self._pieces[number]


def _normaliser(settings: TokenizerSettings, white_space: str = WHITE_SPACE) -> normalizers.Normalizer:
    steps: list[normalizers.Normalizer] = [] if settings.normalise == "none" else [FORMS[settings.normalise]()]
    if settings.lowercase:
        steps.append(normalizers.Lowercase())
    if settings.tokenizer == "whitespace":
        single = [normalizers.Replace(Regex(white_space), " "), normalizers.Replace(Regex("^ | $"), "")]
        steps.extend(single)
    steps.append(normalizers.Replace(SPACE, FOREIGN))
    if settings.tokenizer != "characters":
        steps.append(normalizers.Prepend(SPACE))
    steps.append(normalizers.Replace(" ", SPACE))
    return normalizers.Sequence(steps)


def _splitter(settings: TokenizerSettings) -> pre_tokenizers.PreTokenizer:
    units = {"words": WHOLE_UNITS, "whitespace": SPACED_UNITS}.get(settings.tokenizer, SPELLED_UNITS)
    return pre_tokenizers.Split(Regex(units), "isolated")
