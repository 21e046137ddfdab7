"""A tiny example of every task: files, a recipe and command lines, as somebody would write them who has the task.

Adding a task to the contract is adding a row to `TINY`. What stands here is spelled as users spell it; how Python
spells it is the business of `wing.py`.
"""

import json
import math
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from seqwright.kinds import TASKS

WORDS = ["red", "blue", "green", "cat", "dog", "cow", "sun", "sea", "sky", "old", "new"]
PARTS = {"train": 43, "valid": 11, "test": 7}
TRAINING = """
[training]
steps = {}
tokens = 150
rate = 0.02
schedule = "constant"
warmup = 0
validate_every = 500
save_every = 500
device = "cpu"

[decoding]
beam = 1
"""
SMALL_BERT = "width = 8\nheads = 2\nlayers = 1\nfeed_forward = 16\ndropout = 0.1"
SMALL_READER = (
    "width = 7\nembedding = 5\nbidirectional = false\ndropout = 0.0\nembedding_dropout = 0.0\nword_dropout = 0.0"
)
FILES = 'train = "train.{0}"\nvalid = "valid.{0}"\ntest = "test.{0}"'


@dataclass(frozen=True)
class Tiny:
    """One task in small. In command lines RUN stands for the run folder."""

    name: str
    task: str
    files: Mapping[str, str]
    recipe: str
    verb: tuple[str, ...]
    blank: tuple[str, ...]  # the verb given nothing, more than it can read, and what it has never seen
    overlong: tuple[str, ...]
    unknown: tuple[str, ...]
    limit: str  # how much can be read, as what is said of too much tells it
    look: tuple[str, ...] = ()  # none where `look` refuses the task
    gradients: tuple[str, ...] = ()  # none where no gradient goes back through time
    strange: tuple[str, ...] = ("Ω", "unknown")  # one of which is said of what was never seen
    new: str = ""  # the file that `new` is given; none where `new` does not know the task
    together: bool = True  # whether several runs can predict together
    steps: int = 60  # of training: enough that predictions differ
    roberta: bool = False  # whether the tokenizer is another program's, with two separators between two texts

    @property
    def text(self) -> str:
        """The whole recipe."""
        return f"{self.recipe}\n{TRAINING.format(self.steps)}"


def phrases(part: str) -> list[list[str]]:
    """So many different phrases of two to seven words, none of which another part has."""
    rng, first = random.Random(4), {"train": 0, "valid": PARTS["train"], "test": PARTS["train"] + PARTS["valid"]}[part]
    found = dict.fromkeys(tuple(rng.choices(WORDS, k=rng.randrange(2, 8))) for _ in range(400))
    return [list(phrase) for phrase in found][first : first + PARTS[part]]


def tables(ending: str, row: Callable[[list[str]], str], header: str = "") -> dict[str, str]:
    """A file for each part, a line for each phrase."""
    return {f"{part}.{ending}": header + "".join(f"{row(words)}\n" for words in phrases(part)) for part in PARTS}


def line(words: Iterable[str]) -> str:
    return " ".join(words)


def halves(words: list[str]) -> tuple[str, str]:
    middle = len(words) // 2
    return line(words[:middle]), line(words[middle:])


def label(words: list[str]) -> str:
    return "animal" if {"cat", "dog", "cow"} & set(words) else "thing"


def tagged(words: list[str]) -> str:
    kinds = {"cat": "B-animal", "dog": "B-animal", "cow": "B-animal", "sun": "B-place", "sea": "B-place"}
    return "".join(f"{word}\t{kinds.get(word, 'O')}\n" for word in words)


def question(words: list[str]) -> str:
    """Who is what? Some contexts are longer than a window."""
    rng = random.Random(line(words))
    facts = [f"{rng.choice(('cat', 'dog', 'cow'))} is {word}" for word in dict.fromkeys(words)]
    who, _, what = rng.choice(facts).split()
    return json.dumps({"question": f"who is {what}", "context": " and ".join(facts), "answers": [who]})


def waves() -> str:
    rows = (f"{math.sin(step / 3):.2f},{math.cos(step / 5):.2f}\n" for step in range(113))
    return "high,low\n" + "".join(rows)


def labelled_wave(words: list[str]) -> str:
    """A label and then a short series, slow or fast, of a length of its own."""
    rng = random.Random(line(words))
    fast, steps = rng.random() < 0.5, 5 + len(words)
    values = (f"{math.sin(step * (2 if fast else 0.3)) + rng.gauss(0, 0.2):.2f}" for step in range(steps))
    return "\t".join(("fast" if fast else "slow", *values))


