"""`generate`: a language model goes on with a text, or a text is written from a number, a label or the like."""

import json
import sys
from collections.abc import Sized
from pathlib import Path
from typing import Any

from seqwright.cli.evaluating import decoding_settings
from seqwright.cli.opening import opened_for
from seqwright.cli.terminal import say
from seqwright.errors import DataError, SettingError
from seqwright.inputs.tokenizers import UNKNOWN
from seqwright.lineage import task_name
from seqwright.runs import Run
from seqwright.tasks.describer import Describer
from seqwright.tasks.language import first_token
from seqwright.tasks.writer import Continuation, Writer

BY_CHANCE = {"beam": 1, "temperature": 1.0}  # how a language model writes, and what drawing is where nobody says how


def generate_texts(
    folder: Path, prompts: list[str], decoding: dict[str, Any], *, scores: bool, as_json: bool, which: str
) -> None:
    """Write on from each prompt, or write what it stands for; a single text that goes on is shown while it is."""
    run = opened_for("generate", folder, which)
    from_vectors = task_name(run.recipe.data.kind) == "description"
    # What is written from a vector is chosen as the recipe says: drawn only if that does, or an option asks for it.
    as_in_recipe = from_vectors and (run.recipe.decoding.temperature or "beam" not in decoding)
    settings = decoding_settings(run, decoding if as_in_recipe else {**BY_CHANCE, **decoding})
    if from_vectors:
        _describe(run, prompts, settings, scores=scores, as_json=as_json)
    else:
        _write_on(run, prompts or [""], settings, scores=scores, as_json=as_json)
    sys.stdout.flush()


def _write_on(run: Run, prompts: list[str], settings: Any, *, scores: bool, as_json: bool) -> None:
    openings = [_usable(run.inputs, prompt) for prompt in prompts]
    writer = Writer(run.model, run.inputs, settings, first=first_token(run.recipe, run.inputs))
    watched = len(openings) == 1 and settings.beam == 1 and settings.n_best == 1 and not (scores or as_json)
    if watched:
        print(openings[0], end="", flush=True)
        (candidates,) = writer(openings, tell=lambda text: print(text, end="", flush=True))
        print(flush=True)
        if not candidates[0].finished:
            say(f"stopped after {len(candidates[0].tokens)} tokens; --longest allows more")
        return
    _print(writer(openings), scores=scores, as_json=as_json)


def _describe(run: Run, given: list[str], settings: Any, *, scores: bool, as_json: bool) -> None:
    if not given:
        raise DataError(f"nothing was given to write from; this run wants {run.inputs.vectors.wanted}")
    found = Describer(run.model, run.inputs, settings)(given)
    _print(found, scores=scores, as_json=as_json)
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
    foreign = [word for word in opening.split() if UNKNOWN in inputs.tokenizer.encode([word])[0]]
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
