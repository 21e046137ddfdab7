"""Documents as stretches of sentences: pairs of which one may follow the other, or full sentences.

B batch · T time · N rows
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from pydantic import Field

from seqwright.batches import Ids, padded
from seqwright.batches.sentences import (
    UNASKED,
    EpochRow,
    FullSentences,
    SentencePairs,
    SentenceRow,
    SentenceRows,
    Sentences,
    WholeTexts,
)
from seqwright.data.sentences import sentences
from seqwright.errors import DataError, RunError, SettingError
from seqwright.inputs import Examples, Room, Stacked
from seqwright.inputs.spelling import DocumentInput, Spelled, named_texts, typed_text, written_words
from seqwright.inputs.tokenizers import Kind, Tokenizer, TokenizerSettings, lacking, tokenizer_of
from seqwright.setting_classes import Settings
from seqwright.text_cache import Rules, TokenisedTexts, tokenised_texts

MASK = "<mask>"
HOLE = re.compile(r"<mask>|\[MASK\]|_{3,}")
RULE = "sentences 1"  # changes when documents are cut into sentences in another way
UNIT = "0"  # what follows a digit is cut into tokens as if anything else stood there
Form = Literal["sentence-pairs", "full-sentences"]


class SentencesSettings(TokenizerSettings):
    """How documents become tokens, and tokens examples."""

    tokenizer: Kind = "wordpiece"
    """What a token is: a character, a word, whatever stands between spaces, or a piece of a word learnt by BPE, unigram
    or WordPiece, which is BERT's."""
    longest: int = Field(default=128, ge=8)
    """Most tokens of an example, [CLS] and [SEP] included."""
    rows: Form = "sentence-pairs"
    """What an example is: two stretches of text of which the second follows the first half of the time, and the model
    says whether it does (BERT); or full sentences one after another, with nothing to say (RoBERTa)."""


class DocumentRows(SentenceRows):
    """The rows of a corpus, and what became of its documents."""

    def __init__(self, stretches: SentencePairs | FullSentences, documents: TokenisedTexts, *, seed: int) -> None:
        super().__init__(stretches, documents.example_N, seed=seed)
        self.documents, self.sentences, self.left_out = documents, stretches.sentences, stretches.left_out


