"""What is to be written in place of what recipes of older forms say, for those who still have one."""

from collections.abc import Mapping
from typing import Any

from seqwright.data.cards import cards
from seqwright.errors import instead, nearest
from seqwright.kinds import TASKS, tasks_for

# What tasks were called, and what people call them.
OTHER_NAMES = {
    "classification": "text-classification",
    "sentiment": "text-classification",
    "rating": "text-regression",
    "regression": "text-regression",
    "tagging": "token-classification",
    "ner": "token-classification",
    "questions": "question-answering",
    "qa": "question-answering",
    "language": "language-modeling",
    "lm": "language-modeling",
    "masking": "masked-language-modeling",
    "mlm": "masked-language-modeling",
    "prompting": "instruction",
    "chat": "instruction",
    "summaries": "summarization",
    "summarisation": "summarization",
    "pronunciations": "grapheme-to-phoneme",
    "g2p": "grapheme-to-phoneme",
    "description": "vector-to-text",
    "series": "forecasting",
    "time-series": "forecasting",
}


def meant_task(task: str) -> str:
    """` Did you mean 'x'?` for the task that goes by another name, or has one like it; or nothing."""
    meant = OTHER_NAMES.get(task.casefold().replace("_", "-").replace(" ", "-"))
    return f" Did you mean '{meant}'?" if meant else nearest(task, TASKS)


def no_such_task(task: str) -> str:
    """That there is no such task, and which was probably meant, or else which there are."""
    meant = meant_task(task)
    return f"there is no task '{task}'{f'.{meant}' if meant else instead(task, TASKS)}"


def in_place_of_older(plain: Mapping[str, Any]) -> str:
    """What to change in a recipe of an older form; nothing where it is of today's."""
    if "inputs" in plain:
        return (
            "its section [inputs] is called [input] now, and inputs.kind input.tokenizer; docs/decisions/0039 has "
            "every old name with its new one"
        )
    data = plain.get("data", {})
    return f"data.kind is gone; {_in_place_of_kind(data, plain.get('task'))}" if "kind" in data else ""


def _in_place_of_kind(data: Mapping[str, Any], task: Any) -> str:
    kind = str(data["kind"])
    known = next((each for each in (str(data.get("name")), kind) if each in cards()), None)
    examples = cards()[known].kind if known else "pairs" if kind == "files" else kind
    tasks = " or ".join(f'"{task}"' for task in tasks_for(examples)) or f"one of {', '.join(TASKS)}"
    card_or_files = f'card = "{known}" under [data] in its place' if known else "leave it out"
    if task in TASKS:
        return f"write {card_or_files}" if known else card_or_files
    return f"write task = {tasks} at the top, and {card_or_files}"
