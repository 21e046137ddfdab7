"""Text ↔ token numbers, over the `tokenizers` library: what every tokenizer can do, ours or another program's.

`OwnTokenizer` is what we learn from texts; `ForeignTokenizer` is one that another program wrote. Special tokens, such
as the one that begins a text, are never found in what a user wrote: code that wants one puts in its number.
"""

import hashlib
import json
import unicodedata
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
import tokenizers
from numpy.typing import NDArray
from tokenizers import models

from seqwright.errors import RunError, SettingError
from seqwright.inputs import MOST_NAMED
from seqwright.inputs.vocabularies import BEGIN, END, FOREIGN, PAD, SPACE, UNKNOWN, Kind, TokenizerSettings
from seqwright.whole_file import write_whole

__all__ = ["BEGIN", "END", "PAD", "UNKNOWN", "Kind", "Numbers", "Piece", "Tokenizer", "TokenizerSettings"]

Numbers = NDArray[np.unsignedinteger[Any]]

# What a special token is for, by the names that it has in vocabularies; of two that are there, the first is taken.
ROLES = {
    "begin": ("[CLS]", "<s>", "<|endoftext|>"),
    "end": ("[SEP]", "</s>", "<|endoftext|>"),
    "unknown": ("[UNK]", "<unk>"),
    "mask": ("[MASK]", "<mask>"),
    "pad": ("[PAD]", "<pad>"),
}


class Piece(NamedTuple):
    """Some tokens that spell whole characters together, mostly one: their text, "▁" for a space, and their places."""

    text: str
    places: list[int]
    special: bool


