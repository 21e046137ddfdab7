"""Makes caption_scores.json: made-up captions and what COCO's own code says of them.

    python -m venv coco && coco/bin/pip install pycocoevalcap
    coco/bin/python tests/oracle/caption_scores.py

The captions are words between spaces already, so that its tokenizer, which needs Java, has nothing to do.
"""

import json
import random
from importlib import import_module
from pathlib import Path

WORDS = ["a", "dog", "runs", "two", "men", "play", "red", "ball", "in", "the", "snow", "grass", "jumps", "over"]


def captions(seed: int, images: int) -> tuple[list[str], list[list[str]]]:
    """A caption for each image, and one to five references, which share some of its words."""
    rng = random.Random(seed)
    said, right = [], []
    for _ in range(images):
        scene = rng.sample(WORDS, 7)
        written = [rng.choices(scene, k=rng.randrange(1, 12)) for _ in range(rng.randrange(2, 7))]
        if rng.random() < 0.3:
            written[0] = list(written[1])
        said.append(" ".join(written[0]))
        right.append([" ".join(each) for each in written[1:]])
    return said, right


def main() -> None:
    bleu, cider, rouge = (import_module(f"pycocoevalcap.{name}.{name}") for name in ("bleu", "cider", "rouge"))
    found = []
    for seed, images in enumerate((1, 2, 7, 41)):
        said, right = captions(seed, images)
        references = dict(enumerate(right))
        hypotheses = {number: [text] for number, text in enumerate(said)}
        bleus, _ = bleu.Bleu(4).compute_score(references, hypotheses, verbose=0)
        scores = {f"bleu_{n}": value for n, value in enumerate(bleus, start=1)}
        scores["cider"] = float(cider.Cider().compute_score(references, hypotheses)[0])
        scores["rouge_l"] = float(rouge.Rouge().compute_score(references, hypotheses)[0])
        found.append({"hypotheses": said, "references": right, "scores": scores})
    path = Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
