"""`generate`: a language model goes on with a text, or answers it, or a text is written from a number or a label."""

import json
import sys
from collections.abc import Iterable, Iterator, Sized
from pathlib import Path
from typing import Any

from seqwright.cli.evaluating import decoding_settings
from seqwright.cli.opening import opened_for
from seqwright.cli.prompting import answered
from seqwright.cli.terminal import say
from seqwright.cli.translating import asked, some_lines
from seqwright.errors import DataError, SettingError
from seqwright.runs import Run
from seqwright.tasks.language import first_token
from seqwright.tasks.writer import LONGEST, Continuation, Writer

BY_CHANCE = {"beam": 1, "temperature": 1.0}  # how a language model writes, and what drawing is where nobody says how


def generate_texts(
    folder: Path,
    texts: list[str],
    file: Path | None,
    decoding: dict[str, Any],
    *,
    scores: bool,
    as_json: bool,
    which: str,
) -> None:
    """Write on from each prompt, or write what it stands for; a single text that goes on is shown while it is."""
    blocks = _blocks(texts, file)
    run = opened_for("generate", folder, which)
    task = run.recipe.family
    # What is written to something is chosen as the recipe says: drawn only if that does, or an option asks for it.
    as_in_recipe = task != "language-modeling" and (run.recipe.decoding.temperature or "beam" not in decoding)
    settings = decoding_settings(run, decoding if as_in_recipe else {**BY_CHANCE, **decoding})
    if task in {"instruction", "translation"}:
        for found in answered(run, blocks, settings):
            _print(found, scores=scores, as_json=as_json)
    elif task == "vector-to-text":
        if not texts and file is None:
            raise DataError(f"nothing was given to write from; this run wants {run.inputs.input.vectors.wanted}")
        for found in answered(run, blocks, settings):
            _print(found, scores=scores, as_json=as_json)
    else:
        _write_on(run, blocks, settings, scores=scores, as_json=as_json)
    sys.stdout.flush()


def _blocks(texts: list[str], file: Path | None) -> Iterator[list[str]]:
    """The prompts, as many at once as there are; without any, one from nothing."""
    given, file = asked("generate", texts, file)
    if file is not None or texts == ["-"]:
        return some_lines([], file)
    return iter([given or [""]])  # whole: a prompt may have several lines


def _write_on(run: Run, blocks: Iterator[list[str]], settings: Any, *, scores: bool, as_json: bool) -> None:
    writer = Writer(run.model, run.inputs, settings, first=first_token(run.recipe, run.inputs))
    watched = settings.beam == 1 and settings.n_best == 1 and not (scores or as_json)
    row, unfinished = 0, Unfinished(writer)
    for block in blocks:
        openings = [_usable(run.inputs, prompt) for prompt in block]
        if watched and len(openings) == 1:
            found = writer(openings, first_row=row, tell=lambda text: print(text, end="", flush=True))
            print(flush=True)
        else:
            found = writer(openings, first_row=row)
            _print(found, scores=scores, as_json=as_json)
            sys.stdout.flush()
        row += len(openings)
        unfinished.add(candidate for candidates in found for candidate in candidates)
    unfinished.tell()


class Unfinished:
    """Counts texts that did not come to an end, and why."""

    def __init__(self, writer: Writer) -> None:
        self.writer, self.full, self.longest = writer, 0, 0

    def add(self, candidates: Iterable[Continuation]) -> None:
        """Look at some texts."""
        for candidate in candidates:
            if not candidate.finished:
                full = len(candidate.tokens) == self.writer.room(candidate.prompt)
                self.full, self.longest = self.full + full, self.longest + (not full)

    def tell(self) -> None:
        """Say what was found."""
        if self.full:
            full = f"texts that stopped because they filled the model's context of {self.writer.context:,} tokens"
            say(f"{full}: {self.full}; begin with less to get more")
        if self.longest:
            most = self.writer.settings.longest or LONGEST
            say(f"texts that stopped after {most} tokens: {self.longest}; --longest allows more")


def drawn_or_searched(chance: dict[str, Any], *, greedy: bool, beam: int | None) -> dict[str, Any]:
    """The decoding settings: the likeliest with `--greedy` or `--beam`, by chance with options for it, else none."""
    given = {name: value for name, value in chance.items() if value is not None}
    if not greedy and beam is None:
        return {"beam": 1, **given} if given else {}
    if given:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        search = "--greedy" if greedy else "--beam"
        raise SettingError(f"{options} {_is(given)} for drawing, and {search} does not draw; leave one of them out")
    if greedy and beam not in {None, 1}:
        raise SettingError(f"--greedy and --beam {beam} contradict each other; give one of them")
    return {"beam": 1 if beam is None else beam, "temperature": 0.0}


def _usable(inputs: Any, opening: str) -> str:
    """The opening as the vocabulary can say it; the space at its end is brought along by the next word."""
    unknown = inputs.tokenizer.unknown_characters([opening])
    if unknown:
        raise DataError(
            f"the text has {' '.join(map(repr, unknown))}, which {_is(unknown)} not in the model's vocabulary; leave "
            f"{'it' if len(unknown) == 1 else 'them'} out"
        )
    foreign = inputs.tokenizer.unknown_words([opening])
    if foreign:
        say(f"the vocabulary lacks {' '.join(map(repr, foreign))}: the model reads on as after an unknown word")
    return opening if inputs.tokenizer.kind == "characters" else opening.rstrip(" ")


def _is(several: Sized) -> str:
    return "is" if len(several) == 1 else "are"


def _print(found: list[list[Continuation]], *, scores: bool, as_json: bool) -> None:
    for candidates in found:
        for place, candidate in enumerate(candidates, start=1):
            print(_line(candidate, place, scores=scores, as_json=as_json))


def _line(candidate: Continuation, place: int, *, scores: bool, as_json: bool) -> str:
    if as_json:
        fields: dict[str, Any] = {"prompt": candidate.prompt, "text": candidate.text, "rank": place}
        fields |= {"score": candidate.score, "log_probability": candidate.log_probability}
        return json.dumps({**fields, "finished": candidate.finished}, ensure_ascii=False)
    return f"{candidate.score:.4f}\t{candidate.text}" if scores else candidate.text
