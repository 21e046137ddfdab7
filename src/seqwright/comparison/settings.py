"""The file of a comparison: what all rows share, and the rows."""

import json
import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError, model_validator

from seqwright.comparison.prediction_files import ENDING
from seqwright.data.files import whole_text
from seqwright.errors import SettingError, closest, run_instead
from seqwright.recipe import recipe_text
from seqwright.setting_classes import Settings

Section = dict[str, Any]


class Budget(Settings):
    """How long each row may be trained: so many minutes, or so many tokens."""

    minutes: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Minutes of training, validation not counted: as many steps as fit, by the pace that is measured first."""
    tokens: int | None = Field(default=None, gt=0)
    """Real tokens, padding not counted, that are learnt from."""

    @model_validator(mode="after")
    def _one_of_both(self) -> "Budget":
        if (self.minutes is None) == (self.tokens is None):
            raise ValueError("give either minutes or tokens, as in { minutes = 25 }")
        return self


class RowSettings(Settings):
    """A row: a recipe to train, a run that is there, predictions of an earlier comparison, or an ensemble of rows."""

    name: str | None = Field(default=None, min_length=1)
    """What it is called in the table; by default as the recipe, the run, or its members."""
    recipe: str | None = None
    """A recipe that ships, or a file, beside the comparison or where it is called from."""
    run: str | None = None
    """A run folder, which is evaluated as it is."""
    predictions: str | None = None
    """A file that an earlier comparison wrote (`predictions/ROW.jsonl.gz`), which is scored again."""
    ensemble: tuple[str, ...] | None = Field(default=None, min_length=2)
    """The names of rows that predict together."""
    input: Section = Field(default_factory=dict)
    """Settings of this row's recipe, in place of what it says; so are the other sections."""
    output: Section = Field(default_factory=dict)
    """As `input`."""
    model: Section = Field(default_factory=dict)
    """As `input`."""
    objective: Section = Field(default_factory=dict)
    """As `input`."""
    training: Section = Field(default_factory=dict)
    """As `input`."""

    @model_validator(mode="after")
    def _of_one_kind(self) -> "RowSettings":
        given = [name for name in ("recipe", "run", "predictions", "ensemble") if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(given) if given else "none of them"
            raise ValueError(f"a row has a recipe, a run, predictions or an ensemble, and this one {found}")
        if self.recipe is None and self.sections():
            raise ValueError(f"only a recipe can be set; leave {', '.join(self.sections())} out of this row")
        return self

    def sections(self) -> dict[str, Section]:
        """What is set for this row's recipe."""
        every = {name: getattr(self, name) for name in ("input", "output", "model", "objective", "training")}
        return {name: given for name, given in every.items() if given}

    @property
    def title(self) -> str:
        """What the row is called."""
        if self.name is not None:
            return self.name
        if self.ensemble is not None:
            return " + ".join(self.ensemble)
        if self.predictions is not None:
            return Path(self.predictions).name.removesuffix(ENDING)
        return Path(self.recipe or self.run or "").name.removesuffix(".toml")


class ComparisonSettings(Settings):
    """What a comparison compares, and how."""

    name: str = Field(default="", pattern=r"^([\w-][\w.-]*)?$")
    """Names its folder, runs/NAME; by default as the file."""
    description: str = ""
    """Stands above the table."""
    rows: tuple[RowSettings, ...] = Field(min_length=1)
    """One [[rows]] each, in the order of the table."""
    baseline: str | None = None
    """The row that the others are tested against; by default the first."""
    budget: Budget | None = None
    """What each row may spend on training; without one, as many steps or epochs as its recipe says."""
    seeds: tuple[int, ...] = Field(default=(1,), min_length=1)
    """Each recipe is trained once with each; several give mean ± standard deviation."""
    part: Literal["train", "valid", "test"] | None = None
    """The part of the data that decides; by default test, or valid where there is no test."""
    threads: int | None = Field(default=None, ge=1)
    """CPU threads of every row; by default one for each core it may use."""
    watts_per_core: float = Field(default=10.0, gt=0, allow_inf_nan=False)
    """What a busy core is taken to draw, for the estimate of energy."""
    resamples: int = Field(default=1000, ge=40)
    """How often the examples are drawn again for intervals and tests."""
    example: str | None = None
    """The text whose alignments the page shows; by default a middling one of the part."""
    data: Section = Field(default_factory=dict)
    """Settings of the data of every row."""
    input: Section = Field(default_factory=dict)
    """Settings of the input of every row."""
    output: Section = Field(default_factory=dict)
    """Settings of the output of every row."""
    training: Section = Field(default_factory=dict)
    """Settings of the training of every row."""
    decoding: Section = Field(default_factory=dict)
    """How every row decodes; by default greedily."""


def shipped_comparisons() -> dict[str, Path]:
    """The comparisons that come with the package, by name."""
    folder = Path(str(resources.files("seqwright") / "comparisons"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def read_comparison(where: str) -> tuple[ComparisonSettings, Path]:
    """A comparison by file or shipped name, and where it stands."""
    path = Path(where)
    known = shipped_comparisons()
    if not path.is_file() and path.suffix != ".toml" and where in known:
        path = known[where]
    try:
        plain = tomllib.loads(whole_text(path, "utf-8-sig"))
    except FileNotFoundError as error:
        close = closest(path.stem, known)
        raise SettingError(
            f"there is no comparison file '{where}'" + (f". Did you mean '{close}'?" if close else "")
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise SettingError(f"the comparison '{where}' could not be read: {reason}") from error
    except ValueError as error:  # also a number with too many digits
        raise SettingError(f"{where} is not valid TOML: {error}") from error
    except RecursionError as error:
        raise SettingError(f"{where} is nested too deeply to be a comparison; write it again") from error
    settings = _validated(plain, where)
    settings = settings.model_copy(update={"name": settings.name or path.stem.lstrip(".") or "comparison"})
    try:
        _refuse_wrong_names(settings, where)
    except OSError as error:  # a name that no file can have
        raise SettingError(f"{where} names a recipe or a run that cannot be read: {error.strerror}") from error
    _refuse_unfair(settings, where)
    return settings, path


def _validated(plain: dict[str, Any], where: str) -> ComparisonSettings:
    try:
        return ComparisonSettings.model_validate_json(json.dumps(plain, default=str), strict=True)
    except ValidationError as error:
        raise SettingError(_sentence(error, where)) from error


def _sentence(error: ValidationError, where: str) -> str:
    """What is wrong first, by the name it has in the file."""
    first = error.errors()[0]
    place = [f"row {part + 1}" if isinstance(part, int) else part for part in first["loc"]]
    called = ".".join(map(str, place)).replace("rows.row ", "row ") or "the comparison"
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        inner: dict[str, type[BaseModel]] = {"rows": RowSettings, "budget": Budget}
        known = inner[str(place[0])] if len(place) > 1 else ComparisonSettings
        close = closest(str(place[-1]), known.model_fields)
        meant = f" Did you mean '{close}'?" if close else f" There are {', '.join(known.model_fields)}."
        return f"there is no setting '{called}' in {where}.{meant}"
    if first["type"] == "missing":
        told = "give each thing to compare a [[rows]] with recipe, run, predictions or ensemble"
        return f"{where} has no {called}; {told}"
    found = "" if first["type"] == "value_error" else f", not {first['input']!r}"
    return f"{called}: {message[0].lower()}{message[1:]}{found}, in {where}"


def _refuse_wrong_names(settings: ComparisonSettings, where: str) -> None:
    """Two rows of one name, a row that is not there, a recipe or a run that is not there."""
    names = [row.title for row in settings.rows]
    folders = [slug(name) for name in names]
    for number, name in enumerate(names):
        if folders.index(folders[number]) < number:
            other = names[folders.index(folders[number])]
            alike = f"rows '{other}' and '{name}' would have one folder" if other != name else f"two rows are '{name}'"
            raise SettingError(f"{alike} in {where}; give one of them another name")
    if settings.baseline is not None and settings.baseline not in names:
        raise SettingError(_no_row("baseline", settings.baseline, names, where))
    if len(set(settings.seeds)) < len(settings.seeds):
        raise SettingError(f"seeds has a number twice in {where}; give each once")
    for row in settings.rows:
        if row.run is not None and not (Path(row.run).expanduser() / "resolved.toml").is_file():
            raise SettingError(f"row '{row.title}' in {where}: there is no run {row.run}{run_instead(Path(row.run))}")
        if row.recipe is not None and not (Path(where).parent / row.recipe).is_file():
            try:
                recipe_text(row.recipe)
            except SettingError as error:
                raise SettingError(f"row '{row.title}': {error}") from error
        if row.predictions is not None and not Path(row.predictions).expanduser().is_file():
            raise SettingError(f"row '{row.title}': there is no file {row.predictions}; `compare` makes some ({where})")
        singles = [other.title for other in settings.rows if other.ensemble is None]
        files = {other.title for other in settings.rows if other.predictions is not None}
        for member in row.ensemble or ():
            if member in files:
                told = f"row '{member}' is a file of predictions, which can join no other; give its run"
                raise SettingError(f"ensemble of row '{row.title}': {told} ({where})")
            if member not in singles:
                raise SettingError(_no_row(f"ensemble of row '{row.title}'", member, singles, where))


def _refuse_unfair(settings: ComparisonSettings, where: str) -> None:
    """Seeds and threads are those of the comparison, alike for all."""
    places = {"": settings.training} | {f"row '{row.title}': ": row.training for row in settings.rows}
    for key, instead in (("seed", "seeds = [3]"), ("threads", "threads = 2")):
        for place, training in places.items():
            if key in training:
                raise SettingError(
                    f"{place}training.{key} is set, but all rows have the same in a comparison; leave it out, and say "
                    f"{instead} above the rows ({where})"
                )


def _no_row(setting: str, name: str, names: list[str], where: str) -> str:
    close = closest(name, names)
    meant = f". Did you mean '{close}'?" if close else f"; there are {', '.join(names)}"
    return f"{setting}: there is no row '{name}' in {where}{meant}"


def slug(name: str) -> str:
    """A name as the name of a folder."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.").lower() or "row"
