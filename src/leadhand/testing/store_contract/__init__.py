"""What every context store must do: the promises of its port as tests, to be run against your own adapter.

Give two instances on one database, each as a fixture, and inherit the tests::

    class TestMyStore(ContextStoreContract):
        @pytest_asyncio.fixture
        async def store(self, tmp_path):
            async with aclosing(await my_store(tmp_path)) as store:
                yield store

        @pytest_asyncio.fixture
        async def second_store(self, store, tmp_path):  # another host, as if in another process
            async with aclosing(await my_store(tmp_path)) as store:
                yield store

A store that belongs to one process, such as one in memory, inherits :class:`OneStoreContract` and gives ``store`` only.
One that keeps API keys too inherits :class:`KeyStoreContract` as well, or :class:`SharedKeyStoreContract`.
One that keeps settings of roles inherits :class:`AgentStoreContract`.

Needs pytest and pytest-asyncio. For whole assertions in reports, call
``pytest.register_assert_rewrite("leadhand.testing.store_contract")`` in your ``conftest.py`` before importing this.
"""

from __future__ import annotations

from .agents import AgentStoreContract
from .allowance import AllowanceContract, SharedAllowanceContract
from .appending import AppendingContract, SharedAppendingContract
from .asking import AskingContract, SharedAskingContract, asks, says
from .fences import FencesContract, SharedFencesContract
from .following import FollowingContract, SharedFollowingContract
from .hosting import HostingContract, SharedHostingContract
from .keeping import KeepingContract, SharedKeepingContract
from .keys import KeyStoreContract, SharedKeyStoreContract, api_key
from .listing import ListingContract
from .owning import OwningContract, SharedOwningContract
from .samples import (
    ATTEMPT,
    PATIENCE_S,
    UNLIMITED,
    began,
    collected,
    fits,
    lost,
    next_of,
    pauses,
    reasons,
    returned,
    started,
    tokens,
    tokens_left,
)

__all__ = [
    "ATTEMPT",
    "PATIENCE_S",
    "UNLIMITED",
    "AgentStoreContract",
    "ContextStoreContract",
    "KeyStoreContract",
    "OneStoreContract",
    "SharedKeyStoreContract",
    "SharedStoreContract",
    "api_key",
    "asks",
    "began",
    "collected",
    "fits",
    "lost",
    "next_of",
    "pauses",
    "reasons",
    "returned",
    "says",
    "started",
    "tokens",
    "tokens_left",
]


class OneStoreContract(
    AppendingContract,
    FencesContract,
    AllowanceContract,
    FollowingContract,
    OwningContract,
    ListingContract,
    AskingContract,
    HostingContract,
    KeepingContract,
):
    """What a store owes to one process. Override ``store``."""


class SharedStoreContract(
    SharedAppendingContract,
    SharedFencesContract,
    SharedAllowanceContract,
    SharedFollowingContract,
    SharedOwningContract,
    SharedAskingContract,
    SharedHostingContract,
    SharedKeepingContract,
):
    """What a store owes to several processes on one database. Override ``store`` and ``second_store``."""


class ContextStoreContract(OneStoreContract, SharedStoreContract):
    """All that a store owes. Override ``store`` and ``second_store``."""
