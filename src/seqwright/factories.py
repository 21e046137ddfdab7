"""Models of the family from settings by keyword: `sw.GPT(size="small", vocabulary=50257)`, ordinary modules of torch.

A factory is a row of `lineage.MODELS`: settings and their defaults are those of recipes. Nothing here imports torch
before a model is built.
"""

from typing import Any, NamedTuple

from seqwright.errors import ArgumentError, SettingError, in_python, instead
from seqwright.lineage import HEADED, model_row
from seqwright.setting_classes import ModelSettings

VOCABULARIES = ("source_vocabulary", "target_vocabulary")


class ModelFactory(NamedTuple):
    """Builds one kind of model, randomly initialised. `vocabulary` is the number of tokens; all else are settings.

    A language model and BERT are called with tokens: `logits_BTV = gpt(tokens_BT)`, `vectors_BTD = bert(tokens_BT)`.
    A translator has `logits_BTV = model.logits(source_BS, target_BT)`, and may have two vocabularies
    (`source_vocabulary`, `target_vocabulary`) instead of a shared one.
    """

    name: str
    kind: str
    task: str

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(self.settings())}, {', '.join(self._sizes())})"

    def settings(self) -> list[str]:
        """The names of what can be set, which `sw.settings("model", kind)` describes."""
        row = model_row(self.kind, self.task)
        known = row.load(row.settings).model_fields
        return [name for name in known if name not in {"kind", *ModelSettings.model_fields}]

    @in_python()
    def __call__(self, *positional: Any, **given: Any) -> Any:
        """The model."""
        known, sizes = self.settings(), self._sizes()
        if positional:
            every = ", ".join(f"{name}=…" for name in (known[0], *sizes[:1]))
            raise ArgumentError(f"{self.name} takes its settings by name, as in {self.name}({every})")
        for name in given:
            if name not in {*known, *sizes}:
                raise SettingError(f"{self.name} has no setting '{name}'{instead(name, [*known, *sizes])}")
        row = model_row(self.kind, self.task)
        settings = row.load(row.settings)(**{name: given[name] for name in given if name in known}, kind=self.kind)
        counts = self._counts({name: given[name] for name in given if name in sizes})
        if row.module == HEADED:  # the settings build the body, which is called with tokens
            return settings.body(**counts)
        return row.load(row.thing)(settings, **counts)

    def _sizes(self) -> tuple[str, ...]:
        return ("vocabulary",) if model_row(self.kind, self.task).module == HEADED else ("vocabulary", *VOCABULARIES)

    def _counts(self, given: dict[str, Any]) -> dict[str, Any]:
        """How many tokens there are, as the model is built with them."""
        for name, count in given.items():
            if isinstance(count, bool) or not isinstance(count, int) or count < 1:
                raise SettingError(f"{self.name}: {name} is {count!r}; give a number of tokens")
        if "vocabulary" in given and len(given) == 1:
            return given if self._sizes() == ("vocabulary",) else dict.fromkeys(VOCABULARIES, given["vocabulary"])
        if set(given) == set(VOCABULARIES):
            return {**given, "shared": False}
        two = f", or {' and '.join(VOCABULARIES)}" if len(self._sizes()) > 1 else ""
        found = " and ".join(given) or "none of them"
        raise SettingError(f"{self.name} needs vocabulary=…, the number of tokens{two}; it was given {found}")


RNN = ModelFactory("RNN", "rnn", "language-modeling")
LSTM = ModelFactory("LSTM", "lstm", "language-modeling")
GRU = ModelFactory("GRU", "gru", "language-modeling")
GPT = ModelFactory("GPT", "gpt", "language-modeling")
BERT = ModelFactory("BERT", "bert", "text-classification")
RoBERTa = ModelFactory("RoBERTa", "roberta", "text-classification")
DistilBERT = ModelFactory("DistilBERT", "distilbert", "text-classification")
Seq2seq = ModelFactory("Seq2seq", "seq2seq", "translation")
Bahdanau = ModelFactory("Bahdanau", "bahdanau", "translation")
Luong = ModelFactory("Luong", "luong", "translation")
GNMT = ModelFactory("GNMT", "gnmt", "translation")
ByteNet = ModelFactory("ByteNet", "bytenet", "translation")
ConvS2S = ModelFactory("ConvS2S", "convs2s", "translation")
Transformer = ModelFactory("Transformer", "transformer", "translation")
