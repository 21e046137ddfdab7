"""`seqwright …` and `python -m seqwright …`."""

import signal
import sys
from typing import Any

INTERRUPTED = 130  # as shells number what SIGINT ended


def main() -> None:
    """Run a verb; what the user can cause is one sentence on standard error and exit code 2."""
    from seqwright.cli.safe_output import safe_output

    try:
        with safe_output():
            code = _run()
    except KeyboardInterrupt:  # while something is imported
        code = INTERRUPTED
    if code == INTERRUPTED:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # another one would only interrupt leaving
        told = "stopped before it was done; nothing is half-written: run the same command again"
        print(f"\nseqwright{_verb()}: {told}", file=sys.stderr)
    sys.exit(code)


def _run() -> Any:
    """The exit code of the verb that was typed."""
    import typer

    from seqwright.cli.address_space import refuse_little_address_space
    from seqwright.errors import UserError, scarcity

    try:
        refuse_little_address_space()
        from seqwright.cli.app import app

        return app(prog_name="seqwright", standalone_mode=False)
    except typer.TyperException as error:
        print(_about_words(error), file=sys.stderr)
    except typer.Abort:
        print("seqwright: aborted", file=sys.stderr)
        return 1
    except UserError as error:
        print(f"seqwright{_verb()}: {error}", file=sys.stderr)
    except OSError as error:
        where = error.filename or "a file"
        print(
            f"seqwright{_verb()}: {where}: {error.strerror or error}; check the disk and permissions", file=sys.stderr
        )
    except BaseException as error:  # a panic of a library is no Exception
        if isinstance(error, SystemExit | KeyboardInterrupt) or (told := scarcity(error)) is None:
            raise
        print(f"seqwright{_verb()}: {told}", file=sys.stderr)
    return 2


def _about_words(error: Any) -> str:
    """What is wrong with the words that were typed, and where to look; the help itself where there were none."""
    found: str = error.format_message()
    if "\n" in found:
        return found
    context = getattr(error, "ctx", None)
    place = context.command_path if context else f"seqwright{_verb()}"
    sentence = f"{place}: {found[0].lower()}{found[1:].rstrip('.')}"
    return sentence if sentence.endswith("?") else f"{sentence}; see {place} --help"


def _verb() -> str:
    words = [word for word in sys.argv[1:2] if not word.startswith("-")]
    return f" {words[0]}" if words else ""


if __name__ == "__main__":
    main()
