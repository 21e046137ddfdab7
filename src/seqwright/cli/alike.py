"""`neighbours` of what is read as a whole: the images that a model takes for alike, as a table and as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seqwright.analysis.alike import Alike, alike
from seqwright.calls import own_data
from seqwright.cli.given_images import image_table
from seqwright.cli.options import Things
from seqwright.cli.tables import is_table
from seqwright.cli.terminal import draw_picture, json_text, picture_formats, print_table, say
from seqwright.cli.using_any import NeighbourOptions
from seqwright.errors import RunError, SettingError
from seqwright.inputs import Examples, Given
from seqwright.pictures.alike import AlikeRow, alike_sheet
from seqwright.runs import Run
from seqwright.tasks.parts import Part


def show_alike(run: Run, names: Sequence[str], options: NeighbourOptions) -> None:
    """Print for each image those of the bank that are most like it, and draw them."""
    for option in ("analogy", "texts", "side"):
        if getattr(options, option):
            raise SettingError(f"--{'in' if option == 'texts' else option} is for words; leave it out")
    if options.picture is not None:
        picture_formats(options.picture)  # refused before anything is computed
    asked = images_given(run, Things(run.folder, texts=list(names)))
    bank = _bank(run, options.data)
    found = alike(run, asked, bank, top=options.top)
    say(f"looked for among {bank.name}")
    for example, nearest in zip(asked, found, strict=True):
        _print(example, nearest, as_json=options.json)
    if options.picture is not None:
        draw_picture(alike_sheet([_drawn(run, *pair) for pair in zip(asked, found, strict=True)]), options.picture)


def images_given(run: Run, things: Things) -> Given[Any]:
    """The images of paths, folders, archives or a table, as a run reads them."""
    table = image_table(things, run)
    if table is None:
        raise RunError(f"{run.folder} learnt {run.recipe.task}; neighbours is for models that read texts or images")
    return Given([run.input.parse(row.given) for row in table.rows if row.given is not None])


def _bank(run: Run, data: Path | None) -> Examples[Any]:
    """What is looked among: images of the user's, or the training part."""
    if data is None:
        return Part(own_data(run), "train")
    things = Things(run.folder, file=data) if is_table(data) else Things(run.folder, texts=[str(data)])
    found = images_given(run, things)
    found.name = str(data)
    for remark in run.input.blank_remarks(found):
        say(remark)
    return found


def _print(example: Any, nearest: Sequence[Alike], *, as_json: bool) -> None:
    if as_json:
        plain = [{"image": name, "label": label or None, "cosine": round(c, 6)} for name, label, c in _rows(nearest)]
        print(json_text({"image": example.name, "neighbours": plain}))
        return
    print_table(
        (example.name, "label", "cosine"), [(name, label, f"{cosine:.4f}") for name, label, cosine in _rows(nearest)]
    )


def _rows(nearest: Sequence[Alike]) -> list[tuple[str, str, float]]:
    return [(each.example.name, each.example.label, each.cosine) for each in nearest]


def _drawn(run: Run, example: Any, nearest: Sequence[Alike]) -> AlikeRow:
    """An image and its neighbours as the model reads them."""
    captions = [f"{each.example.label or Path(each.example.name).name} {each.cosine:.2f}" for each in nearest]
    shown = [run.input.thumbnail(each.example) for each in nearest]
    return AlikeRow(Path(example.name).name, run.input.thumbnail(example), list(zip(captions, shown, strict=True)))
