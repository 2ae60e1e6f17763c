"""Clients that others wrote, or that are generated with default options, work with a server as it is started.

They are programs of their own, with their own dependencies: what is missing is fetched, and is a failure if it cannot.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from processes import Process

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
HERE = Path(__file__).parent
DENO = ("uvx", "deno@2.9.8")
PACKAGES = {
    "eventsource": "4.1.0",
    "openapi-fetch": "0.17.0",
    "openapi-typescript": "7.13.0",
    "typescript": "5.9.3",
}
STRICT = {"strict": True, "noEmit": True, "target": "es2022", "module": "nodenext", "moduleResolution": "nodenext"}
STRICT |= {"lib": ["es2022", "dom", "dom.iterable"], "types": [], "allowImportingTsExtensions": True}
PLACES = "Paris, Lyon, Nice, Rome, Oslo, Bern, Vienna, Graz, Berlin, Madrid, London, Dublin, Prague, Milan and Porto"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that works offline."""
    home = tmp_path_factory.mktemp("server")
    command = [sys.executable, "-m", "leadhand", "serve", "--offline", "--port", "0", "--home", str(home)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LEADHAND_")}
    with (
        (home / "log").open("w") as log,
        Process(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment) as process,
    ):
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def ran(*command: str, folder: Path) -> str:
    """What a program prints, which must succeed."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout[-4_000:]}\n{done.stderr[-4_000:]}"
    return done.stdout


def test_a_generated_python_client_starts_waits_approves_and_reads_the_answer(url: str, tmp_path: Path) -> None:
    script = HERE / "generated_client.py"
    assert "Paris" in ran("uv", "run", "--no-project", str(script), url, str(tmp_path / "client"), folder=tmp_path)


def test_generated_types_compile_strictly_and_an_event_source_misses_nothing(url: str, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(json.dumps({"type": "module", "dependencies": PACKAGES}))
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": STRICT, "files": ["client.ts"]}))
    (tmp_path / "client.ts").write_text((HERE / "client.ts").read_text())
    ran(*DENO, "install", "--quiet", "--node-modules-dir=auto", folder=tmp_path)
    generate = ("npm:openapi-typescript", f"{url}/openapi.json", "--output", "schema.d.ts")
    for program in (generate, ("npm:typescript/tsc",), ("client.ts", url)):
        printed = ran(*DENO, "run", "--quiet", "-A", *program, folder=tmp_path)
    found = json.loads(printed.splitlines()[-1])
    assert (found["status"], found["ended"]) == ("succeeded", "succeeded")
    assert "Paris" in found["answer"]
    assert found["connections"] >= 75
    assert found["ids"] == list(range(1, found["last_seq"] + 1))


def test_streaming_clients_come_back_75_times_and_get_each_event_once(url: str, tmp_path: Path) -> None:
    with httpx2.Client(base_url=url, timeout=90, verify=False) as api:
        asked = {"request": f"What is the weather in {PLACES} tomorrow?"}
        run = api.post("/api/runs", params={"wait": 60}, json=asked).json()
        events = api.get(f"/api/runs/{run['run_id']}/events", params={"limit": 1_000}).json()["events"]
    for event in events:
        del event["words"]
    assert len(events) >= 80
    script = ("uv", "run", "--no-project", str(HERE / "streaming_clients.py"))
    stream = f"{url}/api/runs/{run['run_id']}/events/stream"
    of_run = json.loads(ran(*script, stream, str(len(events)), folder=tmp_path))
    for name, client in of_run.items():
        assert client["connections"] >= 75, name
        assert client["seen"] == [[str(event["seq"]), event] for event in events], name

    every = json.loads(ran(*script, f"{url}/api/events/stream?after=0-0", str(len(events)), folder=tmp_path))
    for name, client in every.items():
        assert client["connections"] >= 75, name
        assert len({id_ for id_, _ in client["seen"]}) == len(events), name
        by_run: dict[str, list[int]] = defaultdict(list)
        for _, event in client["seen"]:
            by_run[event["run_id"]].append(event["seq"])
        assert all(seqs == list(range(1, len(seqs) + 1)) for seqs in by_run.values()), name
