"""What happens inside a run while it reads or writes, as plain data; `pictures` draws it.

`inside` is the door; each module beside this is one thing that can be seen.
"""

from collections.abc import Mapping
from typing import Any

from seqwright.analysis.attention import attends, attention_in
from seqwright.analysis.beam_trees import beam_tree_of
from seqwright.analysis.gradients import own_text, passage_of, reaches_of
from seqwright.analysis.lens import lens_of
from seqwright.analysis.reading import foretells, reads_text
from seqwright.analysis.units import activations_of
from seqwright.errors import DataError, RunError, SettingError, nearest
from seqwright.outputs.values import ValuesOutput
from seqwright.runs import Run
from seqwright.tasks.ensembles import EnsembleWires

READ = ("text", "text_pair", "question", "context")  # the order in which a model reads what is given together
SIGHTS = ("attention", "lens", "units", "surprisal", "gradients", "beam-tree")


def inside(run: Run, given: Any = None, what: str | None = None, decoding: Any = None) -> Any:
    """What is seen of a run: attention where it has any, else its units, or what is asked for, one of `SIGHTS`.

    `given` is a text, or a mapping of the texts that belong together; for gradients of a language model, or of a
    series, it may be left out.
    """
    if isinstance(run.inputs, EnsembleWires):
        raise RunError("an ensemble has several models, and one is looked into; load one run")
    if not (reads_text(run) or (what == "gradients" and isinstance(run.output, ValuesOutput))):
        raise RunError(f"{run.folder} learnt {run.recipe.task} and reads no text; look is for models that do")
    if isinstance(given, Mapping):
        texts = [given[key] for key in sorted(given, key=lambda key: READ.index(key) if key in READ else len(READ))]
    else:
        texts = [] if given is None else [given]
    if any(not isinstance(text, str) for text in texts):
        raise DataError(f"{given!r} is no text; give one, or a mapping of those that belong together")
    match what or ("attention" if attends(run) else "units"):
        case "attention":
            return attention_in(run, texts, decoding)
        case "lens":
            return lens_of(run, texts)
        case "units":
            return activations_of(run, [texts])
        case "surprisal" if foretells(run):
            return run.inputs.predict(run.model, texts[0], method="surprises")
        case "gradients":
            return reaches_of(run, passage_of(run, texts or ([own_text(run)] if foretells(run) else [])))
        case "beam-tree":
            return beam_tree_of(run, texts[0], decoding)
        case "surprisal":
            raise RunError(f"{run.folder} learnt {run.recipe.task}; surprisal needs a language model")
        case other:
            raise SettingError(
                f"there is no '{other}' to look at; there are {', '.join(SIGHTS)}.{nearest(other, SIGHTS)}"
            )
