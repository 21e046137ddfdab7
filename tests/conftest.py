"""What every test shares: no terminal, one thread, a token cache of its own, the published data where it is there."""

import importlib.util
import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

HAS_TORCH = importlib.util.find_spec("torch") is not None
REPOSITORY = Path(__file__).resolve().parent.parent
# What of the terminal, or of a service that runs the tests, would change the width or the colours of what is printed.
TERMINAL = (
    *("COLUMNS", "LINES", "TERM", "TERMINAL_WIDTH", "FORCE_COLOR", "NO_COLOR", "CLICOLOR_FORCE", "PY_COLORS"),
    *("TTY_COMPATIBLE", "TTY_INTERACTIVE", "GITHUB_ACTIONS", "_TYPER_FORCE_DISABLE_TERMINAL"),
)


def pytest_configure() -> None:
    """Tests see the same terminal everywhere: none. Before anything is imported, for typer looks only then."""
    for name in TERMINAL:
        os.environ.pop(name, None)


def threads() -> int:
    """One: small tensors go faster alone, and sums come out in the same order on every machine; or as many as asked."""
    return int(os.environ.get("OMP_NUM_THREADS", "1"))


@pytest.fixture(scope="session", autouse=True)
def _so_many_threads() -> None:
    if HAS_TORCH:
        import torch

        torch.set_num_threads(threads())


if not HAS_TORCH:  # `make portable`: under a Python for which there is no torch at hand, the tests that need none run
    MISSING, SKIPPED = "No module named 'torch", "Skipped: needs torch, which is not installed"

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        collector: pytest.Collector,
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """A module of tests that imports torch is skipped, and says so."""
        report = yield
        if report.failed and MISSING in str(report.longrepr):
            report.outcome, report.longrepr = "skipped", (str(collector.path), 1, SKIPPED)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """And so is a test under which torch is imported."""
        report = yield
        if report.failed and call.excinfo and MISSING in str(call.excinfo.value):
            report.outcome, report.longrepr = "skipped", (str(item.path), (item.location[1] or 0) + 1, SKIPPED)
        return report


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing is read from, or left in, the user's own cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEQWRIGHT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with the published corpora: `$SEQWRIGHT_DATA`, or `../shared/data` beside the repository."""
    folder = Path(os.environ.get("SEQWRIGHT_DATA") or REPOSITORY.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there; point SEQWRIGHT_DATA to the folder that holds the corpora")
    return folder
