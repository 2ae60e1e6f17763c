"""Nothing is overspent over real HTTP: every request that reaches a model server fits the limits of its run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from leads import leadhand_of

from leadhand import Answer, Leadhand, Limits, tool
from leadhand.core.errors import ConfigurationError, UsageError
from leadhand.testing.faults import Served, completion, status
from leadhand.testing.model_server import ScriptedServer, Seen
from leadhand.testing.steps import plans, says, subtask

SUBTASKS = 40


@tool
def look_tool(key: str) -> dict[str, Any]:
    """Look something up."""
    return {"key": key, "value": 7}


def facts_of(body: dict[str, Any]) -> dict[str, Any]:
    """The facts that a request opens with."""
    return json.loads(next(message["content"] for message in body["messages"] if message["role"] == "user"))


def verdicts(body: dict[str, Any]) -> dict[str, Any]:
    """A review that accepts everything."""
    judged = facts_of(body)["subtasks"]
    accepted = [{"subtask": each["subtask"], "verdict": "accept", "reason": ""} for each in judged]
    return {"verdicts": accepted, "complete": True, "missing": [], "cannot": []}


def answering(usage: Callable[[], Any], count: int = SUBTASKS) -> Callable[[dict[str, Any]], Served]:
    """A server that plans ``count`` subtasks without a tool and reports ``usage`` with every answer."""

    def answer(body: dict[str, Any]) -> Served:
        match Seen(body, {}).worker:
            case "plan":
                step = plans(*(subtask(f"s{number}") for number in range(count)))
            case "review":
                step = says(json.dumps(verdicts(body)))
            case _:
                step = says("done")
        return Served(body=json.dumps({**completion(step, body), "usage": usage()}))

    return answer


def counting() -> dict[str, int]:
    return {"prompt_tokens": 900, "completion_tokens": 50, "total_tokens": 950}


async def test_requests_in_another_form_are_reserved_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = answering(counting)

    def without_tools(body: dict[str, Any]) -> Served:
        return status(400, "tools is not supported by this model") if body.get("tools") else answer(body)

    async with ScriptedServer(without_tools) as server:
        monkeypatch.setenv("LEADHAND_BASE_URL", server.base_url)
        lead = Leadhand("openai_compatible:m", tools=[look_tool], home=tmp_path, limits=Limits(max_requests=20))
        async with lead:
            answered = await lead.run("do it all")
        refused = [body for body in server.bodies if body.get("tools")]
        assert refused, "no request was refused"
        assert len(server.requests) <= 20
    assert answered.document["usage"]["requests"] == len(server.requests)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        {"prompt_tokens": 900, "completion_tokens": 0},
        {"prompt_tokens": 1.5, "completion_tokens": 1.5},
        {"prompt_tokens": True, "completion_tokens": True},
        {"prompt_tokens": -900, "completion_tokens": 50},
        {"prompt_tokens": 900, "completion_tokens": 10**30},
        {"prompt_tokens": 10**10, "completion_tokens": 50},
    ],
    ids=str,
)
async def test_usage_that_cannot_be_true_is_settled_in_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, usage: dict[str, Any]
) -> None:
    budget = 0.02
    async with ScriptedServer(answering(lambda: usage)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        async with Leadhand("openai:gpt-4o-mini", tools=[], home=tmp_path, limits=Limits(budget=budget)) as lead:
            answered = await lead.run("do it all")
            state = await (await lead.runtime()).load(answered.run_id)
        asked = len(server.requests)
    each = 2_000 * 600  # the longest answer at the price of a token of output, in nano-dollars
    assert asked * each < state.spent.nanousd <= budget * 1e9
    assert asked < SUBTASKS


@pytest.mark.parametrize("model", ["openai:a-model-of-the-proxy", "openai_compatible:a-model-of-the-proxy"])
@pytest.mark.parametrize("price", ["", "0.15/0.60", "0"])
async def test_a_local_proxy_is_free_only_if_a_setting_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, price: str
) -> None:
    async with ScriptedServer(answering(counting, 2)) as server:
        for variable in ("OPENAI_BASE_URL", "LEADHAND_BASE_URL"):
            monkeypatch.setenv(variable, server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("LEADHAND_PRICE", price)
        lead = Leadhand(model, tools=[], home=tmp_path, limits=Limits(budget=0.5))
        if not price:
            with pytest.raises(ConfigurationError, match="a-model-of-the-proxy") as refused:
                await lead.run("do it all")
            assert "LEADHAND_PRICE" in refused.value.how
            assert not server.requests
            return
        async with lead:
            answered = await lead.run("do it all")
    used = len(server.requests) * (900 * 0.15 + 50 * 0.60) / 1e6
    assert answered.document["usage"]["cost_usd"] == (0 if price == "0" else pytest.approx(used))


@pytest.mark.parametrize("price", ["cheap", "-1", "1/2/3", "nan", "1e99", "0.15,0.60"])
def test_a_price_that_is_no_price_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, price: str) -> None:
    monkeypatch.setenv("LEADHAND_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("LEADHAND_PRICE", price)
    with pytest.raises(ConfigurationError, match="LEADHAND_PRICE"):
        Leadhand("openai_compatible:m", home=tmp_path).run_sync("x")


@pytest.mark.slow
async def test_ten_runs_of_a_process_share_its_concurrency(tmp_path: Path, lead_of: Any) -> None:
    at_once = most = made = 0

    @tool
    async def count_tool(n: int) -> str:
        """Count."""
        nonlocal at_once, most, made
        at_once += 1
        made += 1
        most = max(most, at_once)
        for _ in range(5_000):  # until calls of a second run are among them
            await asyncio.sleep(0)
            if most > 5:
                break
        at_once -= 1
        return f"{n} counted"

    models = lead_of("count_tool", [{"n": n} for n in range(8)])
    async with leadhand_of(
        models=models, tools=[count_tool], home=tmp_path, concurrency=7, limits=Limits(max_workers=5)
    ) as lead:
        await asyncio.gather(*(lead.run(f"run {n}") for n in range(10)))
    assert made == 80
    assert 5 < most <= 7


@pytest.mark.parametrize("said", ["0", "-1", "many", "1.5"])
def test_a_concurrency_out_of_range_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("LEADHAND_CONCURRENCY", said)
    with pytest.raises(UsageError, match="LEADHAND_CONCURRENCY"):
        Leadhand(home=tmp_path)
    with pytest.raises(UsageError, match=r"concurrency.* True"):
        leadhand_of(home=tmp_path, concurrency=True)
    assert leadhand_of(home=tmp_path, concurrency=3).settings.concurrency == 3


def ran_out(answer: Answer) -> int:
    """How many gaps an answer has because a limit was reached."""
    return sum(gap.class_ == "exhausted" for gap in answer.gaps)


async def test_a_run_that_ran_out_goes_on_at_the_doors_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ScriptedServer(answering(counting)) as server:
        monkeypatch.setenv("LEADHAND_BASE_URL", server.base_url)
        monkeypatch.setenv("LEADHAND_PRICE", "0")
        async with Leadhand("openai_compatible:m", tools=[], home=tmp_path, limits=Limits(max_requests=20)) as lead:
            first = await lead.run("do it all")
            assert first.gaps
            assert len(server.requests) <= 20
            with pytest.raises(UsageError, match="max_requests"):
                await lead.resume(first.run_id, limits=Limits(max_requests=2))
            at = first.document["last_seq"] - 1
            more = await (await lead.resume(first.run_id, limits=Limits(max_requests=45))).answer()
            asked = len(server.requests)
            assert ran_out(more) < ran_out(first)
            assert asked <= 45
            run = await lead.attach(first.run_id)
            await run.retry(limits=Limits(max_requests=200, timeout=3_600.0))
            last = await run.answer()
            assert last.document["usage"]["requests"] == len(server.requests) <= 200
            assert last.document["limits"]["max_requests"] == 200
            fork = await lead.fork(first.run_id, at, limits=Limits(max_requests=30, budget=2.0))
            await fork.answer()
            document = (await lead.runtime()).document
            limits = (await document(fork.run_id)).as_json()["limits"]
            assert (limits["max_requests"], limits["budget"]) == (30, 2.0)
    assert not ran_out(last)
