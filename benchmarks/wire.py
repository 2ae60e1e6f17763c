"""What goes over the wire: bytes of the requests to the model in the side-by-side job, by worker and by part.

The server is the one of ``leadhand.testing``, on loopback, with the script of the side-by-side job. *Prefix* is the
share of a worker's request that equals the beginning of an earlier request of a worker of the same run, which a prompt
cache can reuse. Run it with ``uv run python benchmarks/wire.py [N …]``.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "side_by_side"))

import leadhand_adapter
from leadhand_dialect import script

from leadhand.models.openai.wire import encode
from leadhand.testing.model_server import ScriptedServer
from leadhand.testing.steps import Step


def answered(body: dict[str, Any]) -> Step:
    """Return the answer of the scripted model."""
    said = script(body)
    if said is None:
        raise ValueError("a request that the script does not know")
    message = said[2]
    calls = [call["function"] for call in message.get("tool_calls") or []]
    return Step(text=message["content"] or "", calls=tuple((call["name"], call["arguments"]) for call in calls))


async def requests_of(n: int, variant: str) -> list[dict[str, Any]]:
    """Return the bodies of all requests of one job, in the order of their arrival."""
    with tempfile.TemporaryDirectory() as home:
        async with ScriptedServer(answered) as server:
            options = argparse.Namespace(base_url=server.base_url, n=n, variant=variant, state=home, resume=False)
            results, _ = await leadhand_adapter.job(options)
            assert len(leadhand_adapter.right(results)) == n, results[:3]
            return server.bodies


def worker_of(body: dict[str, Any]) -> str:
    said = script(body)
    worker = said[1] if said is not None else "?"
    return "review" if worker == "compose" and body.get("response_format") else worker


def parts_of(body: dict[str, Any]) -> Counter[str]:
    """Return the bytes of a request by part."""
    parts: Counter[str] = Counter(
        tools=len(encode(body.get("tools", []))), schema=len(encode(body.get("response_format", {})))
    )
    for message in body["messages"]:
        names = {"system": "instructions", "user": "facts"}
        parts[names.get(message["role"], "calls and results")] += len(encode(message))
    parts["rest"] = len(encode(body)) - parts.total()
    return parts


def shared(one: bytes, other: bytes) -> int:
    """Return the length of the longest common prefix."""
    return next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))


def prefix_share(written: list[bytes]) -> float:
    """Return the share of the bytes of requests that repeat the beginning of an earlier one; the first has none."""
    repeated = sum(max(shared(each, earlier) for earlier in written[:at]) for at, each in enumerate(written) if at)
    return repeated / sum(map(len, written[1:]))


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", type=int, nargs="*", default=[10, 100])
    for n in parser.parse_args().n:
        for variant, label in (("", "one call a worker"), ("asking", "two calls a worker")):
            bodies = await requests_of(n, variant)
            print(f"\nN = {n}, {label}: {sum(len(encode(body)) for body in bodies):,} bytes in {len(bodies)} requests")
            for worker in ("plan", "work", "review", "compose"):
                mine = [body for body in bodies if worker_of(body) == worker]
                parts = sum(map(parts_of, mine), Counter[str]())
                if mine:
                    sizes = ", ".join(f"{name} {size:,}" for name, size in parts.most_common())
                    print(f"  {worker}: {len(mine)} requests, {parts.total():,} bytes ({sizes})")
            workers = [encode(body) for body in bodies if worker_of(body) == "work"]
            print(f"  prefix shared by workers: {prefix_share(workers):.0%}")


if __name__ == "__main__":
    asyncio.run(main())
