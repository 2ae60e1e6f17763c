"""Runs with a real model through the command line and the HTTP service."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import aiohttp

from leadhand.server.schemas import PARTS
from real_model.commands import leadhand, started
from real_model.conftest import Record
from real_model.honesty import check_document
from real_model.servers import MODEL, PATIENCE_S, ModelServer

FLOWS = str(Path(__file__).with_name("flows.py"))
HOW = ("--model", MODEL, "--flows", FLOWS, "--flow", "ask", "--json")


async def test_exit_code_0_is_a_run_that_succeeded(server: ModelServer):
    run = await leadhand("run", "Choose a colour", *HOW, "--max-output-tokens", "48")

    assert run.code == 0, run.err
    check_document(run.json)
    assert run.json["status"] == "succeeded"
    assert "window   4,096 (server)" in run.err
    assert "succeeded after " in run.err


async def test_exit_code_5_is_a_run_that_used_its_requests_up_and_names_what_it_lacked(server: ModelServer):
    run = await leadhand("run", "Choose a colour", *HOW, "--option", "times=2", "--max-requests", "1")

    assert run.code == 5, run.err
    check_document(run.json)
    assert run.json["status"] == "partial"
    assert run.json["usage"]["requests"] == 1
    assert "max_requests" in str(run.json["gaps"])


async def test_exit_code_1_is_a_run_whose_answer_was_cut_off(server: ModelServer, record: Record):
    recorder = await record(server, endless=True)
    how = ("--option", "free=true", "--max-output-tokens", "16")
    run = await leadhand("run", "Tell a long story", *HOW, *how)

    check_document(run.json)
    assert run.code == 1, run.err
    assert "it is too long" in run.err
    assert len(recorder.sent) == run.json["usage"]["requests"] > 1, "it was asked for a shorter answer"
    assert run.json["status"] == "failed"
    assert "max_output_tokens" in str(run.json["gaps"])


async def test_a_run_over_http_streams_its_events_and_its_document_agrees_with_them(server: ModelServer):
    process = await started("serve", "--port", "0", "--model", MODEL, "--flows", FLOWS)
    assert process.stdout is not None
    assert process.stderr is not None
    reading = asyncio.create_task(process.stderr.read())  # so that the pipe never fills up
    try:
        async with asyncio.timeout(PATIENCE_S), aiohttp.ClientSession() as http:
            api = (await process.stdout.readline()).decode().strip() + "/api/runs"
            body = {"request": "Choose a colour", "flow": "ask", "limits": {"max_output_tokens": 48}}
            async with http.post(api, json=body) as response:
                assert response.status == 202, await response.text()
                run_id = (await response.json())["run_id"]
            async with http.get(f"{api}/{run_id}/events/stream") as stream:
                said = (await stream.read()).decode()
            async with http.get(f"{api}/{run_id}", params=[("include", part) for part in PARTS]) as response:
                document = await response.json()
    finally:
        process.terminate()
        await process.wait()
        await reading

    check_document(document)
    assert document["status"] == "succeeded"
    events = [line.removeprefix("event: ") for line in said.splitlines() if line.startswith("event: ")]
    assert events[-1] == "end"
    data = [json.loads(line.removeprefix("data: ")) for line in said.splitlines() if line.startswith("data: ")]
    returned = [each for each in data if each.get("type") == "model_call_returned"]
    assert len(returned) == document["usage"]["requests"] == 1
    assert returned[0]["usage"]["output_tokens"] == document["usage"]["output_tokens"]
