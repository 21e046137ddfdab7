"""`seqwright …` and `python -m seqwright …`."""

import sys

import typer

from seqwright.errors import UserError


def main() -> None:
    """Run a verb; what the user can cause is one sentence on standard error and exit code 2."""
    from seqwright.cli.safe_output import safe_output

    with safe_output():
        _run()


def _run() -> None:
    from seqwright.cli.app import app

    try:
        sys.exit(app(prog_name="seqwright", standalone_mode=False))
    except typer.TyperException as error:
        print(_about_words(error), file=sys.stderr)
        sys.exit(2)
    except typer.Abort:
        print("seqwright: aborted", file=sys.stderr)
        sys.exit(1)
    except UserError as error:
        print(f"seqwright{_verb()}: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        where = error.filename or "a file"
        print(
            f"seqwright{_verb()}: {where}: {error.strerror or error}; check the disk and permissions", file=sys.stderr
        )
        sys.exit(2)


def _about_words(error: typer.TyperException) -> str:
    """What is wrong with the words that were typed, and where to look; the help itself where there were none."""
    found = error.format_message()
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
