"""The verbs whose answer is a text: `translate`, `summarize`, `pronounce`, `reply`, `describe`, and `generate`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from seqwright.cli.asking import AskedInput, Asking, Result
from seqwright.cli.evaluating import decoding_settings
from seqwright.cli.opening import computed_by, opened_for, opened_together
from seqwright.cli.options import EngineOptions, EnsembleOptions, SourceOptions, TextAnswers, Things, WritingOptions
from seqwright.cli.terminal import say
from seqwright.decoding.searching import run_search
from seqwright.errors import DataError, SettingError
from seqwright.inputs import Examples, Given
from seqwright.inputs.tokenizers import Tokenizer
from seqwright.outputs.continuations import LONGEST, room_after
from seqwright.outputs.text_search import Search, TextCandidate
from seqwright.runs import Run, joined_run


def write_texts(
    verb: str,
    things: Things,
    writing: WritingOptions,
    answers: TextAnswers,
    *,
    sample: bool,
    computing: EngineOptions,
    source: SourceOptions | None = None,
    ensemble: EnsembleOptions | None = None,
    prefix: str = "",
) -> None:
    """Print the text for each thing that is given, or the best ones, as the recipe or the options search or sample."""
    asking = writing_asked(verb, things, writing, answers)
    chosen = {**writing.settings(), **(source.settings() if source else {}), **search_or_sample(writing, sample=sample)}
    run = opened_for(verb, things.run, answers.which)
    runs, average = opened_together(run, ensemble or EnsembleOptions(), answers.which)
    settings = writing_settings(run, chosen)
    together = computed_by(joined_run(runs, average), computing.engine, plain=answers.scores or answers.json)
    wires, model = together.inputs, together.model
    begin = usable_prefix(wires.output.tokenizer, prefix) if prefix else ""
    unfinished = 0

    def predict(examples: Given[Any], first: int) -> Iterator[list[Result]]:
        nonlocal unfinished
        search = Search(settings, begin, first=first, engine=together.engine)
        for example, prediction in zip(examples, wires.predictions(model, examples, search), strict=True):
            candidates = prediction.candidates or (prediction.best,)
            unfinished += sum(not candidate.finished for candidate in candidates)
            yield text_results(candidates, scores=answers.scores, begin=wires.input.line_start(example))

    asking.give(run, predict, wires.input)
    if unfinished:
        say(f"texts that did not come to an end: {unfinished}; --longest allows more tokens, if the model has room")


def writing_asked(verb: str, things: Things, writing: WritingOptions, answers: TextAnswers) -> Asking:
    """A verb that writes a text, or several, for each that is given; a table has room for one in each row."""
    asking = Asking(verb, things, answers)
    if asking.output is not None and (writing.n_best or 1) > 1:
        raise SettingError(f"--n-best is {writing.n_best}, but a table has one text in each row; leave it out")
    asking.added = {**asking.added, **({"score": "score"} if answers.scores else {})}
    return asking


def text_results(candidates: Sequence[TextCandidate], *, scores: bool, begin: str = "") -> list[Result]:
    """A result for each candidate, the best first; `begin` stands before each line."""
    return [
        Result(
            begin + (f"{each.score:.4f}\t{each.text}" if scores else each.text),
            {
                "text": each.text,
                "rank": rank,
                "score": each.score,
                "log_probability": each.log_probability,
                "finished": each.finished,
            },
        )
        for rank, each in enumerate(candidates, start=1)
    ]


def search_or_sample(writing: WritingOptions, *, sample: bool = False, greedy: bool = False) -> dict[str, Any]:
    """The decoding settings that decide between the two: where no option does, none.

    A temperature of None is the recipe's, or 1 where that has none.
    """
    sampling = [f"--{name.replace('_', '-')}" for name in writing.sampling()] + ["--sample"] * sample
    searching = ["--greedy"] * greedy + ["--beam"] * (writing.beam is not None)
    if sampling and searching:
        raise SettingError(f"{sampling[0]} is for sampling, and {searching[0]} searches; leave one of them out")
    if len(searching) == 2:
        raise SettingError(f"--greedy and --beam {writing.beam} contradict each other; give one of them")
    if writing.temperature == 0:
        raise SettingError("--temperature is 0, but sampling needs one above 0; --beam 1 takes the likeliest tokens")
    if searching:
        return {"beam": 1 if greedy else writing.beam, "temperature": 0.0}
    return {"beam": 1, "temperature": writing.temperature} if sampling else {}


def usable_prefix(tokenizer: Tokenizer, prefix: str) -> str:
    """The prefix without the space at its end, which the next word brings along."""
    unknown = tokenizer.unknown_characters([prefix])
    if unknown:
        raise DataError(
            f"--prefix has {' '.join(map(repr, unknown))}, which the model's vocabulary lacks; leave it out"
        )
    return prefix.rstrip()


def writing_settings(run: Run, chosen: dict[str, Any]) -> Any:
    """The recipe's decoding settings with those that were chosen; a temperature of None is the recipe's, or 1."""
    if chosen.get("temperature", 0.0) is None:
        chosen = {**chosen, "temperature": run.recipe.decoding.temperature or 1.0}
    return decoding_settings(run, chosen)


# ---------------------------------------------------------------------------------------------------- language models


def generate_texts(
    things: Things, writing: WritingOptions, answers: TextAnswers, *, greedy: bool, engine: str | None = None
) -> None:
    """Print how each opening continues, sampled if no option says otherwise; a single one is shown as it is written."""
    things = things if things.texts or things.file else replace(things, texts=[""])
    asking = writing_asked("generate", things, writing, answers)
    chosen = search_or_sample(writing, greedy=greedy) or {"beam": 1, "temperature": None}
    run = opened_for("generate", things.run, answers.which)
    run = computed_by(run, engine, plain=answers.scores or answers.json)
    settings = writing_settings(run, {**writing.settings(), **chosen})
    single = settings.beam == 1 and settings.n_best == 1 and not (answers.scores or answers.json or answers.output)
    streams = single and (run.engine is None or run.engine.optional)
    unfinished = Unfinished(run, settings)

    def predict(examples: Given[str], first: int) -> Iterator[list[Result]]:
        search = Search(settings, first=first, engine=run.engine)
        if streams and len(examples.examples) == 1:
            pieces = run.inputs.stream(run.model, examples.examples[0], search)
            unfinished.add(examples.examples[0], [run_search(pieces, partial(print, end="", flush=True))])
            yield [Result("", {})]  # what is streamed is printed already, but for the end of its line
            return
        for opening, found in zip(
            examples, run.inputs.predictions(run.model, examples, search, method="write"), strict=True
        ):
            unfinished.add(opening, found.candidates)
            yield text_results(found.candidates, scores=answers.scores)

    asking.give(run, predict, opening_input(run.inputs.tokenizer), run.inputs.input.table_columns())
    unfinished.tell()


def opening_input(tokenizer: Tokenizer) -> AskedInput:
    """How texts begin that a language model continues; a text can begin with nothing."""

    def parse(given: str) -> str:
        """The opening as the vocabulary can say it; the space at its end is brought along by the next word."""
        unknown = tokenizer.unknown_characters([given])
        if unknown:
            one = len(unknown) == 1
            raise DataError(
                f"the text has {' '.join(map(repr, unknown))}, which {'is' if one else 'are'} not in the model's "
                f"vocabulary; leave {'it' if one else 'them'} out"
            )
        return given if tokenizer.kind == "characters" else given.rstrip(" ")

    def remarks(examples: Examples[str], first: int = 0) -> list[str]:
        foreign = tokenizer.unknown_words(list(examples))
        named = " ".join(map(repr, foreign))
        return [f"the vocabulary lacks {named}: the model reads on as after an unknown word"] if foreign else []

    return AskedInput(parse, lambda opening: {"prompt": opening}, remarks)


class Unfinished:
    """Counts texts that did not come to an end, and why."""

    def __init__(self, run: Run, settings: Any) -> None:
        self.run, self.settings, self.full, self.longest = run, settings, 0, 0

    def add(self, opening: str, candidates: Sequence[TextCandidate]) -> None:
        """Look at how a text continues."""
        room = room_after(self.run.model, len(self.run.inputs.tokenizer.encode([opening])[0]))
        unfinished = [len(each.tokens) == room for each in candidates if not each.finished]
        self.full, self.longest = self.full + sum(unfinished), self.longest + unfinished.count(False)

    def tell(self) -> None:
        """Say what was found."""
        if self.full:
            context = room_after(self.run.model, 0)
            told = f"texts that stopped because they filled the model's context of {context:,} tokens"
            say(f"{told}: {self.full}; begin with less to get more")
        if self.longest:
            most = self.settings.longest or LONGEST
            say(f"texts that stopped after {most} tokens: {self.longest}; --longest allows more")
