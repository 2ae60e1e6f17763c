# bench-peer: name=floor-durable venv=stub durable=1 label="raw aiohttp + SQLite journal (group commit, FULL)"
"""The durable floor: the hand-written job plus a journal.  Every LLM answer and tool result is on disk
(WAL, synchronous=FULL) before anything is done with it; whatever waits at the same moment shares one
commit, made on a thread.  A restart skips everything the journal already holds."""

import asyncio
import json
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import aiohttp
from _common import (
    COMPOSER,
    LEAD,
    MODEL,
    TOOL_DOC,
    WORKER,
    args,
    compose_prompt,
    lookup_value,
    plan_prompt,
    run,
    work_prompt,
)

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "lookup",
            "description": TOOL_DOC,
            "parameters": {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]},
        },
    }
]
URL = args.base_url + "/chat/completions"


class Journal:
    def __init__(self, path):
        self.db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self.db.execute("pragma journal_mode=wal")
        self.db.execute("pragma synchronous=full")
        self.db.execute("create table if not exists events(key text primary key, value text) without rowid")
        self.known = {k: json.loads(v) for k, v in self.db.execute("select key, value from events")}
        self.queue, self.wake = [], asyncio.Event()
        self.pool = ThreadPoolExecutor(1)
        self.task = asyncio.create_task(self.writer())

    def commit(self, batch):
        self.db.execute("begin immediate")
        self.db.executemany("insert into events values(?, ?)", [(k, v) for k, v, _ in batch])
        self.db.execute("commit")

    async def writer(self):
        loop = asyncio.get_running_loop()
        while True:
            await self.wake.wait()
            self.wake.clear()
            batch, self.queue = self.queue, []
            if batch:
                await loop.run_in_executor(self.pool, self.commit, batch)
                for _, _, done in batch:
                    done.set_result(None)

    async def once(self, key, fn):
        """fn's value: from the journal if it is there, else computed and on disk before it is returned."""
        if key in self.known:
            return self.known[key]
        value = await fn()
        done = asyncio.get_running_loop().create_future()
        self.queue.append((key, json.dumps(value), done))
        self.wake.set()
        await done
        return value


async def job():
    journal = Journal(os.path.join(args.state, "journal.sqlite"))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:

        async def chat(key, messages, tools=None):
            async def ask():
                for k in range(4 if args.retry else 1):
                    try:
                        async with client.post(
                            URL, json={"model": MODEL, "messages": messages, **({"tools": tools} if tools else {})}
                        ) as r:
                            r.raise_for_status()
                            return (await r.json())["choices"][0]["message"]
                    except (aiohttp.ClientError, ValueError):
                        if k == (3 if args.retry else 0):
                            raise
                        await asyncio.sleep(0.05 * 2**k)
                return None

            return await journal.once(key, ask)

        async def worker(i, key):
            messages = [{"role": "system", "content": WORKER}, {"role": "user", "content": work_prompt(i, key)}]
            for turn in range(5):
                m = await chat(f"w{i}.{turn}", messages, TOOLS)
                messages.append(m)
                if not m.get("tool_calls"):
                    return m["content"]
                for j, tc in enumerate(m["tool_calls"]):

                    async def call(tc=tc):
                        try:
                            return lookup_value(**json.loads(tc["function"]["arguments"]))
                        except ValueError as exc:
                            return f"error: {exc}"

                    out = await journal.once(f"w{i}.{turn}.t{j}", call)
                    messages.append({"role": "tool", "tool_call_id": tc["id"], "content": out})
            raise RuntimeError("too many turns")

        m = await chat("plan", [{"role": "system", "content": LEAD}, {"role": "user", "content": plan_prompt()}])
        subtasks = json.loads(m["content"])["subtasks"]
        results = await asyncio.gather(
            *(worker(i, s["args"]["key"]) for i, s in enumerate(subtasks)), return_exceptions=True
        )
        m = await chat(
            "compose", [{"role": "system", "content": COMPOSER}, {"role": "user", "content": compose_prompt(results)}]
        )
    return results, m["content"]


run(job)
