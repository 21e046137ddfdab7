"""What is looked at while a sentence is translated, or a text is read.

L layers · H heads · T rows, target · S columns, source · B batch · E embedding
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from seqwright.analysis.reading import Heard, Notice, notice_by_warning, row_of, translates, verdict_on
from seqwright.batches.pairs import Pairs
from seqwright.devices import device_of
from seqwright.inputs import Given
from seqwright.inputs.spelling import Words, given_words, written_words
from seqwright.layers.taps import View, listen, views
from seqwright.metrics.alignments import merged
from seqwright.outputs.alignments import alignment_taps
from seqwright.outputs.text_search import TextCandidate
from seqwright.pictures import Array
from seqwright.pictures.attention import AttentionMap, Looked
from seqwright.runs import Run

MOST_TOKENS = 120  # of a text that is read
# What the tokens of a batch are to a reader; the axes of a model's views are named after them.
AXES = {
    "source": "source word",
    "input": "target word already written",
    "target": "target word being written",
    "tokens": "word",
}
ALIGNMENT = ("target", "source")  # the view that comes first, where a model has it
INFLUENCE = View("gradients to the source", *ALIGNMENT)  # where a model has none


def attention_in(run: Run, given: Any, decoding: Any = None, notice: Notice = notice_by_warning) -> Looked:
    """What is looked at for the best translation of a sentence, or while a text is read."""
    if translates(run):
        text = run.input.parse(given).source.strip()
        return looked_at(run, text, run.inputs.predict(run.model, text, decoding).best)
    row = row_of(run, given, MOST_TOKENS, notice)
    maps = maps_of(run.model, row.heard, {"tokens": row.words})
    text = " · ".join(part.text for part in run.inputs.reads_tokens.parts(given))
    return Looked(text, verdict_on(run, given), maps, title=run.folder.name)


def attends(run: Run) -> bool:
    """Whether something of the model can be drawn as weights between what it reads and writes.

    Of a translation it always can: without attention, by gradients.
    """
    return translates(run) or any(view.columns != "units" for view in views(run.model))


def alignment_of(looked: Looked) -> AttentionMap | None:
    """The map from what is written to the source, where there is one."""
    axes = AXES["target"], AXES["source"]
    return next((each for each in looked.maps.values() if (each.row_axis, each.column_axis) == axes), None)


def mean_of(found: AttentionMap) -> Array:
    """The mean of a map over layers and heads."""
    mean_TS: Array = found.weights.mean(axis=(0, 1))
    return mean_TS


def looked_at(run: Run, text: str, translation: TextCandidate) -> Looked:
    """What was heard in one forced pass over the tokens that were really decoded, sub-words merged into words.

    Of a model without attention it is what each word of the source moves.
    """
    source, target = run.input.tokenizer, run.output.tokenizer
    end = target.end
    rows = run.input.encode(Given([run.input.parse(text)])).take(np.arange(1), None)
    batch = run.output.collate(run.input.stack(rows), [np.asarray(translation.tokens)])
    written = written_words(target, translation.tokens)
    begin = target.pieces([target.begin])[0]
    words = {
        "source": [*given_words(source, text), (source.pieces([end])[0], [len(rows[0])])],
        "input": [(begin, [0]), *((word, [place + 1 for place in places]) for word, places in written)],
        "target": [*written, (target.pieces([end])[0], [len(translation.tokens)])],
    }
    batch = batch.to(device_of(run.model))
    if alignment_taps(run.model):
        with torch.inference_mode(), listen(run.model) as heard:
            run.model(batch)
        maps = maps_of(run.model, heard, words)
    else:
        weights_LHTS = influence(run.model, batch).unsqueeze(0).cpu().numpy()
        maps = {INFLUENCE.name: map_of(INFLUENCE, weights_LHTS, words)}
    return Looked(text, translation.text, maps, title=run.folder.name, score=translation.score)


def maps_of(model: nn.Module, heard: Heard, words: Mapping[str, Words]) -> dict[str, AttentionMap]:
    """Every view of a model that read one row, but of its units; an axis that has no words is numbered."""
    maps = {}
    found = {view: taps for view, taps in views(model).items() if view.columns != "units"}
    for view, taps in sorted(found.items(), key=lambda item: (item[0].rows, item[0].columns) != ALIGNMENT):
        maps[view.name] = map_of(view, np.stack([_weights(heard[tap]) for tap in taps]), words)
    return maps


def map_of(view: View, weights_LHTS: Array, words: Mapping[str, Words]) -> AttentionMap:
    """Weights between words from those between tokens."""
    rows, columns = (
        words.get(axis) or [(str(place + 1), [place]) for place in range(size)]
        for axis, size in zip((view.rows, view.columns), weights_LHTS.shape[-2:], strict=True)
    )
    merged_LHTS = merged(weights_LHTS, [places for _, places in rows], [places for _, places in columns])
    labels = [word for word, _ in rows], [word for word, _ in columns]
    return AttentionMap(merged_LHTS, *labels, *_axes(view))


def _weights(calls: list[Tensor]) -> Array:
    """The first row of the batch as heads × rows × columns; a model that goes step by step adds rows with each call."""
    weights = torch.cat([call[0] for call in calls], dim=-2)
    weights_HTS: Array = weights.reshape(-1, *weights.shape[-2:]).float().cpu().numpy()
    return weights_HTS


def _axes(view: View) -> tuple[str, str]:
    """What stands along the rows and the columns, told apart where it is the same."""
    rows, columns = AXES.get(view.rows, view.rows), AXES.get(view.columns, view.columns)
    return (rows, columns) if rows != columns else (f"{rows} that reads", f"{columns} that is read")


@torch.enable_grad()
def influence(model: Any, batch: Pairs) -> Tensor:
    """`share_BTS`: ‖∂ log p(y_t) / ∂ e_s‖ as a share of the row's sum, e_s the vector of a source token.

    Kalchbrenner et al. (2016) draw such magnitudes of gradients to show what ByteNet looks at. The tokens y are the
    batch's own. Zero at padding.
    """
    vectors: list[Tensor] = []

    def keep(_: nn.Module, __: Any, e_BSE: Tensor) -> Tensor | None:
        if vectors:  # the target's tokens, which come later, may have the same matrix
            return None
        vectors.append(e_BSE.detach().requires_grad_())
        return vectors[0]

    hook = source_embedding(model).register_forward_hook(keep)
    try:
        logits_BTV, _ = model(batch)
    finally:
        hook.remove()
    logp_BT = logits_BTV.float().log_softmax(-1).gather(-1, batch.target_BT.unsqueeze(-1)).squeeze(-1)
    slope_TBSE = [torch.autograd.grad(logp_B.sum(), vectors, retain_graph=True)[0] for logp_B in logp_BT.unbind(1)]
    size_BTS = torch.stack(slope_TBSE, dim=1).norm(dim=-1).masked_fill(~batch.source_real_BS.unsqueeze(1), 0.0)
    share_BTS: Tensor = size_BTS / size_BTS.sum(-1, keepdim=True).clamp_min(torch.finfo(size_BTS.dtype).tiny)
    return share_BTS


def source_embedding(model: Any) -> nn.Module:
    """The module that looks up the vectors of source tokens."""
    matrix_VE = model.token_vectors()["source"].embedding_VD
    modules: Any = model.modules()
    found: nn.Module = next(module for module in modules if getattr(module, "weight", None) is matrix_VE)
    return found
