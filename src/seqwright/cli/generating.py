"""`generate`: a language model goes on with a text."""

import json
import sys
from pathlib import Path
from typing import Any

from seqwright.cli.evaluating import decoding_settings
from seqwright.cli.language_runs import opened_language_run
from seqwright.cli.terminal import say
from seqwright.errors import DataError, SettingError
from seqwright.tasks.language import first_token
from seqwright.tasks.writer import Continuation, Writer


def generate_texts(
    folder: Path, openings: list[str], decoding: dict[str, Any], *, scores: bool, as_json: bool, which: str
) -> None:
    """Write on from each opening; a single one is shown while it is written."""
    run = opened_language_run(folder, which, "generate")
    settings = decoding_settings(run, decoding)
    openings = [_usable(run.inputs, opening) for opening in openings or [""]]
    writer = Writer(run.model, run.inputs, settings, first=first_token(run.recipe, run.inputs))
    watched = len(openings) == 1 and settings.beam == 1 and settings.n_best == 1 and not (scores or as_json)
    if watched:
        print(openings[0], end="", flush=True)
        (candidates,) = writer(openings, tell=lambda text: print(text, end="", flush=True))
        print(flush=True)
        if not candidates[0].finished:
            say(f"stopped after {len(candidates[0].tokens)} tokens; --longest allows more")
        return
    for candidates in writer(openings):
        for place, candidate in enumerate(candidates, start=1):
            print(_line(candidate, place, scores=scores, as_json=as_json))
    sys.stdout.flush()


def drawn_or_searched(chance: dict[str, Any], *, greedy: bool, beam: int | None) -> dict[str, Any]:
    """The decoding settings: by chance, unless `--greedy` or `--beam` asks for the likeliest."""
    if not greedy and beam is None:
        return {"beam": 1, **chance, "temperature": 1.0 if chance["temperature"] is None else chance["temperature"]}
    given = [f"--{name.replace('_', '-')}" for name, value in chance.items() if value is not None]
    if given:
        raise SettingError(f"{', '.join(given)} is for drawing, and {'--greedy' if greedy else '--beam'} does not draw")
    if greedy and beam not in {None, 1}:
        raise SettingError(f"--greedy and --beam {beam} contradict each other; give one of them")
    return {"beam": beam or 1, "temperature": 0.0}


def _usable(inputs: Any, opening: str) -> str:
    """The opening as the vocabulary can say it; the space at its end is brought along by the next word."""
    unknown = inputs.tokenizer.unknown_characters([opening])
    if unknown:
        raise DataError(
            f"the text has {' '.join(map(repr, unknown))}, which the model's vocabulary lacks; leave it out"
        )
    return opening if inputs.tokenizer.kind == "characters" else opening.rstrip(" ")


def _line(candidate: Continuation, place: int, *, scores: bool, as_json: bool) -> str:
    if as_json:
        fields: dict[str, Any] = {"prompt": candidate.prompt, "text": candidate.text, "rank": place}
        fields |= {"score": candidate.score, "log_probability": candidate.log_probability}
        return json.dumps({**fields, "finished": candidate.finished}, ensure_ascii=False)
    return f"{candidate.score:.4f}\t{candidate.text}" if scores else candidate.text
