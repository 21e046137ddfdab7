"""Every error a user can cause: one sentence that says what was found, where, and what to do.

The command line prints the sentence and exits with code 2; from Python they are ordinary exceptions.
"""


class UserError(Exception):
    """What the user gave cannot be used; the message says why and what to do."""


class DataError(UserError):
    """A data file is missing, damaged or of another form than expected."""


class SettingError(UserError):
    """A setting is unknown, mistyped or contradicts another."""


class RunError(UserError):
    """A run folder is missing, damaged, locked, or does not fit what is asked of it."""


class DownloadError(UserError):
    """A dataset could not be fetched whole and unchanged."""


def nearest(word: str, known: list[str]) -> str:
    """` Did you mean 'x'?` for the known word nearest to `word`, or nothing."""
    import difflib

    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f" Did you mean '{close[0]}'?" if close else ""
