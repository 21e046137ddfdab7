"""What the contract over tasks and the list of known bugs share: every tiny task is trained once."""

import pytest

from tests.contract import wing
from tests.contract.tiny_tasks import WORDS
from tests.contract.workshop import Workshop


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """Folders of tiny tasks, beside a run that lends the tokenizer of another program."""
    home = tmp_path_factory.mktemp("tasks")
    wing.roberta(home / "roberta", [*WORDS, "who", "is", "and"])
    return Workshop(home)
