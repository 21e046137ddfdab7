"""Description: a vector in, a text out. A number is spelled out, a label or some numbers become a sentence.

N examples · K numbers of a code
"""

from array import array
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from seqwright.batches import Batches, Column, Zipped
from seqwright.batches.bucketed import Bucketed, by_column
from seqwright.batches.described import Described, described_by_code
from seqwright.cache import Ragged
from seqwright.data.described import DescribedData, GivenText
from seqwright.data.examples import PartName
from seqwright.decoding.settings import DecodingSettings
from seqwright.devices import device_of
from seqwright.errors import DataError
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.inputs.vector_text import VectorText
from seqwright.inputs.vectors import Codes, Digits, KnownLabels, ScaledNumbers, Vectors
from seqwright.metrics.text import chrf, exact_match, exact_match_by_kind, perplexity
from seqwright.objectives.next_token import NextToken
from seqwright.outputs.text_search import TextCandidate
from seqwright.progress import Progress
from seqwright.recipe import Recipe
from seqwright.tasks import Checked, Evaluation, Prepared, refuse_missing_part, sample
from seqwright.tasks.describer import Describer
from seqwright.tasks.description_check import checked_descriptions
from seqwright.text_cache import Rules, tokenised_texts

SIGNATURES = {"loss": "nats a token, ends included", "perplexity": "a token, ends included"}

DescribedBatches = Bucketed[Any, Described]


class DescriptionTask:
    """See `seqwright.tasks.Task`."""

    def learnt_inputs(self, recipe: Recipe, data: DescribedData, tokenizer: Tokenizer | None = None) -> VectorText:
        """The tokenizer, if none is given, and how vectors are made, learnt from the training part."""
        texts = (example.text for example in usable(data, "train"))
        return VectorText.learnt(texts, learnt_vectors(data), recipe.input, tokenizer)

    def loaded_inputs(self, folder: Path) -> VectorText:
        """The tokenizer and the vectors of a run."""
        return VectorText.load(folder)

    def prepared(self, recipe: Recipe, data: DescribedData, inputs: VectorText) -> Prepared:
        """Both parts tokenised; batches of the one, judgement on the other."""
        train, valid = (tokenised(recipe, data, inputs, part) for part in ("train", "valid"))
        notes = [f"train: {train.sentence()}", f"valid: {valid.sentence()}"]
        return Prepared(
            train=batches_of(recipe, inputs, train),
            evaluate=validation(recipe, data, inputs, valid),
            scores=("loss", "perplexity", "exact", "chrf"),
            lower_is_better=frozenset({"loss", "perplexity"}),
            notes=notes,
        )

    def checked(self, recipe: Recipe, data: DescribedData, inputs: VectorText) -> tuple[Checked, DescribedBatches]:
        """Every part tokenised and looked at."""
        parts = {part: tokenised(recipe, data, inputs, part) for part in data.parts()}
        batches = batches_of(recipe, inputs, parts["train"])
        return checked_descriptions(data, inputs, {part: each.rows for part, each in parts.items()}, batches), batches

    def evaluated(
        self,
        recipe: Recipe,
        data: DescribedData,
        inputs: VectorText,
        model: nn.Module,
        part: PartName,
        decoding: DecodingSettings,
    ) -> Evaluation:
        """Loss, perplexity, exact match and chrF, and what the model wrote for each thing given."""
        refuse_missing_part(data, part)
        tokens, examples = tokenised(recipe, data, inputs, part), list(usable(data, part))
        written = Describer(model, inputs, decoding).best([example.given for example in examples])
        wanted, lowercase = [example.text for example in examples], recipe.input.lowercase
        exact, chars = (score(written, wanted, lowercase=lowercase) for score in (exact_match, chrf))
        kinds = [example.kind for example in examples]
        groups = exact_match_by_kind(written, wanted, kinds, lowercase=lowercase)
        return Evaluation(
            scores={**losses(model, batches_of(recipe, inputs, tokens)), "exact": exact.value, "chrf": chars.value},
            signatures={**SIGNATURES, "exact": exact.signature, "chrf": chars.signature},
            groups={kind: (found.matched, found.total) for kind, found in groups.items() if kind},
            answers=[
                {"given": example.given, "reference": example.text, "hypothesis": text}
                for example, text in zip(examples, written, strict=True)
            ],
            notes=[f"{part}: {tokens.sentence()}" + (" of the loss" if tokens.overlong else "")],
        )

    def predictions(
        self, recipe: Recipe, inputs: VectorText, model: nn.Module, given: list[Any], decoding: Any
    ) -> list[TextCandidate]:
        """The text for each thing that is given: a number, a label, or several numbers."""
        asked = [",".join(map(str, each)) if isinstance(each, tuple) else str(each) for each in given]
        return [candidates[0] for candidates in Describer(model, inputs, decoding)(asked)]


