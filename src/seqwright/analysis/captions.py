"""Where a captioner looks while it writes each word: what its attention weighs, as a map over the image.

L layers · H heads · T words · P places · Y rows · X columns · C channels
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from seqwright.analysis.reading import Notice, notice_by_warning
from seqwright.devices import device_of
from seqwright.errors import DataError, RunError
from seqwright.inputs import Given
from seqwright.inputs.captioned_image import FeatureInput
from seqwright.inputs.fitted_images import Frame, fitted
from seqwright.inputs.image import ImageInput
from seqwright.inputs.spelling import written_words
from seqwright.layers.taps import listen
from seqwright.metrics.alignments import merged
from seqwright.outputs.alignments import alignment_taps
from seqwright.outputs.caption import CaptionOutput
from seqwright.outputs.text_search import TextCandidate
from seqwright.pictures import Array
from seqwright.pictures.caption_maps import CaptionMaps, Pixels
from seqwright.runs import Run, data_of

PER_PLACE = 32  # pixels of an image whose features alone are read, in each direction


def writes_captions(run: Run) -> bool:
    """Whether a run writes what images show."""
    return isinstance(run.output, CaptionOutput)


def caption_maps_of(run: Run, given: Any, decoding: Any = None, notice: Notice = notice_by_warning) -> CaptionMaps:
    """The caption of an image, and where the model looked for each of its words, heard in one forced pass over it."""
    example = image_given(run, given)
    (found,) = run.inputs.predictions(run.model, Given([example]), decoding)
    weight_LHTP = looks_at(run, example, found.best)
    words = written_words(run.output.tokenizer, found.best.tokens)
    rows, columns = run.model.body.grid(*_frame(run)[1:])  # type: ignore[operator, union-attr]
    places = [[place] for place in range(weight_LHTP.shape[-1])]
    merged_LHTP = merged(weight_LHTP, [at for _, at in words], places)
    map_LHTYX = merged_LHTP.reshape(*merged_LHTP.shape[:3], rows, columns)
    shown = pixels_shown(run, example, notice)
    return CaptionMaps(example.name, shown, found.text, [word for word, _ in words], map_LHTYX, found.best.score)


def looks_at(run: Run, example: Any, caption: TextCandidate) -> Array:
    """`weight_LHTP` of each token of a caption, its end left out."""
    taps = alignment_taps(run.model)
    if not taps:
        raise RunError(f"{run.folder} has a model of kind '{run.recipe.model.kind}', which looks at no places")
    rows = run.input.encode(Given([example])).take(np.arange(1), None)
    batch = run.output.collate(run.input.stack(rows), [np.asarray(caption.tokens)]).to(device_of(run.model))
    with torch.inference_mode(), listen(run.model) as heard:
        run.model.eval()(batch)
    layers = [torch.cat(heard[tap], dim=-2)[0, :, : len(caption.tokens)] for tap in taps]
    weight_LHTP: Array = torch.stack(layers).float().cpu().numpy()
    return weight_LHTP


def image_given(run: Run, given: Any) -> Any:
    """The example of an image that is given by its path; of a run that reads features one that its data names."""
    if not isinstance(run.input, FeatureInput) or not isinstance(given, str | Path):
        return run.input.parse(given)
    data = data_of(run.recipe)
    every = (example for part in reversed(data.parts()) for example in data.examples(part))
    known = next((example for example in every if str(given) in {example.name, Path(example.name).name}), None)
    return run.input.parse(given if known is None else known)


def pixels_shown(run: Run, example: Any, notice: Notice = notice_by_warning) -> Pixels:
    """`pixels_YXC` of what the model reads of an image; of features, of the middle of the image that they are of."""
    if isinstance(run.input, ImageInput):
        pixels_YXC: Pixels = run.input.encode(Given([example])).take(np.arange(1), None)[0]
        return pixels_YXC
    try:
        return fitted(example.pixels_YXC, _frame(run))
    except DataError as error:
        notice(f"the image itself cannot be drawn: {error}")
        return np.full((*_frame(run)[1:], 1), 128, dtype=np.uint8)


def _frame(run: Run) -> Frame:
    """The size of what is drawn on."""
    if isinstance(run.input, FeatureInput):
        grid = run.input.grid
        return Frame(3, PER_PLACE * grid.rows, PER_PLACE * grid.columns)
    frame: Frame = run.input.frame
    return frame
