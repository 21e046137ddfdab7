"""Prompting: a language model is taught to answer, as in `I am a student <to-fr> je suis étudiant`.

A text, a special token that names the task, and the answer are one row of tokens; only the answer is learnt, and
written later.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import nn

from seqwright.batches import Ids
from seqwright.batches.bucketed import Bucketed
from seqwright.batches.prompted import Prompted, PromptRows, prompted
from seqwright.cache import TokenisedPairs, tokenised_pairs
from seqwright.data.examples import PairData, PartName
from seqwright.data.mappings import Mappings
from seqwright.decoding.settings import DecodingSettings
from seqwright.devices import device_of
from seqwright.errors import SettingError
from seqwright.inputs.prompt_text import PromptText
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.metrics.text import exact_match_by_kind, perplexity
from seqwright.objectives.answer import Answer
from seqwright.progress import Progress
from seqwright.recipe import Recipe
from seqwright.tasks import Checked, Evaluation, Prepared, refuse_missing_part, sample
from seqwright.tasks.few_shot import Question, accuracy_by_shots, answered_in_turns, doubling
from seqwright.tasks.pair_check import checked_prompts
from seqwright.tasks.pair_scores import LOWER_IS_BETTER, score_names, scored
from seqwright.tasks.prompter import Prompter
from seqwright.tasks.translation import TrainingPairs, usable

PromptBatches = Bucketed[Ids, Prompted]


class PromptingTask:
    """See `seqwright.tasks.Task`."""

    def learnt_inputs(self, recipe: Recipe, data: PairData, tokenizer: Tokenizer | None = None) -> PromptText:
        """The tokenizer learnt from the training part, or another run's, with the token that names the task."""
        task = task_token(recipe)
        if tokenizer is not None:
            return PromptText.given(tokenizer, task)
        return PromptText.learnt(TrainingPairs(data), recipe.inputs, task)

    def loaded_inputs(self, folder: Path) -> PromptText:
        """The tokenizer of a run and its task."""
        return PromptText.load(folder)

    def prepared(self, recipe: Recipe, data: PairData, inputs: PromptText) -> Prepared:
        """Both parts tokenised; batches of the one, judgement on the other."""
        train, valid = (tokenised(recipe, data, inputs, part) for part in ("train", "valid"))
        notes = [f"each row is: text {inputs.task} answer; the answers are learnt"]
        notes += [f"train: {train.kept.sentence()}", f"valid: {valid.kept.sentence()}"]
        batches = batches_of(recipe, data, inputs, train)
        scores = ("loss", "perplexity", *score_names(recipe))
        return Prepared(batches, validation(recipe, data, inputs, valid), scores, LOWER_IS_BETTER, notes)

    def checked(self, recipe: Recipe, data: PairData, inputs: PromptText) -> tuple[Checked, PromptBatches]:
        """Every part tokenised and looked at."""
        parts = {part: tokenised(recipe, data, inputs, part) for part in data.parts()}
        batches = batches_of(recipe, data, inputs, parts["train"])
        return checked_prompts(recipe, data, inputs, parts, batches), batches

    def evaluated(
        self,
        recipe: Recipe,
        data: PairData,
        inputs: PromptText,
        model: nn.Module,
        part: PartName,
        decoding: DecodingSettings,
    ) -> Evaluation:
        """Loss and perplexity of the answers, what was written against what was wanted, and every answer."""
        refuse_missing_part(data, part)
        asked = list(questions(data, part))
        pairs, shots = [question.pair for question in asked], [question.shots for question in asked]
        prompter = Prompter(model, inputs, decoding, longest=recipe.inputs.longest)
        found = [candidates[0] for candidates in prompter([pair.source for pair in pairs], shots=shots)]
        texts, wanted = [answer.text for answer in found], [pair.target for pair in pairs]
        scores, rows = scored(recipe, pairs, texts), tokenised(recipe, data, inputs, part)
        fewer = accuracy_by_shots(answered_in_turns(prompter), asked, doubling(turns_of(data) - 1)[:-1])
        kinds = [pair.kind for pair in pairs]
        groups = exact_match_by_kind(texts, wanted, kinds, lowercase=recipe.inputs.lowercase)
        return Evaluation(
            scores={
                **losses(model, batches_of(recipe, data, inputs, rows)),
                **{f"exact after {each.shots}": 100 * each.share for each in fewer},
                **{name: score.value for name, score in scores.items()},
            },
            signatures={name: score.signature for name, score in scores.items()},
            groups={kind: (m.matched, m.total) for kind, m in groups.items() if kind},
            answers=[
                {"source": pair.source, "reference": pair.target, "hypothesis": a.text, "score": round(a.score, 4)}
                for pair, a in zip(pairs, found, strict=True)
            ],
            notes=[f"{part}: {rows.kept.sentence()}"],
        )


