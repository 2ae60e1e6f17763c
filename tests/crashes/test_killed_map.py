"""``leadhand run --worker NAME --inputs FILE`` as a process that is killed: nothing that is finished is done again."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from processes import start_async

from leadhand.core.events import ModelCallReturned
from leadhand.stores.opening import open_store
from leadhand.testing.faults import request_of
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.scripted_model import Step, brief_of, says

INPUTS = [f"input {number % 40}" for number in range(60)]
"""Some of them are equal."""


class Echo:
    """A model that repeats inputs, in its own time; what it is asked is counted."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.enough = asyncio.Event()

    async def __call__(self, body: dict[str, Any]) -> Step:
        given = str(brief_of(request_of(body, "scripted"))["input"])
        self.asked[given] += 1
        if self.asked.total() == 25:
            self.enough.set()
        await asyncio.sleep(0.05)
        return says(f"<{given}>")


async def test_after_a_kill_only_what_was_under_way_is_done_again(tmp_path: Path) -> None:
    (tmp_path / "echo.worker").write_text("---\nname: echo\n---\nRepeat it.\n")
    (tmp_path / "leadhand.toml").write_text('worker_files = ["*.worker"]\n')
    (tmp_path / "inputs.jsonl").write_text("".join(json.dumps(each) + "\n" for each in INPUTS))
    echo = Echo()
    async with ScriptedServer(echo) as server:
        settings = {"LEADHAND_BASE_URL": server.base_url, "LEADHAND_MODEL": "openai_compatible:scripted"}
        environment = {**os.environ, **settings, "LEADHAND_HOME": str(tmp_path / "home"), "NO_COLOR": "1"}

        async def leadhand(*arguments: str) -> asyncio.subprocess.Process:
            given: dict[str, Any] = {"cwd": str(tmp_path), "env": environment, "stdout": asyncio.subprocess.PIPE}
            return await start_async(sys.executable, "-m", "leadhand", *arguments, **given)

        first = await leadhand("run", "--worker", "echo", "--inputs", "inputs.jsonl", "--max-workers", "8")
        async with asyncio.timeout(60):
            await echo.enough.wait()
        first.kill()
        await first.wait()
        store = await open_store(f"sqlite:///{tmp_path / 'home' / 'leadhand.db'}", patience_s=5)
        (run,) = await store.runs(limit=5)
        entries = await store.read(run.run_id)
        await store.aclose()
        replied = sum(isinstance(entry.event, ModelCallReturned) for entry in entries)
        assert 0 < replied < len(INPUTS)
        before = echo.asked.total()
        second = await leadhand("runs", "resume", run.run_id)
        printed, _ = await asyncio.wait_for(second.communicate(), 60)
    results = [json.loads(line) for line in printed.splitlines()]
    assert results == [{"ok": True, "text": f"<{each}>"} for each in INPUTS]
    assert echo.asked.total() - before == len(INPUTS) - replied
