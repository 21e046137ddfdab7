"""`generate`: a language model goes on with a text, or answers it, or a text is written from a number or a label."""

import json
import sys
from collections.abc import Iterator, Sequence, Sized
from pathlib import Path
from typing import Any

from seqwright.cli.evaluating import decoding_settings
from seqwright.cli.opening import opened_for
from seqwright.cli.prompting import answered
from seqwright.cli.terminal import say
from seqwright.cli.translating import asked, some_lines
from seqwright.decoding.searching import run_search
from seqwright.errors import DataError, SettingError
from seqwright.outputs.continuations import LONGEST, room_after
from seqwright.outputs.text_search import Search, TextCandidate
from seqwright.runs import Run
from seqwright.tasks.describer import Describer

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
        for block, found in answered(run, blocks, settings):
            _print(block, found, scores=scores, as_json=as_json)
    elif task == "vector-to-text":
        given = [text for block in blocks for text in block]
        _describe(run, given if texts or file else [], settings, scores=scores, as_json=as_json)
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
    watched = settings.beam == 1 and settings.n_best == 1 and not (scores or as_json)
    row, unfinished = 0, Unfinished(run, settings)
    for block in blocks:
        openings = [_usable(run.inputs, prompt) for prompt in block]
        search = Search(settings, first=row)
        if watched and len(openings) == 1:
            pieces = run.inputs.stream(run.model, openings[0], search)
            found = [[run_search(pieces, lambda text: print(text, end="", flush=True))]]
            print(flush=True)
        else:
            found = [each.candidates for each in run.inputs.predict(run.model, openings, search, method="write")]
            _print(openings, found, scores=scores, as_json=as_json)
            sys.stdout.flush()
        row += len(openings)
        unfinished.add(openings, found)
    unfinished.tell()


class Unfinished:
    """Counts texts that did not come to an end, and why."""

    def __init__(self, run: Run, settings: Any) -> None:
        self.run, self.settings, self.full, self.longest = run, settings, 0, 0

    def add(self, openings: Sequence[str], found: Sequence[Sequence[TextCandidate]]) -> None:
        """Look at how some texts go on."""
        for ids, candidates in zip(self.run.inputs.tokenizer.encode(list(openings)), found, strict=True):
            room = room_after(self.run.model, len(ids))
            unfinished = [len(candidate.tokens) == room for candidate in candidates if not candidate.finished]
            self.full, self.longest = self.full + sum(unfinished), self.longest + unfinished.count(False)

    def tell(self) -> None:
        """Say what was found."""
        if self.full:
            context = room_after(self.run.model, 0)
            full = f"texts that stopped because they filled the model's context of {context:,} tokens"
            say(f"{full}: {self.full}; begin with less to get more")
        if self.longest:
            most = self.settings.longest or LONGEST
            say(f"texts that stopped after {most} tokens: {self.longest}; --longest allows more")


def _describe(run: Run, given: list[str], settings: Any, *, scores: bool, as_json: bool) -> None:
    if not given:
        raise DataError(f"nothing was given to write from; this run wants {run.inputs.vectors.wanted}")
    found = Describer(run.model, run.inputs, settings)(given)
    _print(given, found, scores=scores, as_json=as_json)
    unfinished = sum(not candidate.finished for candidates in found for candidate in candidates)
    if unfinished:
        say(f"texts that did not come to an end: {unfinished}; --longest allows more tokens")


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


def _print(prompts: Sequence[str], found: Sequence[Sequence[TextCandidate]], *, scores: bool, as_json: bool) -> None:
    for prompt, candidates in zip(prompts, found, strict=True):
        for place, candidate in enumerate(candidates, start=1):
            print(_line(prompt, candidate, place, scores=scores, as_json=as_json))


def _line(prompt: str, candidate: TextCandidate, place: int, *, scores: bool, as_json: bool) -> str:
    if as_json:
        fields: dict[str, Any] = {"prompt": prompt, "text": candidate.text, "rank": place}
        fields |= {"score": candidate.score, "log_probability": candidate.log_probability}
        return json.dumps({**fields, "finished": candidate.finished}, ensure_ascii=False)
    return f"{candidate.score:.4f}\t{candidate.text}" if scores else candidate.text