def task_token(recipe: Recipe) -> str:
    """The token that names the task: the recipe's, or else what the data suggests."""
    if recipe.inputs.task is not None:
        task: str = recipe.inputs.task
        return task
    match recipe.data.kind:
        case "card" | "dates":
            return f"<to-{recipe.data.target}>"
        case "summaries" | "summaries-card":
            return "<summarize>"
        case "pronunciations" | "pronunciations-card":
            return "<pronounce>"
        case "files":
            return "<answer>"
        case "mappings":
            return "<becomes>"
        case toy:
            return f"<{toy}>"


def tokenised(recipe: Recipe, data: PairData, inputs: PromptText, part: PartName) -> TokenisedPairs:
    """A part of the corpus as token rows that fit into the model, from the cache where they are there."""
    rows = tokenised_pairs(
        data.examples(part),
        key=f"{data.fingerprint(part)} {inputs.fingerprint()}",
        source=inputs.tokenizer.encode,
        target=inputs.tokenizer.encode,
        longest=recipe.inputs.longest,
        overlong=recipe.inputs.overlong,
        where=f"the {part} part",
        progress=Progress(f"tokenising the {part} part"),
    )
    length_N = PromptRows(rows.source, rows.target, inputs.marks, turns_of(data)).length_N
    found, context = int(length_N.max()) + 1, recipe.model.context
    if found > context:
        raise SettingError(
            f"the {part} part has a row of {found} tokens, text and answer together, more than model.context = "
            f"{context}: lower inputs.longest = {recipe.inputs.longest}, or raise model.context"
        )
    return rows


def batches_of(recipe: Recipe, data: PairData, inputs: PromptText, part: TokenisedPairs) -> PromptBatches:
    """The batches of a part."""
    return Bucketed(
        PromptRows(part.source, part.target, inputs.marks, turns_of(data)),
        partial(prompted, marks=inputs.marks),
        tokens=recipe.training.tokens,
        seed=recipe.training.seed,
        marks=1,
    )


def turns_of(data: PairData) -> int:
    """How many pairs stand in a row: one, but for data that has examples before each question."""
    return data.turns if isinstance(data, Mappings) else 1


def questions(data: PairData, part: PartName) -> Iterator[Question]:
    """What can be asked of a part: its pairs, or the last of each row after the others."""
    pairs, turns = usable(data.examples(part)), turns_of(data)
    while row := tuple(islice(pairs, turns)):
        yield Question(row[:-1], row[-1])


def validation(
    recipe: Recipe, data: PairData, inputs: PromptText, part: TokenisedPairs
) -> Callable[[nn.Module], dict[str, float]]:
    """Loss on the whole validation part, greedy scores on a sample of it."""
    batches = batches_of(recipe, data, inputs, part)
    some = sample(questions(data, "valid"))
    asked = [question.pair for question in some]
    greedy = recipe.decoding.model_copy(update={"beam": 1, "n_best": 1, "temperature": 0.0})

    def evaluate(model: nn.Module) -> dict[str, float]:
        found = answered_in_turns(Prompter(model, inputs, greedy, longest=recipe.inputs.longest))(some)
        return losses(model, batches) | {name: score.value for name, score in scored(recipe, asked, found).items()}

    return evaluate


@torch.inference_mode()
def losses(model: Any, batches: PromptBatches) -> dict[str, float]:
    """Mean negative log-likelihood a token of an answer, and its perplexity, over every example."""
    objective, device = Answer(), device_of(model)
    total, count = 0.0, 0
    for batch in batches.once():
        loss, _ = objective(model, batch.to(device), None)
        total, count = total + float(loss.parts["loss"].sum), count + loss.parts["loss"].over
    return {"loss": total / count, "perplexity": perplexity(total, count)}