@dataclass(frozen=True)
class SentencesInput(DocumentInput[SentenceRow]):
    """The tokenizer of a run, which has a mask, and how documents become rows.

    A row is `begin A end B end`, or `begin sentences end`; what a user types is `begin text end`.
    """

    tokenizer: Tokenizer
    longest: int  # tokens of a row
    context: int  # most tokens of what a user types: all that the model can read
    form: Form
    settings: ClassVar[type[Settings]] = SentencesSettings
    begins: ClassVar[bool] = True
    texts: ClassVar[tuple[int, ...]] = (1, 2)

    @classmethod
    def learn(cls, train: Examples[str], settings: SentencesSettings, *, room: Room, like: Any = None) -> Self:
        """A tokenizer trained on the sentences, if none is taken from another run; one without a mask gets it."""
        context = _refused(settings, room)
        if like is None:
            every = (sentence for document in train for sentence in sentences(document))
            return cls(Tokenizer.train(every, settings, special=(MASK,)), settings.longest, context, settings.rows)
        tokenizer = tokenizer_of(like)
        tokenizer = tokenizer if tokenizer.mask is not None else tokenizer.with_special((MASK,))
        return cls(tokenizer, settings.longest, context, settings.rows)

    @property
    def between(self) -> list[int]:
        """What stands between two texts: one `end`, whoever made the tokenizer."""
        return [self.tokenizer.end]

    @property
    def mask(self) -> int:
        """The token that stands for a masked token, [MASK]."""
        return mask_of(self.tokenizer)

    def encode(self, examples: Examples[str], *, seed: int = 0) -> SentenceRows:
        """Stretches of the documents of a part; each text as it stands of what a user gives."""
        if not examples.fingerprint:
            rows = [self.row(text) for text in examples]
            return SentenceRows(WholeTexts(rows), np.arange(len(rows)))
        documents = tokenised_texts(
            examples.read,
            key=f"{RULE} {examples.fingerprint} {self.tokenizer.fingerprint()}",
            encode=lambda texts: self._documents([sentences(text) for text in texts]),
            decode=lambda ids: self.tokenizer.decode(ids.tolist()),
            rules=Rules(),
            where=examples.name,
        )
        kind = SentencePairs if self.form == "sentence-pairs" else FullSentences
        found = Sentences(documents.rows, end=self.tokenizer.end, most=kind.most(self.longest))
        stretches = kind(found, longest=self.longest, begin=self.tokenizer.begin)
        if not len(stretches.length_N) or (
            self.form == "sentence-pairs" and len(set(stretches.document_N.tolist())) < 2
        ):
            raise DataError(
                f"{examples.name} has {len(documents.rows):,} documents, of which at least two must have two "
                'sentences: with data.documents say what a document is, such as "paragraphs", or set '
                "input.rows=full-sentences"
            )
        return DocumentRows(stretches, documents, seed=seed)

    def _documents(self, documents: Sequence[Sequence[str]]) -> list[Ids]:
        """The tokens of documents, each a list of sentences; `end` closes every sentence that has any."""
        rows = iter(self.tokenizer.encode([sentence for document in documents for sentence in document]))
        encoded = []
        for document in documents:
            parts = [np.append(next(rows), self.tokenizer.end) for _ in document]
            kept = [part for part in parts if len(part) > 1]
            encoded.append(np.concatenate([*kept, np.zeros(0)]).astype(self.tokenizer.dtype))
        return encoded

    def spelled(self, text: str) -> Spelled:
        """The tokens of a typed text; of one that hides words, as the vocabulary spells them."""
        if not HOLE.search(text):
            return super().spelled(text)
        tokens = self.row(text)[1:-1]
        pieces = [written_words(self.tokenizer, [token])[0][0] for token in tokens.tolist()]
        return Spelled(tokens, [(0, 0)] * len(tokens), written_words(self.tokenizer, tokens.tolist()), pieces, text)

    def parts(self, given: Any) -> list[Spelled]:
        """The same of one text, or of two of which one follows the other; they need hide no word."""
        names = self.fields if isinstance(given, Mapping) and "text_pair" in given else self.fields[:1]
        return [*map(self.spelled, named_texts(given, names) if isinstance(given, Mapping) else [typed_text(given)])]

    def row(self, text: str) -> Ids:
        """`begin … mask … end`: a text as it stands, the words left hidden that it hides."""
        parts: list[Ids] = [np.array([self.tokenizer.begin])]
        for number, stretch in enumerate(HOLE.split(text)):
            parts += [np.array([self.mask])] if number else []
            kept = stretch if self.tokenizer.kind == "characters" else stretch.rstrip()
            if kept:
                parts.append(_continued(self.tokenizer, kept) if number else self.tokenizer.encode([kept])[0])
        row = np.concatenate([*parts, [self.tokenizer.end]]).astype(np.int64)
        if len(row) > self.context:
            raise DataError(
                f"'{_short(text)}' has {len(row):,} tokens, special ones included; the model reads {self.context:,} at "
                "once: shorten it"
            )
        return row

    def joined(self, texts: Sequence[Ids]) -> SentenceRow:
        """The row of one text whose tokens are known, or of two."""
        tokens = np.array([self.tokenizer.begin, *super().joined(texts), self.tokenizer.end])
        second = len(texts[0]) + 2 if len(texts) > 1 else len(tokens)
        return SentenceRow(EpochRow(tokens, second, UNASKED), 0, np.random.default_rng(0))

    def stack(self, rows: Sequence[SentenceRow]) -> Stacked:
        """`input_BT`, `real_BT`, `segment_BT`, `next_B` and `row_B`, with padding on the right."""
        input_BT, real_BT = padded([row.drawn.tokens for row in rows])
        second_B1 = torch.tensor([row.drawn.second for row in rows]).unsqueeze(1)
        return {
            "input_BT": input_BT,
            "real_BT": real_BT,
            "segment_BT": (real_BT & (torch.arange(real_BT.shape[1]) >= second_B1)).long(),
            "next_B": torch.tensor([row.drawn.follows for row in rows]),
            "row_B": torch.tensor([row.number for row in rows]),
        }

    def parse(self, given: Any) -> str:
        """A text that hides a word."""
        text = super().parse(given)
        if not HOLE.search(text):
            raise DataError(f"'{_short(text)}' hides no word: write <mask>, [MASK] or ___ in its place")
        return text

    def read_examples(self, rows: Any) -> set[int]:
        """Every document with a sentence, but those of one where pairs are read."""
        if self.form == "sentence-pairs" or not isinstance(rows, DocumentRows):
            return super().read_examples(rows)
        return set(rows.example_M[np.unique(rows.sentences.document_P)].tolist())

    def part_sentence(self, examples: Examples[str], rows: Any) -> tuple[str, str]:
        """`600 documents; 8,805 sentences, 2,109 examples`, and how many documents cannot be read."""
        told = f"{rows.documents.kept.sentence()}; {len(rows.sentences):,} sentences, {len(rows.example_N):,} examples"
        return told, f"; left out: {rows.left_out:,} documents of one sentence" if rows.left_out else ""

    def part_remarks(self, examples: Examples[str]) -> list[str]:
        """Tokens that the vocabulary lacks, and documents that a model of another kind could read."""
        rows, remarks = self.encode(examples), []
        assert isinstance(rows, DocumentRows)
        if rows.left_out:
            remarks.append(
                f"documents of {examples.name} with one sentence, which none can follow, left out: {rows.left_out:,}; "
                "input.rows=full-sentences would read them"
            )
        tokens = rows.documents.rows.values
        return remarks + self.tokenizer.unknown_share([tokens], examples.name, then="; they are never hidden")

    def remarks(self, examples: Examples[str], first: int = 0) -> list[str]:
        """What the vocabulary lacks of texts that hide words."""
        return lacking(self.tokenizer.unknown_parts(HOLE.sub(" ", text) for text in examples))


