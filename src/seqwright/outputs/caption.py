"""What an image shows, in a sentence: several people may have written one, and each is as right as the others.

N images · M captions · V vocabulary
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from seqwright.batches import Batch, Batches, Cut, Ids, Rows
from seqwright.batches.captioned import Captioned, OneOfSeveral, SeveralTexts, WithEachText
from seqwright.batches.pairs import decoder_rows
from seqwright.errors import DataError
from seqwright.inputs import Examples, Input, Stacked
from seqwright.inputs.saved import load_fields
from seqwright.inputs.token_rows import token_rows
from seqwright.inputs.tokenizers import Kind, Tokenizer, TokenizerSettings, tokenizer_of
from seqwright.metrics.captions import LONGEST, NAMES, Grams, caption_scores, caption_words, grams_of, signatures
from seqwright.metrics.significance import Additive
from seqwright.outputs import Baselines, Report, Targets
from seqwright.outputs.text import SIGNATURES, TextOutput, WrittenText
from seqwright.setting_classes import Settings

BASELINE = "baseline_constant_"
LENGTHS = range(1, LONGEST + 1)
UNREAD = -1  # in place of the row of an image that cannot be read


class CaptionSettings(TokenizerSettings):
    """How captions become tokens, and how long they may be."""

    tokenizer: Kind = "words"
    """What a token is: a word, a character, or a piece of a word learnt by BPE, unigram or WordPiece."""
    lowercase: bool = True
    """Whether capital letters become small ones, which they do for the scores anyway."""
    longest: int = Field(default=64, ge=1)
    """Most tokens of a caption, in training and, unless decoding.longest says otherwise, in writing."""
    overlong: Literal["drop", "truncate", "refuse"] = "drop"
    """What happens to longer ones: left out and counted, cut off, or refused with an error."""


@dataclass(frozen=True)
class CaptionOutput(TextOutput):
    """As `TextOutput`, but there may be several targets: an epoch learns from one of them, scores get all."""

    constant: str = ""  # the caption of training that fits the most images: a baseline
    settings: ClassVar[type[Settings]] = CaptionSettings
    signatures: ClassVar[Mapping[str, str]] = {
        **SIGNATURES,
        **{f"{BASELINE}{name}": "baseline: a constant caption" for name in NAMES},
    }
    batch: ClassVar[type[Batch]] = Captioned
    section: ClassVar[str] = "output"

    @classmethod
    def learn(cls, train: Examples[Any], settings: Any, input: Input[Any, Any], *, like: Any = None) -> Self:
        """A tokenizer trained on all captions, or another run's."""
        captions = [example.captions for example in train if example.captions]
        if not captions:
            raise DataError(f"no image of {train.name} has a caption; give some, or choose a column with data.caption")
        texts = (text for each in captions for text in each)
        tokenizer = Tokenizer.train(texts, settings) if like is None else tokenizer_of(like)
        constant, length = constant_caption(captions), (settings.longest, settings.overlong)
        return cls(tokenizer, None, "exact", settings.lowercase, *length, constant=constant)

    # ------------------------------------------------------------------------------------------------ batches

    def encode(self, examples: Examples[Any], rows: Rows[Any], *, seed: int = 0) -> Targets:
        """The tokens of every caption of each image; images that have one can be learnt from."""
        count_E = np.array([len(example.captions) for example in examples], dtype=np.int64)
        row_E = np.full(len(count_E), UNREAD)
        row_E[rows.example_N] = np.arange(len(rows.example_N))
        image_M = row_E.repeat(count_E)
        learnable = np.unique(image_M[image_M != UNREAD])
        if not len(learnable):
            raise DataError(f"{examples.name} has no image that can be read and has a caption; give it some")
        text_M = token_rows(
            self.tokenizer, examples, "captions", lambda: (text for each in examples for text in each.captions)
        )
        return Targets(SeveralTexts(text_M, image_M, rows.example_N), learnable)

    def collate(self, stacked: Stacked, targets: Sequence[Ids] | None) -> Captioned:
        """Images, with `begin y` for the decoder to read and `y end` for it to say."""
        image_B, ends = stacked["input_B"], {"begin": self.tokenizer.begin, "end": self.tokenizer.end}
        return Captioned(image_B, **decoder_rows(targets, len(image_B), **ends))

    def batches(
        self, rows: Rows[Any], targets: Targets | None, input: Input[Any, Any], *, tokens: int, seed: int = 0
    ) -> Batches[Any]:
        """Captions of like length together; of what is longer than training allows, `overlong` decides."""
        if targets is None:
            return super().batches(rows, None, input, tokens=min(tokens, input.at_once), seed=seed)

        def collate(some: Sequence[tuple[Any, Ids]]) -> Captioned:
            images, texts = zip(*some, strict=True)
            return self.collate(input.stack(images), texts)

        several: Any = targets.rows
        texts, left_out_M = several.text_M, self._overlong(rows, targets)
        if self.overlong == "truncate" and self.longest is not None:
            texts, left_out_M = Cut(texts, self.longest), np.zeros_like(left_out_M)
        only = np.flatnonzero(~left_out_M & (several.image_M != UNREAD))
        each = WithEachText(rows, texts, several.image_M)
        return OneOfSeveral(each, collate, tokens=tokens, seed=seed, marks=1, only=only)

    def _overlong(self, rows: Rows[Any], targets: Targets) -> NDArray[np.bool_]:
        """True for each caption that is too long to learn from."""
        several: Any = targets.rows
        length_M = several.text_M.lengths(None)[:, 0]
        long_M: NDArray[np.bool_] = (length_M > (self.longest or math.inf)) & (several.image_M != UNREAD)
        if self.overlong == "refuse" and long_M.any():
            example = rows.example_N[several.image_M[long_M][0]]
            raise DataError(
                f"image {int(example) + 1} has a caption of {int(length_M[long_M][0])} tokens, more than "
                f"output.longest = {self.longest}; raise it, or set output.overlong to drop or truncate"
            )
        return long_M

    # ------------------------------------------------------------------------------------------------ scores

    @property
    def score_names(self) -> tuple[str, ...]:
        """Of the loss, and of what is decoded."""
        return ("loss", "perplexity", *NAMES)

    def scores(self, predictions: Sequence[WrittenText], examples: Examples[Any]) -> dict[str, float]:
        """Those of what was decoded, each against all captions of its image."""
        return {name: score.value for name, score in self._scored(predictions, examples).items()}

    def report(self, predictions: Sequence[WrittenText], examples: Examples[Any]) -> Report:
        """How the scores were made."""
        known = [example.captions for example in examples if example.captions]
        return Report(signatures=signatures(known, lowercase=self.lowercase))

    def _scored(self, predictions: Sequence[WrittenText], examples: Examples[Any]) -> dict[str, Additive]:
        both = zip(predictions, examples, strict=True)
        some = [(found.text, example.captions) for found, example in both if found.candidates and example.captions]
        if not some:
            raise DataError(f"no image of {examples.name} can be read and has a caption: there is nothing to score")
        texts, references = zip(*some, strict=True)
        return caption_scores(texts, references, lowercase=self.lowercase)

    def target(self, example: Any) -> tuple[str, ...] | None:
        """The captions."""
        return example.captions or None

    # ------------------------------------------------------------------------------------------------ baselines

    def baselines(self, train: Examples[Any], part: Examples[Any], input: Input[Any, Any]) -> Baselines:
        """The same caption for every image."""
        read = set(input.encode(part).example_N.tolist())
        right = [each.captions for number, each in enumerate(part) if number in read and each.captions]
        found = caption_scores([self.constant] * len(right), right, lowercase=self.lowercase)
        scores = {f"{BASELINE}{name}": score.value for name, score in found.items()}
        told = f"always '{self.constant}' has CIDEr {found['cider'].value:.1f} and BLEU-4 {found['bleu_4'].value:.1f}"
        return Baselines(scores, told, [])

    # ------------------------------------------------------------------------------------------------ told

    def part_sentence(self, examples: Examples[Any], rows: Rows[Any]) -> str:
        """`with 27,500 captions (not in the loss: 3 images without one, 2 captions too long)`."""
        targets = self.encode(examples, rows)
        several: Any = targets.rows
        read, long = int((several.image_M != UNREAD).sum()), int(self._overlong(rows, targets).sum())
        bare = len(rows.example_N) - len(targets.learnable)
        told = [f"{bare:,} image{'s' * (bare > 1)} without one"] if bare else []
        told += [f"{long:,} captions too long"] if long and self.overlong == "drop" else []
        left_out = f" (not in the loss: {', '.join(told)})" if told else ""
        cut = f"; cut: {long:,} too long" if long and self.overlong == "truncate" else ""
        return f"with {read:,} captions{left_out}{cut}"

    def part_remarks(self, examples: Examples[Any]) -> list[str]:
        """Letters that the vocabulary lacks."""
        captions = (text for example in examples for text in example.captions)
        return self.tokenizer.remarks(captions, f"captions of {examples.name}")

    def answer(self, prediction: WrittenText, example: Any) -> dict[str, Any]:
        """What people wrote, and what was."""
        best = prediction.best
        return {"references": list(example.captions), "hypothesis": best.text, "score": round(best.score, 4)}

    # ------------------------------------------------------------------------------------------------ the run folder

    @classmethod
    def load(cls, folder: str | Path, input: Any) -> Self:
        """Read what `save` wrote."""
        tokenizer = Tokenizer.load(Path(folder, "tokenizer.json"))
        return load_fields(cls, Path(folder, cls.file), tokenizer=tokenizer, source=None, dictionary=None)

    def sizes(self) -> dict[str, Any]:
        """The vocabulary."""
        return {"vocabulary": self.tokenizer.size}


def constant_caption(several: Iterable[Sequence[str]]) -> str:
    """The caption of median length that fits the most images.

    Its n-grams of each length are, on average, said of the most of them. Of any length it would be a short one, which
    scores punish.
    """
    images, every, lengths = Grams(), dict[str, Grams](), list[int]()
    for captions in several:
        found = {text: grams_of(caption_words(text)) for text in captions}
        images.update({gram for each in found.values() for gram in each})
        every |= found
        lengths += [len(caption_words(text)) for text in captions]
    usual = median_low(lengths)
    most = {n: max((count for gram, count in images.items() if len(gram) == n), default=1) for n in LENGTHS}

    def fitting(text: str) -> float:
        """The mean share of images, each length of n-grams counted alike."""
        shares = ([images[gram] for gram in every[text].elements() if len(gram) == n] for n in LENGTHS)
        return sum(sum(counts) / len(counts) / most[n] for n, counts in zip(LENGTHS, shares, strict=True) if counts)

    return max((text for text in sorted(every) if len(caption_words(text)) == usual), key=fitting)
