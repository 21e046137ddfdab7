"""Several runs that decide together: `--with RUN` beside the first."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

from seqwright.cli.opening import opened_run
from seqwright.decoding.ensemble import Average
from seqwright.errors import SettingError
from seqwright.runs import Run, joined_run


class EnsembleOptions(NamedTuple):
    """The other runs, and how what they expect is averaged."""

    folders: tuple[Path, ...] = ()
    average: Average = "probabilities"

    @classmethod
    def asked(cls, folders: Sequence[Path] | None, average: str | None) -> "EnsembleOptions":
        """What the options say."""
        if average is not None and not folders:
            raise SettingError("--average is how several runs are joined; add --with and another run, or leave it out")
        for known in get_args(Average):
            if average in {None, known}:
                return cls(tuple(folders or ()), known)
        raise SettingError(f"--average is '{average}'; choose {' or '.join(get_args(Average))}")

    def opened(self, first: Run, which: str) -> list[Run]:
        """The first run and the others."""
        return [first, *(opened_run(folder, which) for folder in self.folders)]

    def joined(self, runs: Sequence[Run]) -> Run:
        """All of them as one, as `sw.load` has it."""
        return joined_run(runs, self.average)

    def circumstances(self, others: Sequence[Run]) -> dict[str, Any]:
        """What a report says of the others."""
        return {"with": {run.folder.name: run.step for run in others}, "average": self.average} if others else {}

    @property
    def named(self) -> str:
        """What is added to the name of a file: whom the run was joined with, and how if not as usual."""
        names = "".join(f"-with-{folder.name}" for folder in self.folders)
        return names + ("-log-probabilities" if self.average == "log-probabilities" else "")