def drawn(words: list[str]) -> tuple[str, str]:
    """A small image as plain text, and what it shows: a bar that stands or lies, in noise."""
    rng = random.Random(line(words))
    lies, place = rng.random() < 0.5, rng.randrange(1, 4)
    rows = [
        [rng.randrange(60) + (190 if place == (row if lies else column) else 0) for column in range(5)]
        for row in range(6)
    ]
    return "P2 5 6 255\n" + "\n".join(" ".join(map(str, row)) for row in rows), "lying" if lies else "standing"


def images() -> dict[str, str]:
    """A table of images for each part, and the images."""
    files = {"large.pgm": "P2 90000 90000 255\n1 2 3\n"}
    for part in PARTS:
        rows = ["image,label"]
        for number, (content, shown) in enumerate(map(drawn, phrases(part))):
            files[f"images/{part}-{number}.pgm"] = content
            rows.append(f"images/{part}-{number}.pgm,{shown}")
        files[f"{part}.csv"] = "".join(f"{row}\n" for row in rows)
    return files


def film(words: list[str]) -> tuple[list[str], str, str]:
    """A dot that falls or rises, as the frames of a film in plain text; what it does, and where it is."""
    rng = random.Random(line(words))
    falls, column = rng.random() < 0.5, rng.randrange(5)
    rows = list(range(4 - rng.randrange(2)))
    rows = rows if falls else rows[::-1]
    frames = [
        "P2 5 4 255\n"
        + "\n".join(
            " ".join(str(rng.randrange(40) + 200 * ((y, x) == (row, column))) for x in range(5)) for y in range(4)
        )
        for row in rows
    ]
    return frames, "falling" if falls else "rising", " ".join(f"{column},{row}" for row in rows)


def films() -> dict[str, str]:
    """A table of films for each part, and a folder of frames for each film."""
    files = {"large/1.pgm": "P2 90000 90000 255\n1 2 3\n"}
    for part in PARTS:
        rows = ["film,label,places"]
        for number, (frames, shown, places) in enumerate(map(film, phrases(part))):
            for frame, content in enumerate(frames):
                files[f"films/{part}-{number}/{frame}.pgm"] = content
            rows.append(f'films/{part}-{number},{shown},"{places}"')
        files[f"{part}.csv"] = "".join(f"{row}\n" for row in rows)
    return files


def captions() -> dict[str, str]:
    """A table of images for each part, each with a caption in one row and another in a second, and the images."""
    files = {"large.pgm": "P2 90000 90000 255\n1 2 3\n"}
    for part in PARTS:
        rows = ["image,caption"]
        for number, words in enumerate(phrases(part)):
            content, shown = drawn(words)
            files[f"images/{part}-{number}.pgm"] = content
            rows += [f"images/{part}-{number}.pgm,{text}" for text in (f"a {shown} bar", f"it is {shown} {words[0]}")]
        files[f"{part}.csv"] = "".join(f"{row}\n" for row in rows)
    return files


LONG = line(WORDS * 9)
TRANSLATION = tables("tsv", lambda words: f"{line(words)}\t{line(word[::-1] for word in words)}")
LABELLED = tables("tsv", lambda words: f"{line(words)}\t{label(words)}", "text\tlabel\n")
LABELLED_PAIRS = tables("tsv", lambda words: "\t".join((*halves(words), label(words))), "text1\ttext2\tlabel\n")
QUESTIONS = tables("jsonl", question)
CONTEXT = "cat is red and dog is blue"
CLASSIFIER = '{}\n[input]\n{}\nlongest = 17\n[model]\nkind = "{}"\n{}'
LABELLED_DATA = f'task = "text-classification"\n[data]\n{FILES.format("tsv")}'
RATED_DATA = LABELLED_DATA.replace("classification", "regression")
QUESTIONS_RECIPE = (
    f'task = "question-answering"\n[data]\n{FILES.format("jsonl")}\n'
    '[input]\n{}\nlongest = 17\nlongest_question = 5\nstride = 7\n[output]\nlongest_answer = 3\n[model]\nkind = "{}"\n'
    f"{SMALL_BERT}\ncontext = 17"
)


