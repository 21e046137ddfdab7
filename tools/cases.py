"""What `characterise` records: recipes that ship, made small by overrides, and some for paths that none of them takes.

The latter are overrides too, or stand in `recipes/` where they read files of a user's own.
Whoever renames a key of the recipes mends it here; the names of the cases stay.
"""

from typing import NamedTuple

STEPS = 6
TRAINING = (
    f"training.steps={STEPS}",
    f"training.validate_every={STEPS}",
    f"training.save_every={STEPS}",
    "training.log_every=1",
    "training.warmup=20",
    "training.threads=1",
    "training.device=cpu",
    "decoding.longest=12",
)
EPOCHS = 30  # so few examples that the steps are more than one pass over them: what is drawn anew is seen
SMALL = (*TRAINING, "training.tokens=256")


class Case(NamedTuple):
    """A recipe with overrides; it may begin from, or be taught by, the run of another case."""

    recipe: str
    overrides: tuple[str, ...] = ()
    train: int = 300  # examples
    held_out: int = 24
    weights: str = ""  # the case whose weights it begins from
    teacher: str = ""  # the case whose run teaches it
    tokenizer: str = ""  # the case whose tokenizer it takes over


SERIES = (
    *("data.train={data}/ett/ETTh1.csv.gz", "data.time=date", "data.first_rows=600"),
    *("data.history=24", "data.horizon=3", "input.scaling=standard"),
)
LITTLE = ("model.width=32", "model.heads=2")
NAMES = ("data.card=names", "input.rows=documents", "input.longest=60", *LITTLE)

# One for each kind of data × kind of batches × family of models.
QUICK = {
    # translation
    "copy": Case("copy"),
    "dates-demo": Case("dates-demo", ("decoding.beam=2",)),
    "dates-bpe-dropout": Case("dates-demo", ("input.bpe_dropout=0.1",), train=EPOCHS),
    "dates-autoencoder": Case("dates-autoencoder"),
    "reverse-luong": Case("reverse-luong"),
    "cmudict-transformer": Case("cmudict-transformer", ("model.width=32", "training.average=none")),
    "multi30k-de-en-bahdanau": Case("multi30k-de-en-bahdanau", ("input.vocabulary=400", "model.width=32")),
    "multi30k-de-en-convs2s": Case("multi30k-de-en-convs2s", ("input.vocabulary=400",)),
    "multi30k-de-en-moe": Case("multi30k-de-en-moe", ("input.vocabulary=400",)),
    "pair-files": Case("pair-files"),
    "multi30k-de-en-bytenet": Case("multi30k-de-en-bytenet"),
    # prompting
    "mappings-gpt": Case("mappings-gpt", LITTLE),
    "multi30k-en-fr-gpt": Case("multi30k-en-fr-gpt", ("input.vocabulary=400", *LITTLE)),
    "dialogsum-gpt-tuned": Case("dialogsum-gpt-tuned", ("input.longest=24",), weights="python-gpt"),
    # language models: a stream, windows, documents, packed documents, counting
    "python-lstm": Case("python-lstm", ("input.vocabulary=400", "model.width=32")),
    "python-gpt": Case("python-gpt", ("input.vocabulary=400", "model.context=64", "input.segment=64", *LITTLE)),
    "python-5gram": Case("python-5gram", ("input.vocabulary=400",)),
    "shakespeare-gpt": Case("shakespeare-gpt", LITTLE),
    "names-lstm": Case("names-lstm", train=EPOCHS),
    "names-bigram": Case("names-bigram"),
    "names-mlp": Case("names-mlp"),
    "names-gpt-packed": Case("shakespeare-gpt", (*NAMES, "input.rows=packed"), train=90),
    "names-gpt-documents": Case("shakespeare-gpt", NAMES),
    "wikitext2-moe-lstm": Case("wikitext2-moe-lstm", ("input.vocabulary=400", "model.width=32")),
    "text-files": Case("text-files", train=EPOCHS),
    # masking
    "reference-bert": Case("reference-bert", ("input.vocabulary=400",)),
    "reference-roberta": Case(
        "reference-bert", ("model.kind=roberta", "input.vocabulary=400", "input.rows=full-sentences")
    ),
    "reference-whole-words": Case(
        "reference-bert", ("input.vocabulary=400", "output.masking=whole-words"), train=EPOCHS
    ),
    "reference-distilled": Case("reference-bert", ("model.layers=1",), train=EPOCHS, teacher="reference-bert"),
    # classification and rating
    "sst2": Case("sst2", ("input.vocabulary=400", "model.width=32")),
    "sst2-last": Case("sst2", ("input.vocabulary=400", "model.width=32", "model.pooling=last")),
    "sst2-bert": Case("sst2-bert", ("input.tokenizer=wordpiece", "input.vocabulary=400")),
    "sst2-tuned": Case("sst2-bert", ("input.longest=60",), weights="reference-bert"),
    "glue-cola-gpt": Case("glue-cola", ("model.kind=gpt", "input.longest=60"), weights="python-gpt"),
    "sst2-r-drop": Case("sst2-r-drop", ("input.vocabulary=400",)),
    "sst2-distilled": Case("sst2", ("model.width=16",), train=EPOCHS, teacher="sst2-bert"),
    "glue-mrpc": Case("glue-mrpc", ("input.vocabulary=400",)),
    "glue-mrpc-roberta": Case("glue-mrpc", ("model.kind=roberta", "input.longest=60"), weights="reference-roberta"),
    "glue-stsb": Case("glue-stsb", ("input.vocabulary=400",)),
    "rated-pairs": Case("rated-pairs"),
    "sst2-same-tokenizer": Case("sst2-bert", tokenizer="reference-bert"),
    "labelled-files": Case("labelled-files", train=EPOCHS),
    "words-classifier": Case("words-classifier", weights="python-lstm"),
    # tagging
    "python-tags": Case("python-tags", ("input.vocabulary=400",), train=2000),
    "wnut17-bert": Case("wnut17-bert", ("input.vocabulary=400",), train=4000),
    "tagged-files": Case("tagged-files", train=4000),
    # questions
    "guests-bert": Case("guests-bert", train=EPOCHS),
    "subjqa-bert": Case("subjqa-bert", ("input.vocabulary=400", "input.longest=128", "input.stride=48")),
    "guests-roberta": Case("guests-bert", ("model.kind=roberta",)),
    "question-files": Case("question-files"),
    # forecasting
    "waves-lstm": Case("waves-lstm", train=EPOCHS),
    "waves-dense": Case("waves-dense"),
    "ett-lstm": Case("waves-lstm", SERIES),
    # description
    "described-files": Case("described-files"),
    "numbers-gru": Case("numbers-gru", ("model.width=32",)),
}

# Every recipe that ships is recorded as it is, but for what it lacks to be trained from nothing, or on few examples.
EVERY = {
    "dialogsum-gpt-tuned": Case("dialogsum-gpt-tuned", ("model.context=512",)),
    "wnut17-bert": Case("wnut17-bert", train=4000),
    "wnut17-lstm": Case("wnut17-lstm", train=4000),
}
