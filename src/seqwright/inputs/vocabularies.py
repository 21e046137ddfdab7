"""What a tokenizer learns: counted units of text become a model of the `tokenizers` library.

Every vocabulary begins with the four reserved tokens. The same counts always give the same model: the library sees
units in a fixed alphabet, and whatever it orders at random is put in order here.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal

import tokenizers
from pydantic import Field
from tokenizers import models, pre_tokenizers, trainers

from seqwright.errors import SettingError
from seqwright.setting_classes import Settings

PAD, UNKNOWN, BEGIN, END = 0, 1, 2, 3
RESERVED = ("<pad>", "<unk>", "<s>", "</s>")

SPACE = "▁"
# Stands for a "▁" that the user wrote. It is a noncharacter of Unicode, and no vocabulary has it.
FOREIGN = "\uffff"
CONTINUATION = "##"
# A word ends after so many letters, so that scripts without spaces cannot make encoding slow.
LONGEST = 100

Kind = Literal["characters", "words", "whitespace", "bpe", "unigram", "wordpiece"]


class TokenizerSettings(Settings):
    """How text is cut into tokens."""

    tokenizer: Kind = "bpe"
    """What a token is: a character, a word, whatever stands between runs of white space (for text that is cut into
    tokens already), or a piece of a word learnt by BPE, unigram or WordPiece."""
    vocabulary: int = Field(default=8000, ge=5)
    """The largest number of different tokens; the most frequent ones stay."""
    normalise: Literal["none", "nfc", "nfkc", "nfd", "nfkd"] = "nfc"
    """The Unicode form into which text is brought first; "none" keeps it as it is."""
    lowercase: bool = False
    """Whether capital letters become small ones."""
    min_frequency: int = Field(default=1, ge=1)
    """How often a character, a word or a pair of pieces must occur to become a token."""
    like: str | None = None
    """A run whose tokenizer is taken instead of training one; with model.weights it is that run's anyway."""


def learnt_model(units: Counter[str], settings: TokenizerSettings) -> models.Model:
    """The model of the kind that the settings name."""
    match settings.tokenizer:
        case "characters":
            # The library spells fastest with a BPE that has no merges.
            return models.BPE(_frequent(units, settings), [], unk_token=RESERVED[UNKNOWN])
        case "words" | "whitespace":
            return models.WordLevel(_frequent(units, settings), unk_token=RESERVED[UNKNOWN])
        case "bpe":
            return _learn_bpe(units, settings)
        case "unigram":
            return _learn_unigram(units, settings)
        case "wordpiece":
            return _learn_wordpiece(units, settings)


def _frequent(units: Counter[str], settings: TokenizerSettings) -> dict[str, int]:
    """The most frequent units, numbered; between equals the order of Unicode decides."""
    units = Counter(
        {unit: count for unit, count in units.items() if FOREIGN not in unit and count >= settings.min_frequency}
    )
    units.pop(SPACE, None)
    frequent = sorted(units, key=lambda unit: (-units[unit], unit))
    space = [] if settings.tokenizer == "whitespace" else [SPACE]  # no space is ever a token there
    vocabulary = [*RESERVED, *space, *frequent][: settings.vocabulary]
    return {unit: number for number, unit in enumerate(vocabulary)}


def _learn_bpe(units: Counter[str], settings: TokenizerSettings) -> models.Model:
    """Merge the most frequent pair again and again (Sennrich et al. 2016, section 3.2)."""
    trainer = partial(trainers.BpeTrainer, min_frequency=settings.min_frequency)
    learnt = _learnt(models.BPE(), trainer, units, _alphabet(units, settings), settings)
    merges = [(left, right) for left, right in learnt["merges"]]
    return models.BPE(learnt["vocab"], merges, unk_token=RESERVED[UNKNOWN])


def _learn_wordpiece(units: Counter[str], settings: TokenizerSettings) -> models.Model:
    """Pieces inside a word carry "##" (Schuster & Nakajima 2012, as in Devlin et al. 2019).

    Differs from the paper: pairs are merged by frequency, as the library does, not by likelihood.
    """
    alphabet = _alphabet(units, settings)
    # Left to itself the library numbers the "##" letters in another order each time, and leaves out those which the
    # training text has only at the beginning of words; then a new word with such a letter inside would be unknown.
    inside = [CONTINUATION + letter for letter in alphabet]
    trainer = partial(
        trainers.WordPieceTrainer, min_frequency=settings.min_frequency, continuing_subword_prefix=CONTINUATION
    )
    learnt = _learnt(models.WordPiece(), trainer, units, alphabet, settings, further=inside)
    return models.WordPiece(
        learnt["vocab"],
        unk_token=RESERVED[UNKNOWN],
        continuing_subword_prefix=CONTINUATION,
        max_input_chars_per_word=2 * LONGEST,
    )