def writing(task: str, files: Mapping[str, str], data: str, **more: object) -> Tiny:
    """What all tasks have in common that write a text for a text."""
    short, strange = ("rc", "rΩ") if task == "grapheme-to-phoneme" else ("red cat", "red Ω")
    verb = TASKS[task].verbs[0]
    return Tiny(
        task,
        task,
        files,
        f'task = "{task}"\n[data]\n{data}\nlongest = 17\n'
        '[model]\nkind = "transformer"\nwidth = 8\nheads = 2\nencoder_layers = 1\ndecoder_layers = 1\n'
        "feed_forward = 16\ndropout = 0.1",
        (verb, "RUN", short),
        (verb, "RUN", ""),
        (verb, "RUN", LONG),
        (verb, "RUN", strange),
        "17",
        look=("look", "RUN", short),
        **more,  # type: ignore[arg-type]
    )


def classifying(name: str, recipe: str, files: Mapping[str, str], **more: object) -> Tiny:
    """What all classifiers of single texts have in common."""
    return Tiny(
        name,
        "text-classification",
        files,
        recipe,
        ("classify", "RUN", "red cat"),
        ("classify", "RUN", ""),
        ("classify", "RUN", LONG),
        ("classify", "RUN", "red Ω"),
        "17",
        look=("look", "RUN", "red cat"),
        **more,  # type: ignore[arg-type]
    )


def classifying_pairs(name: str, task: str, recipe: str, files: Mapping[str, str], **more: object) -> Tiny:
    """What all that read two texts have in common."""
    verb = TASKS[task].verbs[0]
    return Tiny(
        name,
        task,
        files,
        recipe,
        (verb, "RUN", "red cat", "--text-pair", "old sea"),
        (verb, "RUN", "", "--text-pair", "old sea"),
        (verb, "RUN", LONG, "--text-pair", "old sea"),
        (verb, "RUN", "red Ω", "--text-pair", "old sea"),
        "17",
        look=("look", "RUN", "red cat", "old sea"),
        **more,  # type: ignore[arg-type]
    )


def answering(name: str, recipe: str, **more: object) -> Tiny:
    """What all that answer questions have in common."""
    return Tiny(
        name,
        "question-answering",
        QUESTIONS,
        recipe,
        ("answer", "RUN", "who is red", "--context", CONTEXT),
        ("answer", "RUN", "", "--context", CONTEXT),
        ("answer", "RUN", LONG, "--context", CONTEXT),
        ("answer", "RUN", "who is Ω", "--context", CONTEXT),
        "5",
        look=("look", "RUN", "who is red", CONTEXT),
        together=False,
        **more,  # type: ignore[arg-type]
    )


