"""Opening a database: which ones, and what is refused."""

from __future__ import annotations

import builtins
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

import pytest
from store_processes import process
from stores.contract import pauses, started

from leadhand import Leadhand, Limits, tool
from leadhand.core.errors import ConfigurationError, StoreError
from leadhand.stores import schema
from leadhand.stores.opening import open_store
from leadhand.testing.scripted_model import ScriptedModel, plans, reviews, subtask

RECORDED = "SELECT version FROM meta"


@pytest.fixture
def url(new_url: str) -> str:
    """The tests of this module change the tables."""
    return new_url


async def why_refused(url: str, how: str = "") -> str:
    """Why a database cannot be opened; two lines, what and how, which names ``how``."""
    with pytest.raises(ConfigurationError) as refusal:
        await open_store(url)
    assert refusal.value.exit_code == 6
    assert "\n" not in refusal.value.what
    assert refusal.value.how
    assert "\n" not in refusal.value.how
    assert how in refusal.value.how
    return refusal.value.what


# --- which database ---


@pytest.mark.parametrize("url", ["mysql://root@host/db", "http://host/", "postgresql+asyncpg://host/db"])
async def test_a_url_of_another_kind_is_refused(url: str) -> None:
    assert f"{url.partition('://')[0]}://" in await why_refused(url, "sqlite:///path/to/leadhand.db")


@pytest.mark.parametrize("url", ["", "sqlite://", "sqlite:///", "sqlite:///:memory:", ":memory:"])
async def test_a_database_in_memory_is_refused(url: str) -> None:
    await why_refused(url, "sqlite:///path/to/leadhand.db")


async def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_psycopg(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("psycopg") or name == "postgres.database":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_psycopg)
    assert "psycopg" in await why_refused("postgresql://host/db", "leadhand[postgres]")


# --- what cannot be opened ---


@pytest.mark.parametrize(
    ("there", "database", "named", "how"),
    [
        ("", "no where/sub/leadhand.db", "no where/sub", "check that its directory exists"),
        ("file", "file/leadhand.db", "file", "--database"),
        ("leadhand.db.hosts", "leadhand.db", "leadhand.db.hosts", "--database"),
        ("leadhand.db", "leadhand.db", "leadhand.db", "--database"),  # of another kind
        ("", "", "", ""),  # a directory
    ],
)
async def test_a_path_that_cannot_be_a_database_is_named_and_left_alone(
    tmp_path: Path, there: str, database: str, named: str, how: str
) -> None:
    text = "not a database, but a text that is long enough to have a header"
    if there:
        (tmp_path / there).write_text(text)
    assert str(tmp_path / named) in await why_refused(str(tmp_path / database), how)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir() if path.name == there] == [
        (there, text)
    ] * bool(there)
    assert not (tmp_path / "no where").exists()


async def test_a_damaged_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "leadhand.db"
    async with aclosing(await open_store(str(path))) as store:
        await store.create("run-1", started())
    body = bytearray(path.read_bytes())
    body[4096:] = b"\xff" * (len(body) - 4096)
    path.write_bytes(body)
    assert str(path) in await why_refused(str(path), f"sqlite3 {path} .recover")


async def test_the_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "places.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
        connection.commit()
    body = path.read_bytes()
    assert "bookmarks" in await why_refused(str(path))
    assert path.read_bytes() == body
    assert list(tmp_path.iterdir()) == [path]


async def test_a_postgres_database_may_be_shared_unless_names_clash(
    postgres_url: str, run_sql: Callable[..., Any]
) -> None:
    run_sql(postgres_url, "CREATE TABLE bookmarks (url TEXT)")
    await (await open_store(postgres_url)).aclose()
    run_sql(postgres_url, "DROP TABLE blobs, events, gates, meta, cache, places, deliveries")
    await why_refused(postgres_url, "search_path")


async def test_a_postgres_schema_of_ones_own_will_do(postgres_url: str, run_sql: Callable[..., Any]) -> None:
    run_sql(postgres_url, "CREATE TABLE runs (marathon TEXT)")
    assert "runs" in await why_refused(postgres_url, "search_path")
    run_sql(postgres_url, "CREATE SCHEMA leadhand")
    try:
        async with aclosing(await open_store(postgres_url.replace("%3Dtest", "%3Dleadhand"))) as store:
            await store.create("run-1", started())
    finally:
        run_sql(postgres_url, "DROP SCHEMA leadhand CASCADE")


async def test_a_server_that_is_not_there_is_named_without_the_password() -> None:
    what = await why_refused("postgresql://me:s3cr:t@/p@127.0.0.1:1/runs?connect_timeout=2&password=s3cret")
    assert "postgresql://me@127.0.0.1:1/runs: " in what
    assert "s3cr" not in what


async def test_a_database_that_is_not_there_is_named(postgres_server: str) -> None:
    assert '"nowhere"' in await why_refused(postgres_server.format("nowhere"), "database")


