"""What every test shares: torch on one thread, a token cache of its own, and the published data where it is there."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    """Small tensors go faster alone, and sums come out in the same order on every machine."""
    torch.set_num_threads(1)


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
