"""Files of what rows predicted, without what is right: a later comparison has scores and p from them again.

The first line says what the predictions are of; each further one is the prediction for one example, by its number in
the part. The same predictions are the same bytes.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seqwright.comparison.plan import Plan, Trial
from seqwright.comparison.prediction_files import FORM, read_predictions
from seqwright.comparison.records import Found, Records
from seqwright.comparison.results import read_answers
from seqwright.comparison.stages import Outcome
from seqwright.comparison.statistics import kind_of_answers, scores_of
from seqwright.data.examples import PartName
from seqwright.errors import DataError
from seqwright.inputs.series import plain_values
from seqwright.metrics.answers import score_of
from seqwright.recipe import recipe_from, validated
from seqwright.whole_file import written_whole

KEPT = ("part", "sha256", "parameters", "training")  # of what was found of a trial
LARGEST = sys.float_info.max

Line = dict[str, Any]


class AnswerKind(NamedTuple):
    """What of an answer was predicted, and the answer again: from such a line and an example, or None if it is none."""

    predicted: tuple[str, ...]
    answer: Callable[[Line, Any], Line | None]


# ---------------------------------------------------------------------------------------------------- written


def write_predictions(plan: Plan, outcome: Outcome, records: Records) -> list[Path]:
    """A file for each trial that was evaluated here, beside the table."""
    trials = [trial for row in plan.rows if row.name not in outcome.failures for trial in row.trials]
    written = [trial for trial in trials if trial.predictions is None]
    return [_written(plan, trial, outcome.evaluated[trial.name], records) for trial in written]


def _written(plan: Plan, trial: Trial, evaluated: Found, records: Records) -> Path:
    answers = read_answers(records, trial.name)
    kind = kind_of_answers(answers)
    header: Line = {"predictions": FORM, "kind": kind, "examples": len(answers)}
    header |= {name: evaluated[name] for name in (*KEPT, "scores") if name in evaluated}
    header |= {"decoding": plan.decoding.model_dump(mode="json", exclude_none=True)} if plan.decodes else {}
    path = plan.folder / "predictions" / f"{trial.name}.jsonl.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    names = ("example", *KINDS[kind].predicted) if kind in KINDS else ("example", *UNSCORED)
    with written_whole(path) as file:
        file.write(_line({**header, "recipe": trial.recipe.resolved()}))
        file.writelines(_line({name: answer[name] for name in names if name in answer}) for answer in answers)
    return path


def _line(plain: Line) -> str:
    return json.dumps(plain, ensure_ascii=False) + "\n"


# ---------------------------------------------------------------------------------------------------- read again


def scored_again(job: Mapping[str, Any]) -> dict[str, Any]:
    """The scores of a file of predictions on the part it is of; its answers go to a file, as those of a run do."""
    from seqwright.runs import data_of

    path = Path(job["predictions"])
    header, lines = read_predictions(path)
    recipe = recipe_from(dict(header["recipe"]))
    recipe = recipe._replace(data=validated("data", job["data"], recipe.task))
    data, part = data_of(recipe), header["part"]
    _refuse_other_part(path, header, data, job["part"])
    answers = list(_answers(path, header.get("kind"), lines, data, part))
    with written_whole(Path(job["answers"])) as file:
        file.writelines(map(_line, answers))
    found: Found = {name: header[name] for name in KEPT if name in header}
    scores = scores_of(answers, header["scores"], lowercase=recipe.lowercase)
    return {**found, "scores": scores, "signatures": {}, "examples": len(answers)}


def _refuse_other_part(path: Path, header: Line, data: Any, part: PartName | None) -> None:
    chosen = part or ("test" if "test" in data.parts() else "valid")
    if header["part"] != chosen:
        raise DataError(
            f"{path} has predictions of the {header['part']} part, but the {chosen} part is compared; "
            f"set part = '{header['part']}'"
        )
    if header["sha256"] != data.fingerprint(chosen):
        raise DataError(f"{path} has predictions for another {chosen} part than [data] names; make them again")


def _answers(path: Path, name: str | None, lines: list[Line], data: Any, part: PartName) -> Iterator[Line]:
    """Each prediction with what is right, in the order of the examples."""
    kind = KINDS.get(name or "")
    if kind is None:
        raise DataError(f"{path} has predictions that no example alone can score again; give the run itself as run")
    waiting = iter(enumerate(lines, start=2))
    number, line = next(waiting, (0, None))
    for place, example in enumerate(data.examples(part)):
        while line is not None and line["example"] == place:
            answer = kind.answer(line, example)
            if answer is None:
                raise DataError(f"{path}:{number} is no prediction for example {place}; get the file again")
            yield {"example": place, **answer}
            number, line = next(waiting, (0, None))
    if line is not None:
        raise DataError(f"{path}:{number} is for example {line['example']}, which the {part} part does not have")


# ---------------------------------------------------------------------------------------------------- kinds


def _text(line: Line, pair: Any) -> Line | None:
    text = line.get("hypothesis")
    right = {"source": pair.source, "reference": pair.target}
    return {**right, "hypothesis": text} if isinstance(text, str) else None


def _caption(line: Line, image: Any) -> Line | None:
    text = line.get("hypothesis")
    return {"references": list(image.captions), "hypothesis": text} if isinstance(text, str) else None


def _document(line: Line, text: str) -> Line | None:
    tokens, nats = line.get("tokens"), _number(line.get("log_probability"))
    known = isinstance(tokens, int) and nats is not None
    return {"text": text, "tokens": tokens, "log_probability": nats} if known else None


def _label(line: Line, example: Any) -> Line | None:
    predicted = line.get("predicted")
    return {"label": example.label, "predicted": predicted} if isinstance(predicted, str) else None


def _tags(line: Line, sentence: Any) -> Line | None:
    tags, predicted = list(sentence.tags), line.get("predicted")
    whole = isinstance(predicted, list) and all(isinstance(tag, str) for tag in predicted)
    return {"tags": tags, "predicted": predicted} if whole and len(predicted or ()) == len(sentence.words) else None


def _span(line: Line, question: Any) -> Line | None:
    predicted = line.get("predicted")
    if not isinstance(predicted, str):
        return None
    exact, f1, _ = score_of(predicted, question.texts)
    return {"answers": list(question.texts), "predicted": predicted, "exact": exact, "f1": f1}


def _value(line: Line, example: Any) -> Line | None:
    known, predicted = float(example.label) if example.label else None, line.get("predicted")
    return {"value": known, "predicted": predicted} if predicted is None or _number(predicted) is not None else None


def _forecast(line: Line, window: Any) -> Line | None:
    truth, forecast = plain_values(window.future_NC), line.get("forecast")
    flat = forecast if isinstance(forecast, list) else []
    values = [value for step in flat for value in (step if isinstance(step, list) else [step])]
    whole = bool(values) and all(_number(value) is not None for value in values)
    return {"truth": truth, "forecast": flat} if whole and _shape(flat) == np.shape(truth) else None


def _track(line: Line, film: Any) -> Line | None:
    predicted = line.get("predicted")
    pairs = predicted if isinstance(predicted, list) else []
    whole = all(isinstance(pair, list) and len(pair) == 2 and None not in map(_number, pair) for pair in pairs)
    known = [None if np.isnan(place).any() else list(place) for place in film.places]
    return {"places": known or None, "predicted": predicted} if whole and (pairs or predicted is None) else None


def _number(value: Any) -> float | None:
    """A finite number, if it is one."""
    known = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST
    return value if known else None


def _shape(nested: list[Any]) -> tuple[int, ...]:
    """The shape of a list, or of a list of lists that are as long."""
    widths = {len(step) if isinstance(step, list) else 0 for step in nested}
    return (len(nested), *(widths - {0})) if len(widths) == 1 else ()


KINDS: dict[str, AnswerKind] = {
    "references": AnswerKind(("hypothesis", "score"), _caption),
    "hypothesis": AnswerKind(("hypothesis", "score"), _text),
    "log_probability": AnswerKind(("tokens", "log_probability"), _document),
    "label": AnswerKind(("predicted", "probabilities"), _label),
    "tags": AnswerKind(("predicted",), _tags),
    "answers": AnswerKind(("predicted", "no_answer", "best", "begin", "probability"), _span),
    "value": AnswerKind(("predicted",), _value),
    "forecast": AnswerKind(("forecast",), _forecast),
    "places": AnswerKind(("predicted",), _track),
}
UNSCORED = ("predicted", "log_probability", "predicted_follows")  # of masked tokens, which an example does not tell
