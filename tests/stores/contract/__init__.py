"""Contract tests for context stores: inherit them to test a store of your own.

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

A store for one process, such as one in memory, inherits :class:`OneStoreContract` and :class:`FileIndexContract`; its
``second_store`` is the same one. A store in a database also inherits :class:`RecordContract`,
:class:`SearchIndexContract` and :class:`PlaceStoreContract`.

Needs pytest and pytest-asyncio.
"""

from __future__ import annotations

from .allowance import AllowanceContract, SharedAllowanceContract
from .files import FileIndexContract as FileIndexContract
from .files import write_file as write_file
from .heads import HeadContract, SharedHeadContract
from .keeping import KeepingContract, SharedKeepingContract
from .keeping import RecordContract as RecordContract
from .log import LogContract, SharedLogContract
from .places import PlaceStoreContract as PlaceStoreContract
from .runs import RunsContract, SharedRunsContract
from .samples import UNLIMITED as UNLIMITED
from .samples import asks as asks
from .samples import began as began
from .samples import collected as collected
from .samples import lost as lost
from .samples import next_of as next_of
from .samples import pauses as pauses
from .samples import reasons as reasons
from .samples import returned as returned
from .samples import says as says
from .samples import started as started
from .samples import tokens as tokens
from .samples import tokens_at_most as tokens_at_most
from .samples import tokens_left as tokens_left
from .searching import ListContract
from .searching import SearchIndexContract as SearchIndexContract


class OneStoreContract(LogContract, AllowanceContract, RunsContract, ListContract, HeadContract, KeepingContract):
    """The contract of a store for one process. Provide ``store`` on an empty database, twice."""


class SharedStoreContract(
    SharedLogContract, SharedAllowanceContract, SharedRunsContract, SharedHeadContract, SharedKeepingContract
):
    """What several processes on one database may rely on. Provide ``store`` and ``second_store``."""


class ContextStoreContract(OneStoreContract, SharedStoreContract):
    """The whole contract. Provide ``store`` and ``second_store``."""