TINY = (
    writing("translation", TRANSLATION, f'{FILES.format("tsv")}\n[input]\ntokenizer = "words"', new="train.tsv"),
    writing("summarization", TRANSLATION, f'{FILES.format("tsv")}\n[input]\ntokenizer = "words"', new="train.tsv"),
    writing(
        "grapheme-to-phoneme",
        tables("dict", lambda words: f"{''.join(word[0] for word in words)}  {line(words).upper()}"),
        f'{FILES.format("dict")}\n[output]\ntokenizer = "whitespace"\n'
        '[input]\ntokenizer = "characters"\nshared = false',
        new="train.dict",
    ),
    Tiny(
        "instruction",
        "instruction",
        TRANSLATION,
        f'task = "instruction"\n[data]\n{FILES.format("tsv")}\n[input]\ntokenizer = "words"\nlongest = 11\n'
        '[model]\nkind = "gpt"\nwidth = 8\nheads = 2\nlayers = 1\ncontext = 29\ndropout = 0.1\n'
        '[objective]\nkind = "answer-only"',
        ("reply", "RUN", "red cat"),
        ("reply", "RUN", " "),
        ("reply", "RUN", LONG),
        ("reply", "RUN", "red Ω"),
        "11",
        look=("look", "RUN", "red cat"),
        new="train.tsv",
    ),
    Tiny(
        "language-modeling",
        "language-modeling",
        tables("txt", line),
        f'task = "language-modeling"\n[data]\n{FILES.format("txt")}\n'
        '[input]\ntokenizer = "characters"\nrows = "documents"\nlongest = 59\n'
        '[model]\nkind = "lstm"\nwidth = 7\ndropout = 0.0',
        ("score", "RUN", "red cat"),
        ("score", "RUN", ""),
        ("score", "RUN", LONG),
        ("score", "RUN", "red Ω"),
        "59",
        look=("look", "RUN", "red cat"),
        gradients=("look", "RUN", "red cat", "--gradients"),
        together=False,
        new="train.txt",
    ),
    Tiny(
        "masked-language-modeling",
        "masked-language-modeling",
        tables("txt", lambda words: line(f"{word} {word[::-1]}" for word in (words * 3)[:5])),
        f'task = "masked-language-modeling"\n[data]\n{FILES.format("txt")}\n'
        '[input]\ntokenizer = "whitespace"\nrows = "full-sentences"\nlongest = 13\n'
        f'[model]\nkind = "bert"\npooler = false\ncontext = 13\n{SMALL_BERT}\n[objective]\nkind = "masked-token"',
        ("fill", "RUN", "red <mask> dog"),
        ("fill", "RUN", ""),
        ("fill", "RUN", f"<mask> {LONG}"),
        ("fill", "RUN", "<mask> Ω"),
        "13",
        look=("look", "RUN", "red <mask> dog"),
        together=False,
        new="train.txt",
    ),
    classifying(
        "text-classification",
        CLASSIFIER.format(LABELLED_DATA, 'tokenizer = "characters"', "lstm", SMALL_READER),
        LABELLED,
        gradients=("look", "RUN", "red cat", "--gradients"),
        new="train.tsv",
    ),
    classifying(
        "classification-lstm-lm",
        CLASSIFIER.format(LABELLED_DATA, 'tokenizer = "characters"', "lstm-lm", "width = 7\ndropout = 0.0"),
        LABELLED,
        gradients=("look", "RUN", "red cat", "--gradients"),
    ),
    classifying_pairs(
        "classification-pairs",
        "text-classification",
        CLASSIFIER.format(LABELLED_DATA, 'tokenizer = "characters"', "lstm", SMALL_READER),
        LABELLED_PAIRS,
        gradients=("look", "RUN", "red cat", "old sea", "--gradients"),
    ),
    classifying_pairs(
        "classification-pairs-roberta",
        "text-classification",
        CLASSIFIER.format(LABELLED_DATA, 'like = "../roberta"', "roberta", f"{SMALL_BERT}\ncontext = 23"),
        LABELLED_PAIRS,
        roberta=True,
    ),
    classifying_pairs(
        "text-regression",
        "text-regression",
        CLASSIFIER.format(RATED_DATA, 'tokenizer = "characters"', "bert", f"{SMALL_BERT}\ncontext = 23"),
        tables("tsv", lambda words: "\t".join((*halves(words), str(len(words) / 2))), "text1\ttext2\tscore\n"),
        new="train.tsv",
        steps=200,  # until what it says differs by far more than what is lost to rounding
    ),
    Tiny(
        "token-classification",
        "token-classification",
        tables("conll", tagged),
        f'task = "token-classification"\n[data]\n{FILES.format("conll")}\n'
        '[input]\ntokenizer = "characters"\nlongest = 13\n'
        f'[model]\nkind = "gru"\n{SMALL_READER}',
        ("tag", "RUN", "red cat"),
        ("tag", "RUN", ""),
        ("tag", "RUN", "redcatdog" * 9),
        ("tag", "RUN", "red Ω"),
        "13",
        look=("look", "RUN", "red cat"),
        gradients=("look", "RUN", "red cat", "--gradients"),
        new="train.conll",
        steps=200,
    ),
    answering("question-answering", QUESTIONS_RECIPE.format('tokenizer = "words"', "bert"), new="train.jsonl"),
    answering("questions-roberta", QUESTIONS_RECIPE.format('like = "../roberta"', "roberta"), roberta=True),
    Tiny(
        "series-classification",
        "series-classification",
        tables("tsv", labelled_wave),
        f'task = "series-classification"\n[data]\n{FILES.format("tsv")}\n[model]\nkind = "lstm"\n{SMALL_READER}',
        ("classify", "RUN", "0.1, 0.5, -0.2"),
        ("classify", "RUN", ""),
        ("classify", "RUN", "0.1, 0.5 : 0.1, 0.2"),  # nothing is too long for it, but it has one channel
        ("classify", "RUN", "0.1, Ω"),
        "1",
        new="train.tsv",
    ),
    Tiny(
        "image-classification",
        "image-classification",
        images(),
        f'task = "image-classification"\n[data]\n{FILES.format("csv")}\n'
        '[model]\nkind = "vit"\npatch = 3\nwidth = 8\nheads = 2\nlayers = 1\ndropout = 0.1',
        ("classify", "RUN", "images/test-1.pgm"),
        ("classify", "RUN", ""),
        ("classify", "RUN", "large.pgm"),
        ("classify", "RUN", "nowhere.png"),
        "67,108,864",
        look=("look", "RUN", "images/test-1.pgm"),
        gradients=("look", "RUN", "images/test-1.pgm", "--gradients"),
        strange=("nowhere.png",),
        new="train.csv",
    ),
    *(
        Tiny(
            task,
            task,
            films(),
            f'task = "{task}"\n[data]\n{FILES.format("csv")}\n[model]\nkind = "gru"\nframe_width = 4\n{SMALL_READER}',
            (verb, "RUN", "films/test-1"),
            (verb, "RUN", ""),
            (verb, "RUN", "large"),
            (verb, "RUN", "nowhere.gif"),
            "67,108,864",
            strange=("nowhere.gif",),
            new="train.csv",
        )
        for task, verb in (("film-classification", "classify"), ("film-tracking", "track"))
    ),
    Tiny(
        "image-captioning",
        "image-captioning",
        captions(),
        f'task = "image-captioning"\n[data]\n{FILES.format("csv")}\n[input]\naugment = ["shift", "blur"]\n'
        "[output]\nlongest = 17\n"
        '[model]\nkind = "captioner"\nencoder_width = 4\nencoder_layers = 2\nwidth = 8\ndropout = 0.1\n'
        '[objective]\nkind = "doubly-stochastic"\neven = 0.1',
        ("caption", "RUN", "images/test-1.pgm"),
        ("caption", "RUN", ""),
        ("caption", "RUN", "large.pgm"),
        ("caption", "RUN", "nowhere.png"),
        "67,108,864",
        look=("look", "RUN", "images/test-1.pgm"),
        strange=("nowhere.png",),
        new="train.csv",
    ),
    Tiny(
        "hard-captions",
        "image-captioning",
        captions(),
        f'task = "image-captioning"\n[data]\n{FILES.format("csv")}\n[output]\nlongest = 17\n'
        '[model]\nkind = "hard-captioner"\nencoder_width = 4\nencoder_layers = 2\nwidth = 8\ndropout = 0.1\n'
        '[objective]\nkind = "reinforce"',
        ("caption", "RUN", "images/test-1.pgm"),
        ("caption", "RUN", ""),
        ("caption", "RUN", "large.pgm"),
        ("caption", "RUN", "nowhere.png"),
        "67,108,864",
        look=("look", "RUN", "images/test-1.pgm"),
        strange=("nowhere.png",),
    ),
    Tiny(
        "forecasting",
        "forecasting",
        {
            "train.csv": waves(),
            "blank.csv": "high,low\n",
            "short.csv": "high,low\n0.5,0.25\n",
            "other.csv": waves().replace("low", "deep"),
        },
        'task = "forecasting"\n[data]\ntrain = "train.csv"\nvalid = 17\ntest = 11\nhistory = 7\nhorizon = 3\n'
        '[model]\nkind = "gru"\nwidth = 5\nlayers = 1',
        ("forecast", "RUN"),
        ("forecast", "RUN", "--file", "blank.csv"),
        ("forecast", "RUN", "--file", "short.csv"),  # nothing is too long for it
        ("forecast", "RUN", "--file", "other.csv"),
        "7",
        gradients=("look", "RUN", "--gradients"),
        strange=("deep",),
        new="train.csv",
    ),
    Tiny(
        "vector-to-text",
        "vector-to-text",
        {
            f"{part}.tsv": "size\tage\ttext\n"
            + "".join(f"{len(words)}\t{number % 5 - 1.5}\t{words[0]}\n" for number, words in enumerate(phrases(part)))
            for part in PARTS
        },
        f'task = "vector-to-text"\n[data]\n{FILES.format("tsv")}\ncolumns = ["size", "age"]\n[output]\nlongest = 17\n'
        '[model]\nkind = "gru"\nwidth = 7\ndropout = 0.0',
        ("describe", "RUN", "3,1.5"),
        ("describe", "RUN", ""),
        ("describe", "RUN", "3,1.5,7"),
        ("describe", "RUN", "3,Ω"),
        "2",
        new="train.tsv",
    ),
)
