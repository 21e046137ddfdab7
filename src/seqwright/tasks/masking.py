"""Finding hidden words: documents as sentences, one tokenizer with a mask, perplexity and accuracy of hidden words.

B batch · N hidden words
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from seqwright.batches.bucketed import Bucketed, by_column
from seqwright.batches.masked import Masked, MaskedRows, masked
from seqwright.batches.masks import Hidden
from seqwright.batches.sentences import Drawn, FullSentences, SentencePairs, Sentences
from seqwright.data.examples import PartName
from seqwright.data.sentences import sentences
from seqwright.data.text import TextData
from seqwright.devices import device_of
from seqwright.errors import DataError, RunError, SettingError
from seqwright.inputs.masked_text import MaskedText
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.metrics.text import perplexity
from seqwright.recipe import Recipe
from seqwright.tasks import Checked, Evaluation, Prepared, refuse_missing_part
from seqwright.tasks.masking_check import checked_sentences
from seqwright.text_cache import Rules, TokenisedTexts, tokenised_texts

RULE = "sentences 1"  # changes when documents are cut into sentences in another way
SIGNATURES = {
    "loss": "nats a hidden token, the same ones each time",
    "perplexity": "a hidden token",
    "accuracy": "hidden tokens found, %",
    "next_accuracy": "texts of which it was rightly said whether one follows the other, %",
}
MaskedBatches = Bucketed[tuple[Drawn, Hidden], Masked]
LOWER = frozenset({"loss", "perplexity"})


class MaskingTask:
    """See `seqwright.tasks.Task`."""

    def learnt_inputs(self, recipe: Recipe, data: TextData, tokenizer: Tokenizer | None = None) -> MaskedText:
        """The tokenizer learnt from the training part, or a given one, with a mask."""
        lines = (sentence for text in data.examples("train") for sentence in sentences(text))
        return MaskedText.learnt(lines, recipe.inputs, tokenizer)

    def loaded_inputs(self, folder: Path) -> MaskedText:
        """The tokenizer of a run."""
        return MaskedText.load(folder)

    def prepared(self, recipe: Recipe, data: TextData, inputs: MaskedText) -> Prepared:
        """Both parts tokenised; batches of the one, judgement on the other."""
        refuse_what_does_not_fit(recipe)
        train, valid = (examples_of(recipe, data, inputs, part) for part in ("train", "valid"))
        judged = batches_of(recipe, inputs, valid.examples)
        return Prepared(
            batches_of(recipe, inputs, train.examples),
            lambda model: found_in(model, judged).scores(),
            tuple(name for name in SIGNATURES if name != "next_accuracy" or recipe.inputs.examples == "pairs"),
            LOWER,
            [f"train: {train.sentence()}", f"valid: {valid.sentence()}"],
        )

    def checked(self, recipe: Recipe, data: TextData, inputs: MaskedText) -> tuple[Checked, MaskedBatches]:
        """Every part tokenised and looked at."""
        refuse_what_does_not_fit(recipe)
        parts = {part: examples_of(recipe, data, inputs, part) for part in data.parts()}
        batches = batches_of(recipe, inputs, parts["train"].examples)
        tokens = {part: found.tokens for part, found in parts.items()}
        examples = {part: found.examples for part, found in parts.items()}
        return checked_sentences(data, inputs, tokens, examples, batches), batches

    def evaluated(
        self, recipe: Recipe, data: TextData, inputs: MaskedText, model: nn.Module, part: PartName, decoding: Any
    ) -> Evaluation:
        """How well the words are found that are hidden of a part, and what is said at each."""
        if not recipe.model.head:
            raise RunError("the model was imported without the output that says hidden words; embed can use it")
        refuse_missing_part(data, part)
        read = examples_of(recipe, data, inputs, part)
        answers: list[dict[str, Any]] = []
        batches = batches_of(recipe, inputs, read.examples)
        found = found_in(model, batches, lambda batch, said: answers.extend(_answers(inputs, batch, said)))
        scores = found.scores()
        signatures = {name: SIGNATURES[name] for name in scores}
        return Evaluation(scores, signatures, {}, answers, [f"{part}: {read.sentence()}"])


def refuse_what_does_not_fit(recipe: Recipe) -> None:
    """Refuse examples that the model cannot read, or can say nothing of."""
    longest, context = recipe.inputs.longest, recipe.model.context
    if longest > context:
        raise SettingError(
            f"inputs.longest is {longest}, but the model reads {context} tokens at once: lower it, or raise "
            "model.context"
        )
    if not recipe.model.head:
        raise SettingError(
            "model.head is false, and a model that cannot say hidden words cannot learn from them: set model.head=true"
        )
    if recipe.inputs.examples == "pairs" and not recipe.model.pooler:
        raise SettingError(
            f"inputs.examples is 'pairs', but a {recipe.model.kind} without a pooler cannot say whether one text "
            "follows another: set inputs.examples=sentences, or model.pooler=true"
        )
    if recipe.inputs.examples == "sentences" and recipe.model.pooler:
        raise SettingError(
            "inputs.examples is 'sentences', of which nothing is asked that the model's pooler is for: set "
            "model.pooler=false"
        )


class Read(NamedTuple):
    """A part of the data as examples."""

    tokens: TokenisedTexts
    examples: SentencePairs | FullSentences

    def sentence(self) -> str:
        """`600 documents, 88,050 sentences, 21,093 examples`."""
        told = f"{self.tokens.kept.sentence()}; {len(self.examples.length_N):,} examples"
        alone = self.examples.left_out
        return told + (f"; left out: {alone:,} documents of one sentence" if alone else "")


def examples_of(recipe: Recipe, data: TextData, inputs: MaskedText, part: PartName) -> Read:
    """A part of the corpus, tokenised or from the cache, as examples of the kind that the recipe wants."""
    tokens = tokenised_texts(
        data.examples(part),
        key=f"{RULE} {data.fingerprint(part)} {inputs.fingerprint()}",
        encode=lambda texts: inputs.encode([sentences(text) for text in texts]),
        decode=lambda ids: inputs.tokenizer.decode(ids.tolist()),
        rules=Rules(),
        where=f"the {part} part",
    )
    kind = SentencePairs if recipe.inputs.examples == "pairs" else FullSentences
    longest = recipe.inputs.longest
    read = Sentences(tokens.rows, end=inputs.end, most=kind.most(longest))
    examples = kind(read, longest=longest, begin=inputs.begin)
    if not len(examples.length_N) or (kind is SentencePairs and len(set(read.document_P[examples.first_N])) < 2):
        raise DataError(
            f"the {part} part has {len(tokens.rows):,} documents, of which at least two must have two sentences: with "
            'data.documents say what a document is, such as "paragraphs", or set inputs.examples=sentences'
        )
    return Read(tokens, examples)


def batches_of(
    recipe: Recipe, inputs: MaskedText, examples: SentencePairs | FullSentences, *, fixed: bool = False
) -> MaskedBatches:
    """The batches of a part, its words masked as the recipe wants; with `fixed` the same ones in every epoch."""
    training = recipe.training
    rows = MaskedRows(examples, inputs.masks(recipe.inputs), seed=training.seed, fixed=fixed)
    return Bucketed(rows, by_column(masked), tokens=training.tokens, seed=training.seed)


class Found(NamedTuple):
    """What became of the hidden words of a part, and of what was asked about its texts."""

    words: int = 0
    nats: float = 0.0
    right: int = 0
    asked: int = 0
    rightly: int = 0

    def scores(self) -> dict[str, float]:
        """Every score; of the next sentence only where it was asked for."""
        scores = {
            "loss": self.nats / self.words,
            "perplexity": perplexity(self.nats, self.words),
            "accuracy": 100 * self.right / self.words,
        }
        return scores | ({"next_accuracy": 100 * self.rightly / self.asked} if self.asked else {})


class Said(NamedTuple):
    """What a model says of a batch: at each hidden word, and of each text whether its second half follows."""

    logp_N: Tensor  # of the word that stood there
    said_N: Tensor
    follows_B: Tensor  # negative where nobody asks


@torch.inference_mode()
def found_in(model: Any, batches: MaskedBatches, hear: Callable[[Masked, Said], None] | None = None) -> Found:
    """How well a model finds the hidden words; `hear` is told what it says of each batch."""
    device, found = device_of(model), Found()
    for batch in batches.once():
        word_NV, next_B2 = model.both(batch.to(device))
        logp_NV = word_NV.float().log_softmax(-1).cpu()
        target_N, asked_B = batch.target_N, batch.next_B >= 0
        follows_B = batch.next_B if next_B2 is None else next_B2.argmax(-1).cpu().where(asked_B, batch.next_B)
        said = Said(logp_NV.gather(1, target_N.unsqueeze(1)).squeeze(1).double(), logp_NV.argmax(-1), follows_B)
        found = Found(
            found.words + len(target_N),
            found.nats - float(said.logp_N.sum()),
            found.right + int((said.said_N == target_N).sum()),
            found.asked + int(asked_B.sum()),
            found.rightly + int((said.follows_B == batch.next_B)[asked_B].sum()),
        )
        if hear is not None:
            hear(batch, said)
    return found


def _answers(inputs: MaskedText, batch: Masked, said: Said) -> Iterator[dict[str, Any]]:
    """One for each text of a batch: what was read, what stood at the hidden words, and what was said there."""
    spelled = inputs.tokenizer.pieces
    first = 0
    for row, chosen_T in enumerate(batch.chosen_BT):
        some = slice(first, first + int(chosen_T.sum()))
        first = some.stop
        follows = int(batch.next_B[row])
        asked = {} if follows < 0 else {"follows": bool(follows), "said_follows": bool(said.follows_B[row])}
        yield {
            "text": inputs.tokenizer.decode(batch.input[row][batch.real_BT[row]].tolist()),
            "hidden": spelled(batch.target_BT[row][chosen_T].tolist()),
            "said": spelled(said.said_N[some].tolist()),
            "log_probability": round(float(said.logp_N[some].sum()), 4),
            **asked,
        }
