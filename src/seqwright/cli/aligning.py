"""`align`: which words of a run's pairs belong together, as the model's attention has it."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from seqwright.calls import chosen_data
from seqwright.cli.given import in_blocks
from seqwright.cli.opening import opened_for
from seqwright.cli.terminal import json_text, say, shown
from seqwright.cli.using import AlignOptions
from seqwright.data.alignments import alignment_line, read_alignments
from seqwright.data.examples import Pair
from seqwright.errors import DataError, RunError, SettingError
from seqwright.inputs.dictionary import learnt_dictionary, save_dictionary, spelled
from seqwright.metrics.alignments import Gold, Link, Quality, alignment_scores, mean_quality
from seqwright.outputs.alignments import Aligner
from seqwright.progress import Progress
from seqwright.runs import Run
from seqwright.tasks import refuse_missing_part
from seqwright.whole_file import write_whole

AT_ONCE = 256  # pairs aligned before the next are read


def align_run(folder: Path, asked: AlignOptions) -> None:
    """Align the pairs of a part, write their links, and learn a dictionary if they are those it was trained on."""
    files = asked.data or []
    gold = None if asked.gold is None else [Gold(*links) for links in read_alignments(asked.gold)]
    run = opened_for("align", folder, asked.which)
    recipe, data, part = chosen_data(run, files, asked.part, usual=None if gold else "train")
    refuse_missing_part(data, part)
    name = files[0].stem if files else part
    path = asked.output or folder / "output" / f"{name}.txt"
    found = AlignedPairs(run)
    found.add(data.examples(part), Progress(f"aligning {name}"))
    scores: dict[str, Any] = mean_quality(found.qualities)._asdict()
    if gold is not None and asked.gold is not None:
        _refuse_unfitting(asked.gold, gold, found.sizes)
        scores |= alignment_scores(found.links, gold)._asdict()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, "".join(f"{alignment_line(links)}\n" for links in found.links))
    _print({"pairs": len(found.links), **scores}, as_json=asked.json)
    say(f"alignments: {shown(path)}")
    if found.left_out:
        longest = recipe.input.longest
        say(f"{found.left_out:,} pairs have a blank side, or more than {longest} tokens on one: their line is blank")
    if part == "train" and not files:
        written = save_dictionary(learnt_dictionary(found.together), folder / "output")
        say(f"dictionary: {shown(written)}, {len(found.together):,} words; use it with --unknown dictionary")


class AlignedPairs:
    """What was found in all pairs so far."""

    def __init__(self, run: Run) -> None:
        self.longest = run.recipe.input.longest
        self.sides = run.inputs.input.tokenizer, run.inputs.output.tokenizer
        try:
            self.aligner = Aligner(run.model, *self.sides)
        except SettingError as error:
            raise RunError(f"{run.folder} has a model of kind '{run.recipe.model.kind}': {error}") from error
        self.links: list[frozenset[Link]] = []
        self.sizes: list[tuple[int, int]] = []  # how many words each side has
        self.qualities: list[Quality] = []
        self.together: dict[str, Counter[str]] = defaultdict(Counter)
        self.left_out = 0

    def add(self, pairs: Iterable[Pair], waiting: Progress) -> None:
        """Align some more pairs."""
        for some in in_blocks(pairs, AT_ONCE):
            usable = [place for place, pair in enumerate(some) if self._fits(pair)]
            aligned = dict(zip(usable, self.aligner.pairs([some[place] for place in usable]), strict=True))
            self.left_out += len(some) - len(usable)
            for place, pair in enumerate(some):
                self.sizes.append((len(pair.source.split()), len(pair.target.split())))
                self.links.append(aligned[place].links if place in aligned else frozenset())
            for each in aligned.values():
                self.qualities.append(each.quality)
                for source, target in each.words:
                    entry = spelled(self.sides[0], source), spelled(self.sides[1], target)
                    if all(entry):  # white space is a word of its own in some vocabularies, and no dictionary's
                        self.together[entry[0]][entry[1]] += 1
            waiting(len(self.links))

    def _fits(self, pair: Pair) -> bool:
        sides = zip(self.sides, (pair.source, pair.target), strict=True)
        return all(text.strip() and len(tokens.encode([text])[0]) <= self.longest for tokens, text in sides)


def _refuse_unfitting(path: Path, gold: list[Gold], sizes: list[tuple[int, int]]) -> None:
    """Gold alignments must be of these pairs, word for word."""
    if len(gold) != len(sizes):
        raise DataError(f"{path} has {len(gold):,} lines for {len(sizes):,} pairs; expected one for each")
    for number, (each, (sources, targets)) in enumerate(zip(gold, sizes, strict=True), start=1):
        for source, target in sorted(each.possible):
            if source >= sources or target >= targets:
                raise DataError(
                    f"{path}:{number}: there is a link {source}-{target}, but the pair has {sources} source words and "
                    f"{targets} target words, which are counted from 0: is it of another text?"
                )


def _print(scores: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print(json_text({name: value if isinstance(value, int) else round(value, 4) for name, value in scores.items()}))
        return
    width = max(map(len, scores))
    for name, value in scores.items():
        shown_value = f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
        print(f"{name.replace('_', ' '):<{width}}  {shown_value}{' bits' if name == 'entropy' else ''}")