def _learn_unigram(units: Counter[str], settings: TokenizerSettings) -> models.Model:
    """The pieces that make the text most probable, found by pruning (Kudo 2018, section 3.2)."""
    alphabet = _alphabet(units, settings)
    trainer = partial(trainers.UnigramTrainer, unk_token=RESERVED[UNKNOWN])
    learnt = _learnt(models.Unigram(), trainer, _doubled(units), alphabet, settings)
    return models.Unigram(_settled(learnt["vocab"][len(RESERVED) :], alphabet, settings), UNKNOWN, False)


def _alphabet(units: Counter[str], settings: TokenizerSettings) -> list[str]:
    """The characters that occur often enough, in the order of Unicode."""
    letters = Counter[str]()
    for unit, count in units.items():
        for letter in unit:
            letters[letter] += count
    frequent = {letter for letter, count in letters.items() if count >= settings.min_frequency}
    return sorted(frequent - {FOREIGN} | {SPACE})


def _check_room(singles: Sequence[str], settings: TokenizerSettings) -> None:
    room = settings.vocabulary - len(RESERVED)
    if len(singles) > room:
        raise SettingError(
            f"the text needs {len(singles)} tokens for single characters, but vocabulary = {settings.vocabulary} has"
            f" room for {room}: raise vocabulary, or raise min_frequency (now {settings.min_frequency}) to leave out "
            "rare characters"
        )


def _repeated(units: Counter[str], alphabet: Sequence[str]) -> Iterator[str]:
    """Every unit as often as it occurs, since the library's trainers take no counts.

    A character outside the alphabet becomes a gap: what stands on its two sides is never joined.
    """
    gaps = str.maketrans(dict.fromkeys(set().union(*units) - set(alphabet), " "))
    for unit, count in units.items():
        spaced = unit.translate(gaps) + " "
        for start in range(0, count, 1000):
            yield spaced * min(1000, count - start)


def _doubled(units: Counter[str]) -> Counter[str]:
    """The same units, but each frequent one stands once twice in a row.

    The library proposes as pieces only what is part of two different units, and so would never propose a frequent
    word that is part of no other. Encoded texts of Multi30k are a tenth to a fifth shorter with this.
    """
    doubled = Counter[str]()
    for unit, count in units.items():
        twice = count > 2
        doubled[unit] += count - 2 * twice
        if twice:
            doubled[unit + unit] += 1
    return doubled


def _learnt(
    model: models.Model,
    trainer: Callable[..., trainers.Trainer],
    units: Counter[str],
    alphabet: Sequence[str],
    settings: TokenizerSettings,
    further: Sequence[str] = (),
) -> dict[str, Any]:
    """What the library's trainer makes of a model, as its JSON has it; `further` are tokens it must have."""
    _check_room([*further, *alphabet], settings)
    sizes = {"vocab_size": settings.vocabulary, "special_tokens": [*RESERVED, *further]}
    # The trainer would also register the reserved tokens as strings to be searched in every text: this tokenizer is
    # thrown away, only its vocabulary is used.
    library = tokenizers.Tokenizer(model)
    library.pre_tokenizer = pre_tokenizers.CharDelimiterSplit(" ")
    library.train_from_iterator(
        _repeated(units, alphabet), trainer(**sizes, initial_alphabet=list(alphabet), show_progress=False)
    )
    learnt: dict[str, Any] = json.loads(library.to_str())["model"]
    return learnt


def _settled(
    scored: Sequence[tuple[str, float]], alphabet: Sequence[str], settings: TokenizerSettings
) -> list[tuple[str, float]]:
    """The pieces of a unigram model with scores that are the same each time, within the limit of the vocabulary.

    The library adds its numbers up in another order each time, which shows in the last digits, and scores the letters
    that training could do without in random order, a ten-thousandth apart. The first is rounded away; the second all
    get the lowest score.
    """
    scored = [(piece, score) for piece, score in scored if SPACE not in piece.lstrip(SPACE)]  # none spans two units
    lowest = min(score for _, score in scored)
    spare = lowest + 0.0001 * len(alphabet)
    scores = {piece: round(lowest if len(piece) == 1 and score <= spare else score, 4) for piece, score in scored}
    best_first = sorted(scores, key=lambda piece: (-scores[piece], piece))
    # The library exceeds the limit where the alphabet alone fills the vocabulary; letters must stay.
    room = settings.vocabulary - len(RESERVED)
    kept = set(sorted(best_first, key=lambda piece: len(piece) > 1)[:room])
    return [(piece, 0.0) for piece in RESERVED] + [(piece, scores[piece]) for piece in best_first if piece in kept]