# --- the schema ---


@pytest.mark.parametrize(
    ("change", "named", "how"),
    [
        ("UPDATE meta SET version = 0", f"0, not {schema.VERSION}", "leadhand runs export"),
        ("UPDATE meta SET version = 99", f"99, not {schema.VERSION}", "pip install -U leadhand"),
        ("DROP TABLE secrets", "secrets", "leadhand runs export"),
    ],
)
async def test_a_database_of_another_version_is_refused_and_not_touched(
    url: str, run_sql: Callable[..., Any], change: str, named: str, how: str
) -> None:
    await (await open_store(url)).aclose()
    run_sql(url, change)
    before = run_sql(url, RECORDED)
    assert named in await why_refused(url, "--database")
    assert "damaged" not in await why_refused(url, how)
    assert run_sql(url, RECORDED) == before


async def test_tables_that_cannot_be_created_leave_nothing_behind(
    url: str, run_sql: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "EVERYWHERE", f"{schema.EVERYWHERE}INSERT INTO nowhere VALUES (1);\n")
    assert "nowhere" in await why_refused(url)
    with pytest.raises(StoreError, match="runs"):
        run_sql(url, "SELECT * FROM runs")


COUNT = 20
LETTER = 20_000
NAMES = [f"letter_{number}" for number in range(COUNT)]


def letter(name: str) -> str:
    return f"{name} \n" * (LETTER // len(f"{name} \n"))


@tool(name="send", approval="auto")
async def send(text: str) -> str:
    """Send a letter."""
    return f"sent: {text}"


@pytest.mark.slow
async def test_large_arguments_results_and_answers_are_not_copied_from_event_to_event(tmp_path: Path) -> None:
    plan = plans(*(subtask(name, "send", text=letter(name)) for name in NAMES))
    answer = "\n".join(f"{name} was sent. " + "It was sent as planned. " * 20 for name in NAMES)
    review = reviews(accept=[f"wo-001.{number}" for number in range(COUNT)], answer=answer)
    with ScriptedModel(plan=[plan], review=[review]) as model:
        async with Leadhand(models=model, tools=[send], home=tmp_path, limits=Limits(budget=1.0)) as lead:
            run = await lead.start("Send the letters")
            assert (await run.answer()).text == answer
    with closing(sqlite3.connect(tmp_path / "leadhand.db")) as connection:
        ((bodies,),) = connection.execute("SELECT sum(length(body)) FROM events")
        ((payloads,),) = connection.execute("SELECT sum(length(body)) FROM blobs")
    letters = COUNT * LETTER
    assert payloads < 4 * letters, "each letter is in a result and in the requests to the model"
    assert bodies < 5 * letters, "each letter is in the plan as it came, twice, and as it was issued, and in its call"


KILLED = """
async def main():
    store = await open_store(url)
    await store.create("run-1", started())
    for number in range(50):
        await store.append("run-1", pauses(str(number)))
    say("written")
    os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""


async def test_a_killed_process_leaves_a_whole_database(sqlite_url: str, tmp_path: Path) -> None:
    async with process(sqlite_url, KILLED) as child:
        assert await child.heard() == ["written"]
        await child.rest()
    assert (tmp_path / "leadhand.db-wal").stat().st_size > 100_000, "most of it is in the log beside it"
    async with aclosing(await open_store(sqlite_url)) as store:
        assert len(await store.read("run-1")) == 51
        assert await store.damage() == []


@pytest.mark.parametrize("accident", ["deleted", "replaced", "log deleted", "log replaced"])
async def test_a_database_that_is_gone_takes_no_more_writes(sqlite_url: str, tmp_path: Path, accident: str) -> None:
    path = tmp_path / f"leadhand.db{'-wal' if accident.startswith('log') else ''}"
    kept = tmp_path / "kept"
    async with aclosing(await open_store(sqlite_url)) as store:
        await store.create("run-1", started())
        path.rename(kept)
        if accident.endswith("replaced"):
            shutil.copy(kept, path)
        for _ in range(2):
            with pytest.raises(StoreError, match="was deleted or replaced"):
                await store.append("run-1", pauses("a"))
        with pytest.raises(StoreError):
            await store.cache("k", 1, 60)
        path.unlink(missing_ok=True)
        kept.rename(path)  # it is back
        await store.append("run-1", pauses("a"))
    async with aclosing(await open_store(sqlite_url)) as store:
        assert len(await store.read("run-1")) == 2


async def test_processes_that_write_and_delete_at_once_raise_no_alarm(sqlite_url: str) -> None:
    async with aclosing(await open_store(sqlite_url)) as store, aclosing(await open_store(sqlite_url)) as other:
        for number in range(20):
            await store.create(f"run-{number}", started())
            await other.append(f"run-{number}", pauses("a"))
            await store.release(f"run-{number}", 1)
            await other.delete_runs([f"run-{number}"])
            await (await open_store(sqlite_url)).aclose()