def learnt_vectors(data: Any) -> Vectors:
    """How vectors are made of what the training part gives."""
    match data.described_by:
        case "digits":
            return Digits(data.largest)
        case "label":
            return KnownLabels.learnt({example.given for example in usable(data, "train")})
        case _:
            plain = ScaledNumbers.unscaled(data.columns)
            code_NK, _ = coded(data, plain, "train")
            return plain.scaled(code_NK)


def usable(data: DescribedData, part: PartName) -> Iterator[GivenText]:
    """The examples that have a text and something to write it from."""
    return (example for example in data.examples(part) if not example.blank)


def coded(data: DescribedData, vectors: Vectors, part: PartName) -> tuple[Codes, int]:
    """The codes of the usable examples of a part, and how many others there are."""
    numbers, used, left_out = array("d"), 0, 0
    for example in data.examples(part):
        if example.blank:
            left_out += 1
            continue
        try:
            numbers.extend(vectors.code(example.given))
        except DataError as error:
            raise DataError(f"the {part} part: {error}") from error
        used += 1
    if not used:
        raise DataError(f"no row of the {part} part has both a text and what it is to be written from; give some")
    return np.asarray(numbers, dtype=np.float64).reshape(used, -1), left_out


class TokenisedDescriptions(NamedTuple):
    """A part as token rows, each with its code, and how many examples were left out or cut, and why."""

    rows: Ragged
    code_NK: Codes
    blank: int
    overlong: int
    cut: int

    def sentence(self) -> str:
        """`20,000 texts; left out: 3 blank, 2 too long`."""
        why = {"blank": self.blank, "too long": self.overlong}
        left_out = ", ".join(f"{count:,} {reason}" for reason, count in why.items() if count)
        told = f"{len(self.rows):,} texts" + (f"; left out: {left_out}" if left_out else "")
        return told + (f"; cut: {self.cut:,} too long" if self.cut else "")


def tokenised(recipe: Recipe, data: DescribedData, inputs: VectorText, part: PartName) -> TokenisedDescriptions:
    """A part as token rows, from the cache where it is there, and what each is written from."""
    code_NK, left_out = coded(data, inputs.vectors, part)
    texts = tokenised_texts(
        (example.text for example in usable(data, part)),
        key=f"described {data.fingerprint(part)} {inputs.tokenizer.fingerprint()}",
        encode=inputs.tokenizer.encode,
        decode=lambda ids: inputs.tokenizer.decode(ids.tolist()),
        rules=Rules(recipe.input.longest, recipe.input.overlong),
        where=f"the {part} part",
        progress=Progress(f"tokenising the {part} part"),
    )
    return TokenisedDescriptions(texts.rows, code_NK[texts.number_N], left_out, texts.kept.overlong, texts.kept.cut)


def batches_of(recipe: Recipe, inputs: VectorText, part: TokenisedDescriptions) -> DescribedBatches:
    """The batches of a part."""
    return Bucketed(
        Zipped(Column(part.code_NK), part.rows),
        by_column(partial(described_by_code, vectors=inputs.vectors.vectors, begin=inputs.begin, end=inputs.end)),
        tokens=recipe.training.tokens,
        seed=recipe.training.seed,
        marks=1,
    )


def validation(
    recipe: Recipe, data: DescribedData, inputs: VectorText, part: TokenisedDescriptions
) -> Callable[[nn.Module], dict[str, float]]:
    """Loss on the whole validation part, greedy scores on a sample of it."""
    batches = batches_of(recipe, inputs, part)
    some = sample(usable(data, "valid"))
    given, wanted = [example.given for example in some], [example.text for example in some]
    greedy = recipe.decoding.model_copy(update={"beam": 1, "n_best": 1, "temperature": 0.0})
    lowercase = recipe.input.lowercase

    def evaluate(model: nn.Module) -> dict[str, float]:
        written = Describer(model, inputs, greedy).best(given)
        return {
            **losses(model, batches),
            "exact": exact_match(written, wanted, lowercase=lowercase).value,
            "chrf": chrf(written, wanted, lowercase=lowercase).value,
        }

    return evaluate


@torch.inference_mode()
def losses(model: nn.Module, batches: Batches[Any]) -> dict[str, float]:
    """Mean negative log-likelihood a target token, and its perplexity, over every example."""
    objective, device = NextToken(), device_of(model)
    total, count = 0.0, 0
    for batch in batches.once():
        loss, _ = objective(model, batch.to(device), None)
        total, count = total + float(loss.parts["loss"].sum), count + loss.parts["loss"].over
    return {"loss": total / count, "perplexity": perplexity(total, count)}
