"""`seqwright …` and `python -m seqwright …`."""

import sys

from seqwright.errors import UserError


def main() -> None:
    """Run a verb; what the user can cause is one sentence on standard error and exit code 2."""
    from seqwright.cli.app import app

    try:
        app()
    except UserError as error:
        print(f"seqwright{_verb()}: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        where = error.filename or "a file"
        print(
            f"seqwright{_verb()}: {where}: {error.strerror or error}; check the disk and permissions", file=sys.stderr
        )
        sys.exit(2)


def _verb() -> str:
    words = [word for word in sys.argv[1:2] if not word.startswith("-")]
    return f" {words[0]}" if words else ""


if __name__ == "__main__":
    main()
