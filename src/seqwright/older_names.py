"""What settings, kinds and scores were called before the names of decision 39, for whoever still writes the old ones.

No old name is read: it is refused in a sentence that names the new one.
"""

from collections.abc import Collection, Iterable

from seqwright.errors import nearest

# Each setting with what it may be called now: another task has another one.
RENAMED: dict[str, tuple[str, ...]] = {
    "data.second": ("data.text_pair",),
    "data.names": ("data.label_names",),
    "data.shared": ("data.overlap",),
    "data.rows": ("data.first_rows",),
    "data.file": ("data.imported",),
    "input.kind": ("input.tokenizer", "input.scaling", "output.tokenizer"),
    "input.least": ("input.min_frequency", "output.min_frequency"),
    "input.source_kind": ("input.tokenizer",),
    "input.task": ("input.task_token",),
    "input.joined": ("input.rows",),
    "input.packed": ("input.rows",),
    "input.examples": ("input.rows",),
    "input.masked": ("output.masking",),
    "input.share": ("output.masking_rate",),
    "input.left_out": ("input.truncation",),
    "input.split": ("input.pre_tokenizer",),
    "input.question": ("input.longest_question",),
    "input.answer": ("output.longest_answer",),
    "model.take": ("model.init_layers",),
    "model.chosen": ("model.experts_per_token",),
    "model.output": ("model.output_layer",),
    "objective.words": ("objective.next_token", "objective.masked_token"),
    "objective.hidden": ("objective.cosine",),
    "objective.others": ("objective.more_teachers",),
    "objective.weights": ("objective.class_weights",),
}
KINDS_AND_SCORES = {
    "spaced": "whitespace",
    "answer": "answer-only",
    "labels-and-words": "labels-and-next-token",
    "rating": "regression",
    "rating-and-words": "regression-and-next-token",
    "distilled-labels": "label-distillation",
    "distilled-tokens": "masked-token-distillation",
    "word_error": "word_error_rate",
    "phoneme_error": "phoneme_error_rate",
    "right_unanswerable": "no_answer_exact",
    "exact_answerable": "has_answer_exact",
    "f1_answerable": "has_answer_f1",
}


def renamed(setting: str, known: Collection[str]) -> str:
    """That a setting is called otherwise now, by one of the names that are known; or nothing."""
    now = next((name for name in RENAMED.get(setting, ()) if name in known), None)
    return "" if now is None else f"'{setting}' is called {now} now"


def meant(name: str, known: Iterable[str]) -> str:
    """` It is called 'x' now.` for the older name of a kind or a score, ` Did you mean 'x'?` for one that is near."""
    now, names = KINDS_AND_SCORES.get(name), list(known)
    return f" It is called '{now}' now." if now in names else nearest(name, names)
