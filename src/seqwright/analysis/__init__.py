"""What happens inside a run while it reads or writes, as plain data; `pictures` draws it.

`inside` is the door; each module beside this is one thing that can be seen.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from seqwright.analysis.attention import attends, attention_in
from seqwright.analysis.beam_trees import beam_tree_of
from seqwright.analysis.gradients import beginnings_of, own_text, passage_of, reaches_of
from seqwright.analysis.lens import lens_of
from seqwright.analysis.look import DRAWN, Look
from seqwright.analysis.reading import foretells, reads_text
from seqwright.analysis.saliency import labels_series, saliencies_of, series_given
from seqwright.analysis.units import activations_of
from seqwright.errors import DataError, RunError, SettingError, brief, instead
from seqwright.layers.scanning import RecurrentLayer
from seqwright.outputs.values import ValuesOutput
from seqwright.runs import Run
from seqwright.tasks.ensembles import EnsembleWires

READ = ("text", "text_pair", "question", "context")  # the order in which a model reads what is given together
THROUGH_TIME = ("gradients", "initialisations")  # of recurrent layers, for which a text need not be given
BEAM = 5  # of a tree, where neither the recipe nor the caller chose one


def inside(run: Run, given: Any = None, what: str | None = None, decoding: Mapping[str, Any] | None = None) -> Look:
    """What is seen of a run: attention where it has any, else its units, or what is asked for by the name of `DRAWN`.

    `given` is a text, or a mapping of the texts that belong together; for gradients of a language model, or of a
    series, it may be left out. A classifier of series shows what the label of a series hangs on, or of a list of them;
    left out, of one of each label that it was validated on. `decoding` are settings of that section, in place of the
    recipe's.
    """
    if isinstance(run.inputs, EnsembleWires):
        raise RunError("an ensemble has several models, and one is looked into; load one run")
    if labels_series(run):
        return _inside_series(run, given, what)
    if not (reads_text(run) or (what in THROUGH_TIME and isinstance(run.output, ValuesOutput))):
        raise RunError(f"{run.folder} learnt {run.recipe.task} and reads no text; look is for models that do")
    texts = _texts(given)
    if texts and not any(text.strip() for text in texts):
        raise DataError("there is nothing to look at: the text is blank")
    sight = what if what is not None else "attention" if attends(run) else "units"
    if sight not in DRAWN:
        raise SettingError(f"there is no '{sight}' to look at{instead(sight, DRAWN)}")
    if not texts and foretells(run) and sight in THROUGH_TIME:
        texts = [own_text(run)]
    if not texts and not isinstance(run.output, ValuesOutput):
        raise DataError(f"there is nothing to look at: give a text that {run.folder} shall read")
    return Look(sight, run.folder.name, " · ".join(texts), _seen(run, sight, texts, decoding or {}))


def _inside_series(run: Run, given: Any, what: str | None) -> Look:
    """What is seen of a classifier of series: of one series or a list of them, or of those it was validated on."""
    if what not in {None, "saliency"}:
        raise SettingError(f"{run.folder} learnt {run.recipe.task}, of which 'saliency' is seen, not {what!r}")
    found = saliencies_of(run, series_given(run, given))
    return Look("saliency", run.folder.name, ", ".join(each.label for each in found), found)


def _seen(run: Run, sight: str, texts: Sequence[str], decoding: Mapping[str, Any]) -> Any:
    """The plain data of one sight."""
    match sight:
        case "attention":
            return attention_in(run, texts, run.decoding_with(decoding))
        case "lens":
            return lens_of(run, texts)
        case "units":
            _require_recurrent(run)
            return activations_of(run, [texts])
        case "surprisal":
            if not foretells(run):
                raise RunError(f"{run.folder} learnt {run.recipe.task}; surprisal needs a language model")
            return run.inputs.predict(run.model, texts[0], method="surprises")
        case "beam-tree":
            usual = {"beam": BEAM, "temperature": 0.0} if run.recipe.decoding.beam == 1 else {"temperature": 0.0}
            return beam_tree_of(run, texts[0], run.decoding_with({**usual, **decoding} if run.output.writes else {}))
        case _:
            _require_recurrent(run)
            passage = passage_of(run, texts)
            return reaches_of(run, passage) if sight == "gradients" else beginnings_of(run, passage)


def _texts(given: Any) -> list[str]:
    """What is given as the texts that are read, in their order."""
    if isinstance(given, Mapping):
        texts = [given[key] for key in sorted(given, key=lambda key: READ.index(key) if key in READ else len(READ))]
    else:
        texts = [] if given is None else [given]
    if any(not isinstance(text, str) for text in texts):
        raise DataError(f"{brief(given)} is no text; give one, or a mapping of those that belong together")
    return texts


def _require_recurrent(run: Run) -> None:
    if not any(isinstance(module, RecurrentLayer) for module in run.model.modules()):
        raise RunError(f"{run.folder} has a model of kind '{run.recipe.model.kind}', without recurrent units")