def mask_of(tokenizer: Tokenizer) -> int:
    """The token that stands for a masked token."""
    if tokenizer.mask is None:
        raise RunError(
            "the tokenizer has no <mask>, so that no word can be hidden; restore the run's input/ from a copy"
        )
    return tokenizer.mask


def _refused(settings: SentencesSettings, room: Room) -> int:
    """The model's context; a model that cannot read such rows, or can say nothing of them, is refused."""
    model, longest = room.model, settings.longest
    context = room.context or longest
    if longest > context:
        raise SettingError(
            f"input.longest is {longest}, but the model reads {context} tokens at once: lower it, or raise "
            "model.context"
        )
    if not model.head:
        raise SettingError(
            "model.head is false, and a model without it cannot predict masked tokens: set model.head=true"
        )
    if settings.rows == "sentence-pairs" and not model.pooler:
        raise SettingError(
            f"input.rows is 'sentence-pairs', but a {model.kind} without a pooler cannot say whether one text "
            "follows another: set input.rows=full-sentences, or model.pooler=true"
        )
    if settings.rows == "full-sentences" and model.pooler:
        raise SettingError(
            "input.rows is 'full-sentences', of which nothing is asked that the model's pooler is for: set "
            "model.pooler=false"
        )
    return context


def _continued(tokenizer: Tokenizer, stretch: str) -> Ids:
    """The tokens of what follows a masked token: `.` after a word is another token than one that begins a text."""
    alone, before, together = tokenizer.encode([stretch, UNIT, UNIT + stretch])
    fits = np.array_equal(together[: len(before)], before)
    return together[len(before) :] if fits else alone


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"
