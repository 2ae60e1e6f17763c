"""Input that a provider read from its cache is counted, priced as such, and shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from leadhand import Leadhand
from leadhand.app.export.pages import page
from leadhand.cli.terminal.messages import spending
from leadhand.core.events import ModelCallReturned
from leadhand.core.view import Projection
from leadhand.models.prices import known_profile

MODEL = "openai:gpt-4o-mini"


@pytest.mark.parametrize(
    ("usage", "more", "written"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 800}}, {}, 0),
        ({"prompt_tokens_details": {"cached_tokens": 800, "cache_write_tokens": 150}}, {}, 150),
        ({"prompt_cache_hit_tokens": 800}, {}, 0),
        ({}, {"timings": {"cache_n": 800}}, 0),
    ],
    ids=["OpenAI", "OpenAI, with writes", "DeepSeek", "llama.cpp"],
)
async def test_cached_tokens_are_counted_priced_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, usage: dict[str, Any], more: dict[str, Any], written: int
) -> None:
    async def answer(_: web.Request) -> web.Response:
        counted = {"prompt_tokens": 1_000, "completion_tokens": 10, "total_tokens": 1_010, **usage}
        message = {"role": "assistant", "content": json.dumps({"answer": "hello"})}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        return web.json_response({"choices": [choice], "usage": counted, **more})

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    profile = known_profile(MODEL)
    assert profile is not None
    assert profile.input_nanousd
    assert profile.output_nanousd
    assert profile.cached_nanousd == profile.input_nanousd // 2
    async with TestServer(app) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", str(server.make_url("/v1")))
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        async with Leadhand(MODEL, home=tmp_path) as lead:
            run = await lead.start("Hello")
            document = (await run.answer()).document
            entries = [entry async for entry in run]

    returned = [entry.event for entry in entries if isinstance(entry.event, ModelCallReturned)]
    assert [call.usage.cached_tokens for call in returned if call.usage is not None] == [800]
    assert document["usage"]["cached_tokens"] == 800
    assert document["usage"]["cache_write_tokens"] == written
    cost = 200 * profile.input_nanousd + 800 * profile.cached_nanousd + 10 * profile.output_nanousd
    assert document["usage"]["cost_usd"] == pytest.approx(cost / 1e9)
    shown = ["1,010", "800", *([str(written)] if written else [])]
    projection = Projection(run.run_id)
    projection.take_all(entries)
    assert projection.state is not None
    for text in (page(document), spending(projection.state)):  # "leadhand runs show"
        assert all(number in text for number in shown)
    spend = projection.document["spend"]
    assert (spend.get("cached_tokens"), spend.get("cache_write_tokens", 0)) == (800, written)
