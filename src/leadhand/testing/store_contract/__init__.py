"""Contract tests for context stores: inherit them to test your own adapter.

Provide two instances on one database, each as a fixture, and inherit the tests::

    class TestMyStore(ContextStoreContract):
        @pytest_asyncio.fixture
        async def store(self, tmp_path):
            async with aclosing(await my_store(tmp_path)) as store:
                yield store

        @pytest_asyncio.fixture
        async def second_store(self, store, tmp_path):  # another host, as if in another process
            async with aclosing(await my_store(tmp_path)) as store:
                yield store

A store for one process, such as one in memory, inherits :class:`OneStoreContract` and provides ``store`` only. Stores
of API keys also inherit :class:`KeyStoreContract` or :class:`SharedKeyStoreContract`, stores of role settings
:class:`AgentStoreContract`, stores of artifacts :class:`ArtifactStoreContract`.

Needs pytest and pytest-asyncio. For whole assertions in reports, call
``pytest.register_assert_rewrite("leadhand.testing.store_contract")`` in your ``conftest.py`` before importing this.
"""

from __future__ import annotations

from .agents import AgentStoreContract
from .allowance import AllowanceContract, ScopedAllowanceContract, SharedAllowanceContract
from .appending import AppendingContract, SharedAppendingContract
from .artifacts import ArtifactStoreContract
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
    tokens_at_most,
    tokens_left,
)

__all__ = [
    "ATTEMPT",
    "PATIENCE_S",
    "UNLIMITED",
    "AgentStoreContract",
    "ArtifactStoreContract",
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
    "tokens_at_most",
    "tokens_left",
]


class OneStoreContract(
    AppendingContract,
    FencesContract,
    AllowanceContract,
    ScopedAllowanceContract,
    FollowingContract,
    OwningContract,
    ListingContract,
    AskingContract,
    HostingContract,
    KeepingContract,
):
    """The contract of a store for one process. Override ``store``."""


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
    """What several processes on one database may rely on. Override ``store`` and ``second_store``."""


class ContextStoreContract(OneStoreContract, SharedStoreContract):
    """The whole contract. Override ``store`` and ``second_store``."""
