"""A host whose network is cut loses its work to others, and what it reports once it is back changes nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit, urlunsplit

import pytest

from cluster.machines import FLOWS, Cluster, Machine, finished_by, until
from leadhand.core.run import RunStatus

HERE, THERE = "10.213.77.1", "10.213.77.2"


def ip(*words: str) -> None:
    """Run `ip`, and skip the test where the machine does not allow it."""
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"ip {' '.join(words)}: {done.stderr.strip()}")


@pytest.fixture
def namespace() -> Iterator[str]:
    """A network namespace with one link to this one; its end here has the namespace's name."""
    if sys.platform != "linux" or shutil.which("ip") is None:
        pytest.skip("network namespaces need Linux and the program ip")
    name = f"lh{os.getpid()}"
    ip("netns", "add", name)
    try:
        ip("link", "add", name, "type", "veth", "peer", "name", "away", "netns", name)
        ip("address", "add", f"{HERE}/30", "dev", name)
        ip("link", "set", name, "up")
        for words in (("address", "add", f"{THERE}/30", "dev", "away"), ("link", "set", "away", "up")):
            ip("-n", name, *words)
        yield name
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=False)


@contextlib.asynccontextmanager
async def reachable(url: str) -> AsyncIterator[str]:
    """PostgreSQL at an address of the link: the tests' server has a socket in a folder only."""
    place = urlsplit(url)
    if not (folder := parse_qs(place.query).get("host", [""])[0]).startswith("/"):
        pytest.skip("the server of the tests is not on this machine")
    going: set[asyncio.Task[None]] = set()

    async def copy(reader: StreamReader, writer: StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while piece := await reader.read(65_536):
                writer.write(piece)
                await writer.drain()
        writer.close()

    async def serve(reader: StreamReader, writer: StreamWriter) -> None:
        there = await asyncio.open_unix_connection(f"{folder}/.s.PGSQL.5432")
        going.update(asyncio.ensure_future(each) for each in (copy(reader, there[1]), copy(there[0], writer)))

    async with await asyncio.start_server(serve, HERE, 0) as server:
        port = server.sockets[0].getsockname()[1]
        query = "&".join(part for part in place.query.split("&") if not part.startswith("host="))
        yield urlunsplit(place._replace(netloc=f"postgres@{HERE}:{port}", query=query))
        for task in going:
            task.cancel()
        await asyncio.gather(*going, return_exceptions=True)


@contextlib.asynccontextmanager
async def host_in(namespace: str, cluster: Cluster, url: str) -> AsyncIterator[Machine]:
    log = cluster.folder / "away.log"
    words = ("-m", "leadhand", "work", "--offline", "--flows", FLOWS, "--home", str(cluster.folder / "away"))
    environment = {**os.environ, **cluster.environment, "LEADHAND_DATABASE_URL": url}
    path = os.pathsep.join([str(Path(__file__).parents[1]), environment.get("PYTHONPATH", "")])
    with log.open("w") as errors:
        process = await asyncio.create_subprocess_exec(
            "ip", "netns", "exec", namespace, sys.executable, *words,
            stdout=asyncio.subprocess.PIPE, stderr=errors, env={**environment, "PYTHONPATH": path},
        )  # fmt: skip
    machine = Machine(process, log)
    try:
        machine.host = await machine.line()
        yield machine
    finally:
        await machine.kill()


@pytest.mark.slow
async def test_a_host_whose_network_is_cut_is_replaced_and_changes_nothing_when_it_is_back(
    cluster: Cluster, namespace: str
) -> None:
    cluster.environment["LEADHAND_CONCURRENCY"] = "4"  # so that neither can take all six
    async with reachable(cluster.url) as url, host_in(namespace, cluster, url) as away, cluster.store() as store:

        async def lost() -> int:
            (run,) = await store.runs()
            return sum(getattr(entry.event, "lost", False) for entry in await store.read(run.run_id))

        async with cluster.run(count=6, held=0) as driver:
            await until(lambda: cluster.by_process("began").total() == 6)
            mine = cluster.by_process("began")[away.pid]
            assert mine > 0
            ip("link", "set", namespace, "down")
            await until(lost, lambda number: number == mine)
            cluster.open_gate()
            await until(lambda: cluster.by_process()[away.pid] == mine)  # it has results, and cannot report them
            await until(lambda: cluster.by_process("began")[driver.pid] == 6)  # or it would get some of them again
            ip("link", "set", namespace, "up")
            code, said = await driver.rest()
            assert code == 0, driver.log.read_text()
        run_id = json.loads(said)["run_id"]
        await until(store.hosts, lambda hosts: any(line.host == away.host for line in hosts))
        assert await lost() == mine
        assert cluster.by_process("began")[driver.pid] == 6
        entries = await store.read(run_id)
        state = await cluster.state(run_id)
        assert state.status is RunStatus.SUCCEEDED
        assert away.host not in finished_by(entries).values()
