"""The family tree as data, and which class each `kind` of a recipe means.

Nothing here imports torch: classes are named and only loaded when asked for.
"""

from importlib import import_module
from typing import Any, NamedTuple

from seqwright.errors import SettingError, nearest


class Member(NamedTuple):
    """A model of the family: when, who, from whom; and, if it lives here, where.

    `promises` decides which tests of the contract suite run:
      steps      reads left to right, is a Stepper, and stepping equals reading at once
      pads       padding changes nothing
      gradient   learns by descending a loss (the others learn by counting)
    The module also offers `small()`, an instance of a few parameters, and `example()`, a batch for it.
    """

    year: int
    name: str
    paper: str
    parent: str = ""
    kind: str = ""
    module: str = ""
    model: str = ""
    settings: str = ""
    promises: frozenset[str] = frozenset()

    @property
    def here(self) -> bool:
        """Whether the model can be trained."""
        return bool(self.module)

    def load(self, name: str) -> Any:
        """Something from the model's module: its class, its settings, `small` or `example`."""
        return getattr(import_module(self.module), name)


LINEAGE = (
    Member(1948, "n-gram", "Shannon 1948"),
    Member(2003, "MLP language model", "Bengio et al. 2003", "n-gram"),
    Member(1990, "RNN", "Elman 1990"),
    Member(1997, "LSTM", "Hochreiter & Schmidhuber 1997", "RNN"),
    Member(2014, "GRU", "Cho et al. 2014", "LSTM"),
    Member(2017, "UGRNN", "Collins et al. 2017", "GRU"),
    Member(2014, "Seq2seq", "Sutskever et al. 2014", "LSTM"),
    Member(2015, "Attentional RNN", "Bahdanau et al. 2015", "Seq2seq"),
    Member(2016, "GNMT", "Wu et al. 2016", "Attentional RNN"),
    Member(2016, "Deep-Att", "Zhou et al. 2016", "Attentional RNN"),
    Member(2016, "ByteNet", "Kalchbrenner et al. 2016", "Seq2seq"),
    Member(2017, "ConvS2S", "Gehring et al. 2017", "ByteNet"),
    Member(2017, "Mixture of experts", "Shazeer et al. 2017", "Attentional RNN"),
    Member(
        2017,
        "Transformer",
        "Vaswani et al. 2017",
        "Attentional RNN",
        kind="transformer",
        module="seqwright.models.transformer",
        model="Transformer",
        settings="TransformerSettings",
        promises=frozenset({"steps", "pads", "gradient"}),
    ),
    Member(2018, "GPT", "Radford et al. 2018", "Transformer"),
    Member(2019, "GPT-2", "Radford et al. 2019", "GPT"),
    Member(2019, "BERT", "Devlin et al. 2019", "Transformer"),
    Member(2019, "DistilBERT", "Sanh et al. 2019", "BERT"),
    Member(2021, "ViT", "Dosovitskiy et al. 2021", "BERT"),
    Member(2021, "SiT", "Atito et al. 2021", "ViT"),
    Member(2021, "DINO", "Caron et al. 2021", "ViT"),
)


class Kind(NamedTuple):
    """A class that a recipe's section can choose, and its settings; for data, also the task it is for."""

    module: str
    thing: str
    settings: str
    task: str = "translation"

    def load(self, name: str) -> Any:
        """Something from the module."""
        return getattr(import_module(self.module), name)


PAIR_TEXT = Kind("seqwright.inputs.pair_text", "PairText", "PairTextSettings")
TOYS = Kind("seqwright.data.toys", "Toy", "ToySettings")
KINDS: dict[str, dict[str, Kind]] = {
    "data": {
        "files": Kind("seqwright.data.pairs", "PairFiles", "PairFilesSettings"),
        "card": Kind("seqwright.data.catalog", "CardPairs", "CardPairsSettings"),
        "dates": Kind("seqwright.data.dates", "Dates", "DatesSettings"),
        "copy": TOYS,
        "reverse": TOYS,
        "sort": TOYS,
    },
    "inputs": dict.fromkeys(("bpe", "unigram", "wordpiece", "words", "characters"), PAIR_TEXT),
    "model": {m.kind: Kind(m.module, m.model, m.settings) for m in LINEAGE if m.here},
    "objective": {"next-token": Kind("seqwright.objectives.next_token", "NextToken", "NextTokenSettings")},
    "training": {"": Kind("seqwright.training.settings", "", "TrainingSettings")},
    "decoding": {"": Kind("seqwright.decoding.settings", "", "DecodingSettings")},
}
TASKS = {"translation": ("seqwright.tasks.translation", "TranslationTask")}
DEFAULT_KIND = {"data": "files", "inputs": "bpe", "model": "transformer", "objective": "next-token"}


def chosen(section: str, kind: Any) -> Kind:
    """The class that `kind` means in a section of a recipe."""
    kinds = KINDS[section]
    if "" in kinds:  # a section without kinds
        return kinds[""]
    name = kind if kind is not None else DEFAULT_KIND[section]
    if not isinstance(name, str) or name not in kinds:
        raise SettingError(
            f"there is no {section}.kind '{name}'; there are {', '.join(kinds)}.{nearest(str(name), list(kinds))}"
        )
    return kinds[name]


def member(kind: str) -> Member:
    """The member of the family that a recipe's `model.kind` means."""
    return next(m for m in LINEAGE if m.kind == kind)


def task_of(data_kind: str) -> Any:
    """The task that a kind of data is for."""
    module, name = TASKS[KINDS["data"][data_kind].task]
    return getattr(import_module(module), name)()
