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
    except KeyboardInterrupt:
        print("\nseqwright: stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output has gone: nothing left to say
        sys.stderr.close()
        sys.exit(141)


def _verb() -> str:
    words = [word for word in sys.argv[1:2] if not word.startswith("-")]
    return f" {words[0]}" if words else ""


if __name__ == "__main__":
    main()
