"""How every story types a command."""

import sys

import pytest

from seqwright.__main__ import main


def typed(*words: str) -> int:
    """The exit code of a command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["seqwright", *words])
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0)
    return 0