class Tokenizer(ABC):
    """A vocabulary: text to token numbers and back.

    `special` has the number of each special token by its name; `begin` and `end` are those around a text; `unknown`,
    `mask` and `pad` are None where the vocabulary has no such token.
    """

    kind: Kind
    opening: str
    """What must stand before a word that is encoded alone, so that its tokens are the same as inside a text."""

    def __init__(self, library: tokenizers.Tokenizer, special: Mapping[str, int], *, end: str | None = None) -> None:
        """`end` is the name of the token that ends a text, where it is known and need not be found."""
        library.encode_special_tokens = True  # searched for in no text
        self._library = library
        numbered = library.get_vocab()
        self.size = max(numbered.values(), default=-1) + 1
        self.dtype = np.dtype(np.uint16 if self.size <= 1 << 16 else np.uint32)
        self._pieces = [f"<unused-{number}>" for number in range(self.size)]  # some vocabularies have gaps
        for piece, number in numbered.items():
            self._pieces[number] = piece
        self.special = dict(special)
        roles = {
            role: next((special[name] for name in names if name in special), None) for role, names in ROLES.items()
        }
        roles |= {"end": special[end]} if end is not None and end in special else {}
        if roles["begin"] is None or roles["end"] is None:
            raise RunError(
                f"the tokenizer has no token that {'begins' if roles['begin'] is None else 'ends'} a text: its special "
                f"tokens are {' '.join(special) or 'none'}, expected {' or '.join(ROLES['begin'])} to begin and "
                f"{' or '.join(ROLES['end'])} to end one"
            )
        self.begin: int = roles["begin"]
        self.end: int = roles["end"]
        self.unknown, self.mask, self.pad = roles["unknown"], roles["mask"], roles["pad"]
        self.between = 1  # how many ends stand between two texts

    # ------------------------------------------------------------------------------------------------ where from

    @staticmethod
    def train(texts: Iterable[str], settings: TokenizerSettings, special: Sequence[str] = ()) -> "Tokenizer":
        """A tokenizer learnt from texts, which are read once; the same texts always give the same bytes.

        `special` are further special tokens, which come last in the vocabulary and count among its tokens.
        """
        from seqwright.inputs.own_tokenizers import OwnTokenizer

        return OwnTokenizer.learnt(texts, settings, special)

    @staticmethod
    def load(path: str | Path) -> "Tokenizer":
        """The tokenizer that `save` wrote, or a tokenizer.json of another program."""
        from seqwright.inputs.foreign_tokenizers import ForeignTokenizer
        from seqwright.inputs.own_tokenizers import OwnTokenizer

        path = Path(path)
        if not path.is_file():
            raise RunError(f"{path} is missing; expected the tokenizer that training wrote: restore it from a copy")
        try:
            text = path.read_text(encoding="utf-8")
            library = tokenizers.Tokenizer.from_str(text)
            ours = FOREIGN in json.dumps(json.loads(text)["normalizer"], ensure_ascii=False)
        except Exception as problem:  # the library raises bare exceptions
            raise RunError(f"{path} cannot be read as a tokenizer ({problem}); restore the file from a copy") from None
        try:
            return (OwnTokenizer if ours else ForeignTokenizer).checked(library)
        except RunError as error:
            raise RunError(f"{path}: {error}") from None

    @classmethod
    @abstractmethod
    def checked(cls, library: tokenizers.Tokenizer) -> Self:
        """A tokenizer over one of the library's, which is refused if it does not fit."""

    def with_special(self, names: Sequence[str]) -> Self:
        """The same tokenizer with further special tokens at the end of the vocabulary; those it has stay."""
        new = [name for name in names if name not in self.special]
        known = [name for name in new if self._library.token_to_id(name) is not None]
        if known:
            raise SettingError(
                f"'{known[0]}' is an ordinary token of the vocabulary; choose another name for a special"
            )
        library = tokenizers.Tokenizer.from_str(self.json())
        library.add_special_tokens([tokenizers.AddedToken(name, special=True, normalized=False) for name in new])
        if new and library.token_to_id(new[-1]) != self.size + len(new) - 1:
            raise RunError("the numbers of the vocabulary have gaps, so that no token can be added at its end")
        return self.checked(library)

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_json, (type(self), self.json())

    def save(self, path: str | Path) -> None:
        """Write the library's JSON, which its other users can read too."""
        write_whole(Path(path), self.json())

    def json(self) -> str:
        """What `save` writes."""
        return self._library.to_str()

    def fingerprint(self) -> str:
        """A sha256 that is the same for two tokenizers that do the same."""
        return hashlib.sha256(self.json().encode()).hexdigest()

    # ------------------------------------------------------------------------------------------------ text ↔ numbers

    def encode(self, texts: Sequence[str]) -> list[Numbers]:
        """The token numbers of each text, without those that begin and end it."""
        encodings = self._library.encode_batch_fast(texts, add_special_tokens=False)
        return [self._numbers(encoding.ids) for encoding in encodings]

    def placed(self, text: str) -> tuple[Numbers, list[tuple[int, int]]]:
        """The token numbers of a text, and from where to where in it each of them stands."""
        found = self._library.encode(text, add_special_tokens=False)
        return self._numbers(found.ids), list(found.offsets)

    def _numbers(self, ids: list[int]) -> Numbers:
        """Token numbers as the library found them in a text."""
        return np.array(ids, dtype=self.dtype)

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """The text of token numbers: what begins, ends or fills up a text is left out, other specials are named."""

    @abstractmethod
    def units(self, text: str) -> list[str]:
        """The stretches of a text that are encoded each on its own."""

    @abstractmethod
    def unknown_characters(self, texts: Iterable[str]) -> Counter[str]:
        """The characters that no token contains, with how often they occur.

        Where tokens are words, a word can be unknown although each of its characters occurs in others.
        """

    def unknowns(self, ids: Sequence[int] | NDArray[np.integer[Any]]) -> int:
        """How many of the tokens stand for what the vocabulary lacks."""
        return 0 if self.unknown is None else int(np.count_nonzero(np.asarray(ids) == self.unknown))

    def unknown_share(self, rows: Iterable[NDArray[np.integer[Any]]], where: str, then: str = "") -> list[str]:
        """What a user should know of tokens that are to be learnt from: how many of them the vocabulary lacks."""
        unknown, every = np.array([(self.unknowns(ids), len(ids)) for ids in rows]).reshape(-1, 2).sum(0).tolist()
        return [f"tokens of {where} that the vocabulary lacks: {100 * unknown / every:.2g} %{then}"] if unknown else []

    def unknown_words(self, texts: Iterable[str]) -> Counter[str]:
        """The words between white space that the vocabulary lacks or has only in part, with how often they occur."""
        words = Counter(word for text in texts for word in text.split())
        read = zip(words.items(), self.encode(list(words)), strict=True)
        return Counter({word: count for (word, count), ids in read if self.unknowns(ids)})

    def remarks(self, texts: Iterable[str], where: str) -> list[str]:
        """What a user should know of texts that are to be learnt from: characters that the vocabulary lacks."""
        unknown = self.unknown_characters(texts)
        if not unknown:
            return []
        common = " ".join(f"{character!r}×{count}" for character, count in unknown.most_common(5))
        return [f"characters of {where} that the vocabulary lacks: {len(unknown)} ({common})"]

    def unknown_parts(self, texts: Iterable[str]) -> Counter[str]:
        """What the vocabulary lacks: whole words where it is one of words, otherwise characters."""
        whole = self.kind in {"words", "whitespace"}
        return self.unknown_words(texts) if whole else self.unknown_characters(texts)

    def unwritten(self) -> list[int]:
        """The tokens that a text which is written never has: the special ones, but for the one that ends it."""
        return [number for number in self.special.values() if number != self.end]

    # ------------------------------------------------------------------------------------------------ looking

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The tokens as the vocabulary spells them."""
        return [self._pieces[number] for number in ids]

    @abstractmethod
    def spellings(self) -> list[str]:
        """Every token for a file in which white space stands between words, each another; a space is "▁"."""

    @abstractmethod
    def _spelled(self, ids: Sequence[int]) -> Iterator[Piece]:
        """The tokens one by one, or as many as it takes for a whole character."""

    def words(self, ids: Iterable[int]) -> list[tuple[str, list[int]]]:
        """Whole words with the positions of their pieces; punctuation marks and special tokens stand alone."""
        items: list[tuple[str, list[int]]] = []
        joinable = False
        for text, places, special in self._spelled(list(ids)):
            if joinable and not special and _one_word(items[-1][0], text):
                before, positions = items[-1]
                items[-1] = before + text, [*positions, *places]
            else:
                items.append((text, places))
            joinable = not special and self.kind != "characters"
        return [(text.lstrip(SPACE) or text, positions) for text, positions in items]


@runtime_checkable
class HasTokenizer(Protocol):
    """An input with one tokenizer."""

    @property
    def tokenizer(self) -> Tokenizer:
        """What cuts its texts into tokens."""


def tokenizer_of(like: Any) -> Tokenizer:
    """The tokenizer of another run's input, to be taken over."""
    if isinstance(like, Tokenizer):
        return like
    if not isinstance(like, HasTokenizer):
        raise SettingError(
            "input.like or model.weights names a run that has no tokenizer, or one for each of two languages; "
            "choose a run with one"
        )
    return like.tokenizer


