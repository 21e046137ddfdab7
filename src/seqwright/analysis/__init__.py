"""What happens inside a run while it reads or writes, as plain data; `pictures` draws it.

`inside` is the door; each module beside this is one thing that can be seen.
"""

from collections.abc import Mapping
from typing import Any

from seqwright.analysis.attention import attends, attention_in
from seqwright.analysis.beam_trees import beam_tree_of
from seqwright.analysis.captions import caption_maps_of, writes_captions
from seqwright.analysis.gradients import beginnings_of, own_text, passage_of, reaches_of
from seqwright.analysis.image_look import seen_of_images
from seqwright.analysis.images import labels_images
from seqwright.analysis.lens import lens_of
from seqwright.analysis.look import DRAWN, Look
from seqwright.analysis.reading import forecasts_series, foretells, reads_text
from seqwright.analysis.saliency import labels_series, saliencies_of, series_given
from seqwright.analysis.units import activations_of
from seqwright.errors import DataError, RunError, SettingError, brief, instead
from seqwright.layers.scanning import RecurrentLayer
from seqwright.runs import Run
from seqwright.tasks.ensembles import EnsembleWires

THROUGH_TIME = ("gradients", "initialisations")  # of recurrent layers, for which a text need not be given
BEAM = 5  # of a tree, where neither the recipe nor the caller chose one


def inside(run: Run, given: Any = None, what: str | None = None, decoding: Mapping[str, Any] | None = None) -> Look:
    """What is seen of a run: attention where it has any, else its units, or what is asked for by the name of `DRAWN`.

    `given` is one example, as a run is called with it; for gradients of a language model, or of a series, it may be
    left out. A classifier of series shows what the label of a series hangs on, or of a list of them; left out, of one
    of each label that it was validated on; of images `attention`, `rollout`, `similarity` (with `patch=(row, column)`),
    `saliency`, `positions` and `filters` are seen. `decoding` are settings of that section, in place of the recipe's.
    """
    if isinstance(run.inputs, EnsembleWires):
        raise RunError("an ensemble has several models, and one is looked into; load one run")
    if labels_series(run):
        return _inside_series(run, given, what)
    if labels_images(run):
        names, seen = seen_of_images(run, given, what, decoding or {})
        return Look(seen.sight, run.folder.name, names, seen)
    if writes_captions(run):
        return _inside_image(run, given, what, decoding or {})
    if not (reads_text(run) or (what in THROUGH_TIME and forecasts_series(run))):
        raise RunError(f"{run.folder} learnt {run.recipe.task} and reads no text; look is for models that do")
    sight = what if what is not None else "attention" if attends(run) else "units"
    if sight not in DRAWN:
        raise SettingError(f"there is no '{sight}' to look at{instead(sight, DRAWN)}")
    if given is None and foretells(run) and sight in THROUGH_TIME:
        given = own_text(run)
    return Look(sight, run.folder.name, _text_of(run, given), _seen(run, sight, given, decoding or {}))


def _text_of(run: Run, given: Any) -> str:
    """The texts of what is given, in one line; there must be some, where texts are read."""
    if not reads_text(run):
        return ""
    if given is None:
        raise DataError(f"there is nothing to look at: give a text that {run.folder} shall read")
    if isinstance(given, list):
        raise DataError(f"{brief(given)} is a list, which is several, and one is looked at; give one")
    texts = [part.text for part in run.inputs.reads_tokens.parts(given)]
    if not any(text.strip() for text in texts):
        raise DataError("there is nothing to look at: the text is blank")
    return " · ".join(texts)


def _inside_series(run: Run, given: Any, what: str | None) -> Look:
    """What is seen of a classifier of series: of one series or a list of them, or of those it was validated on."""
    if what not in {None, "saliency"}:
        raise SettingError(f"{run.folder} learnt {run.recipe.task}, of which 'saliency' is seen, not {what!r}")
    found = saliencies_of(run, series_given(run, given))
    return Look("saliency", run.folder.name, ", ".join(each.label for each in found), found)


def _inside_image(run: Run, given: Any, what: str | None, decoding: Mapping[str, Any]) -> Look:
    """Where a captioner looks in an image."""
    if what not in {None, "caption"}:
        raise SettingError(f"{run.folder} learnt {run.recipe.task}, of which 'caption' is seen, not {what!r}")
    if given is None or isinstance(given, list):
        raise DataError(f"one image is looked at: give its path, or an array; {run.folder} shall see it")
    found = caption_maps_of(run, given, run.decoding_with(decoding))
    return Look("caption", run.folder.name, found.name, found)


def _seen(run: Run, sight: str, given: Any, decoding: Mapping[str, Any]) -> Any:
    """The plain data of one sight."""
    match sight:
        case "attention":
            return attention_in(run, given, run.decoding_with(decoding))
        case "lens":
            return lens_of(run, given)
        case "units":
            _require_recurrent(run)
            return activations_of(run, [given])
        case "surprisal":
            if not foretells(run):
                raise RunError(f"{run.folder} learnt {run.recipe.task}; surprisal needs a language model")
            return run.inputs.predict(run.model, given, method="surprises")
        case "beam-tree":
            usual = {"beam": BEAM, "temperature": 0.0} if run.recipe.decoding.beam == 1 else {"temperature": 0.0}
            return beam_tree_of(run, given, run.decoding_with({**usual, **decoding} if run.output.writes else {}))
        case _:
            _require_recurrent(run)
            passage = passage_of(run, given)
            return reaches_of(run, passage) if sight == "gradients" else beginnings_of(run, passage)


def _require_recurrent(run: Run) -> None:
    if not any(isinstance(module, RecurrentLayer) for module in run.model.modules()):
        raise RunError(f"{run.folder} has a model of kind '{run.recipe.model.kind}', without recurrent units")
