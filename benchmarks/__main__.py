"""The bench: ours and the peers in turns, with the distance to what the machine can do at most.

    python -m benchmarks                                       what can be asked
    python -m benchmarks decoding ngrams                       some questions; the numbers go to results/bench
    python -m benchmarks all --quick                           all in small; the numbers go to runs/quick/bench
    python -m benchmarks gpt-training --nanogpt FOLDER         beside a checkout of nanoGPT

A peer that cannot be installed, or that fails, is named with the reason.
"""

import argparse
import ast
import importlib
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.record import REPOSITORY
from benchmarks.speed.harness import Options, Question, TurnError, answer, report, write
from benchmarks.speed.peers import NANOGPT_FILES, is_nanogpt
from seqwright.errors import instead

QUESTIONS = (
    "decoding",
    "gpt-training",
    "gpt-generating",
    "embedding",
    "images",
    "translation-training",
    "recurrent",
    "ngrams",
    "cold-start",
    "growth",
    "corpus",
    "profile",
)


def main(words: list[str] | None = None) -> int:
    """Answer what is asked, and say what could not be answered; the exit code."""
    given = parser().parse_args(words)
    if not given.questions:
        print(listed())
        return 0
    names = list(QUESTIONS) if given.questions == ["all"] else given.questions
    for name in names:
        if name not in QUESTIONS:
            return refused(f"there is no question '{name}'{instead(name, QUESTIONS)}")
    if given.threads < 1 or (given.rounds is not None and given.rounds < 1):
        return refused("--threads and --rounds must be at least 1")
    if given.nanogpt is not None and not is_nanogpt(given.nanogpt):
        files = " and ".join(NANOGPT_FILES)
        return refused(f"--nanogpt {given.nanogpt} is no checkout of nanoGPT: it has no {files}; clone it first")
    peers = [each.name for name in names for each in question_of(name).contestants[1:]]
    for name in given.without:
        if name not in peers:
            return refused(f"--without {name}: nobody of that name takes part{instead(name, peers)}")
    options = Options(
        quick=given.quick,
        threads=given.threads,
        rounds=given.rounds,
        nanogpt=None if given.nanogpt is None else str(given.nanogpt.resolve()),
        without=tuple(given.without),
        results=given.results,
    )
    questions = [question_of(name) for name in names]
    # For a look, a question on each of two cores; a measurement has the machine for itself.
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1) if options.quick else 1) as pool:
        answers = pool.map(lambda question: attempt(question, options), questions)
        answered = [told(question, found, options) for question, found in zip(questions, answers, strict=True)]
    return 0 if all(answered) else 1


def attempt(question: Question, options: Options) -> dict[str, Any] | TurnError:
    """What is found, or why nothing is."""
    try:
        return answer(question, options)
    except TurnError as error:
        return error


def told(question: Question, found: dict[str, Any] | TurnError, options: Options) -> bool:
    """Show and write down what was found; whether ours could answer."""
    if isinstance(found, TurnError):
        print(f"python -m benchmarks: {question.name} could not be answered: {found}", file=sys.stderr)
        return False
    report(question, found)
    print(f"written to {os.path.relpath(write(found, options))} after {found['seconds']:.0f} s", flush=True)
    return True


def question_of(name: str) -> Question:
    """The question of that name."""
    question: Question = importlib.import_module(f"benchmarks.speed.{name.replace('-', '_')}").QUESTION
    return question


def refused(sentence: str) -> int:
    """Tell why nothing is measured."""
    print(f"python -m benchmarks: {sentence}", file=sys.stderr)
    return 2


def parser() -> argparse.ArgumentParser:
    """The options."""
    found = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    found.add_argument("questions", nargs="*", metavar="QUESTION", help="what is asked, or 'all'; nothing lists them")
    found.add_argument("--quick", action="store_true", help="small sizes and one round: a look, not a measurement")
    found.add_argument("--threads", type=int, default=1, help="CPU threads of each contestant (default: 1)")
    found.add_argument("--rounds", type=int, help="turns of each contestant (default: those of the question)")
    found.add_argument("--nanogpt", type=Path, metavar="FOLDER", help="a checkout of nanoGPT")
    found.add_argument("--without", action="append", default=[], metavar="NAME", help="a peer to leave out; repeatable")
    found.add_argument("--results", type=Path, metavar="FOLDER", help="where the numbers go")
    return found


def listed() -> str:
    """Every question in a line, and every other script that measures something."""
    others = {path.stem: first_line(path) for path in sorted((REPOSITORY / "benchmarks").glob("*.py"))}
    scripts = {name: line for name, line in others.items() if line.endswith("?")}
    lines = ["Questions, python -m benchmarks QUESTION:", ""]
    lines += [f"  {name:22}{question_of(name).line}" for name in QUESTIONS]
    lines += ["", "Other measurements, python -m benchmarks.NAME:", ""]
    lines += [f"  {name:22}{line}" for name, line in scripts.items()]
    return "\n".join(lines)


def first_line(path: Path) -> str:
    """What a script says it asks."""
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return said.split("\n", maxsplit=1)[0]


if __name__ == "__main__":
    sys.exit(main())