def lacking(unknown: Counter[str], then: str = "") -> list[str]:
    """What is said of words or characters that the vocabulary lacks, and what follows from that."""
    if not unknown:
        return []
    most = " ".join(f"{part!r}×{count}" for part, count in unknown.most_common(MOST_NAMED))
    more = " …" if len(unknown) > MOST_NAMED else ""
    return [f"the vocabulary lacks {most}{more}: the model cannot read them{then}"]


def kind_of(model: models.Model) -> Kind:
    """Which of our kinds a model of the library is; its JSON has no room for the name."""
    match model:
        case models.Unigram():
            return "unigram"
        case models.WordPiece():
            return "wordpiece"
        case models.WordLevel():
            return "words"
        case _:
            return "bpe"


def _from_json(cls: type[Tokenizer], text: str) -> Tokenizer:
    """What was pickled."""
    return cls.checked(tokenizers.Tokenizer.from_str(text))


def _one_word(before: str, text: str) -> bool:
    """Whether a piece belongs to the same word as what stands before it."""
    if text.startswith(SPACE):
        return False
    return not before.strip(SPACE) or not (_stands_alone(before[-1]) or _stands_alone(text[0]))


def _stands_alone(character: str) -> bool:
    return unicodedata.category(character)[0] in "PSZ" or character.isspace()


def in_one_line(text: str) -> str:
    """A token for a file: white space as its bytes, a line feed as "<0x0A>", like in SentencePiece's vocabularies."""
    return "".join(map(_as_bytes, text))


def _as_bytes(character: str) -> str:
    return "".join(f"<0x{byte:02X}>" for byte in character.encode()) if character.isspace() else character
