"""A token that one call returned reaches the next, although the process between them was killed."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
from contextlib import aclosing, closing
from pathlib import Path

import psycopg
from cluster.machines import Cluster, until
from kept import kept_in
from processes import Program, started

import leadhand
from crashes.tokens import TOKEN
from leadhand.core.run import RunStatus
from leadhand.core.secret import REFERENCE
from leadhand.stores.opening import open_store

CHILD = Path(__file__).with_name("tokens.py")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(leadhand.__file__).parents[1])}


def noted(folder: Path) -> list[tuple[int, str]]:
    path = folder / "notes"
    lines = path.read_text().splitlines() if path.exists() else []
    return [(int(pid), what) for pid, _, what in (line.partition(" ") for line in lines)]


def kept(url: str, folder: Path) -> bytes:
    """Everything in the database and the home but the values of secrets."""
    if url.startswith("sqlite"):
        return kept_in(folder)
    with psycopg.connect(url) as database:
        names = [name for (name,) in database.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'tables'")]
        assert "secrets" in names
        rows = [row for name in names if name != "secrets" for row in database.execute(f'SELECT * FROM "{name}"')]
    return repr(rows).encode() + b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


async def test_a_token_survives_a_kill_between_the_call_that_returned_it_and_the_next(url: str, tmp_path: Path) -> None:
    home, words = str(tmp_path / "home"), (sys.executable, str(CHILD), url)
    async with started(*words, home, str(tmp_path), stderr=asyncio.subprocess.PIPE, env=ENVIRONMENT) as process:
        life = Program(process)
        run_id = (await life.line()).strip()
        await until(lambda: [what for _, what in noted(tmp_path)] == ["login", "hold"])
        await life.kill()
    (tmp_path / "gate").touch()
    async with started(*words, home, str(tmp_path), run_id, stderr=asyncio.subprocess.PIPE, env=ENVIRONMENT) as process:
        life = Program(process)
        code, said = await life.rest()
        assert code == 0, await life.complaint()

    assert [what for _, what in noted(tmp_path)] == ["login", "hold", "hold", "send"]
    assert len({*REFERENCE.findall(said)}) == 1, "the same value has another reference"
    assert TOKEN not in said
    assert TOKEN.encode() not in kept(url, tmp_path)


async def test_another_host_of_a_cluster_uses_a_token_whose_host_was_killed(
    postgres_tables_url: str, tmp_path: Path
) -> None:
    cluster = Cluster(postgres_tables_url, tmp_path)
    words = ("--offline", "--flows", str(CHILD), "--tools", str(CHILD))
    async with cluster.process("work", *words, name="one") as one:
        await one.line()
        option = f"folder={json.dumps(str(tmp_path))}"
        command = ("run", *words, "--detach", "--flow", "tokens", "--option", option, "go")
        run_id = (await cluster.said(*command)).split()[0]
        await until(lambda: noted(tmp_path) == [(one.pid, "login"), (one.pid, "hold")])
        async with cluster.process("work", *words, name="two") as two:
            await two.line()
            await one.kill()
            (tmp_path / "gate").touch()
            state = await cluster.finished(run_id)
    assert state.status is RunStatus.SUCCEEDED, state.finished
    assert noted(tmp_path)[-1] == (two.pid, "send")
    assert TOKEN.encode() not in kept(postgres_tables_url, tmp_path)


async def test_a_deleted_run_and_a_backup_have_no_values(sqlite_url: str, tmp_path: Path) -> None:
    (tmp_path / "gate").touch()
    home = str(tmp_path / "home")
    async with started(sys.executable, str(CHILD), sqlite_url, home, str(tmp_path), env=ENVIRONMENT) as process:
        code, said = await Program(process).rest()
        assert code == 0
    run_id = said.split()[0]
    async with aclosing(await open_store(sqlite_url)) as store:
        await store.back_up(tmp_path / "copy.db")
        assert [json.loads(each.value) for each in await store.secrets(run_id)] == [TOKEN]
        await store.delete_runs([run_id])
        assert await store.secrets(run_id) == []
    copy = (tmp_path / "copy.db").read_bytes()
    assert run_id.encode() in copy
    assert TOKEN.encode() not in copy
    with closing(sqlite3.connect(tmp_path / "copy.db")) as database:
        assert database.execute("SELECT count(*) FROM secrets").fetchall() == [(0,)]
