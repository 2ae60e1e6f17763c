"""The service on PostgreSQL: real processes, one killed, another that goes on."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest
from processes import Process

REQUEST = "What is the weather in Paris, Lyon, Nice, Rome, Oslo, Bern, Vienna and Graz tomorrow?"
PATIENCE_S = 90.0


@contextlib.contextmanager
def serving(url: str, home: Path) -> Generator[tuple[subprocess.Popen[str], httpx2.Client]]:
    """`leadhand serve` on a free port, and a client of it."""
    command = [sys.executable, "-m", "leadhand", "serve", "--offline", "--port", "0", "--home", str(home)]
    environment = {**os.environ, "LEADHAND_DATABASE_URL": url}
    with (
        (home.parent / f"{home.name}.log").open("w") as log,
        Process(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment) as process,
    ):
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            with httpx2.Client(base_url=address, timeout=PATIENCE_S, verify=False) as client:
                yield process, client
        finally:
            process.kill()


@pytest.mark.slow
def test_a_server_elsewhere_goes_on_with_the_runs_of_one_that_was_killed(postgres_url: str, tmp_path: Path) -> None:
    with serving(postgres_url, tmp_path / "one") as (first, client):
        run_id = client.post("/api/runs", json={"request": REQUEST}).json()["run_id"]
        first.kill()
        first.wait()

    with serving(postgres_url, tmp_path / "another") as (second, client):
        with client.stream("GET", f"/api/runs/{run_id}/events/stream") as stream:
            told = list(stream.iter_lines())
        run = client.get(f"/api/runs/{run_id}").json()
        second.send_signal(signal.SIGINT)
        assert second.wait(PATIENCE_S) == 0

    assert "event: end" in told
    assert [line for line in told if line.startswith("id: ")] == [f"id: {n}" for n in range(1, run["last_seq"] + 1)]
    assert run["status"] == "succeeded"
