"""``--budget`` binds: what costs too much is not asked, what has no known price is refused, what is free goes on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from leadhand.testing.model_server import ScriptedServer

PRICED = "openai:gpt-4o-mini"
UNPRICED = "openai_compatible:some-model"


@pytest.mark.parametrize("budget", ["0", "0.00"])
async def test_without_money_no_model_that_costs_any_is_asked(
    leadhand: Any, monkeypatch: pytest.MonkeyPatch, budget: str
) -> None:
    async with ScriptedServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        line = ("run", "--model", PRICED, "--budget", budget, "Weather in Paris?")
        result = await asyncio.to_thread(leadhand.process, *line)
        assert not server.requests

    assert result.code == 5
    assert "limits   $0 ·" in result.err
    assert "(exhausted)" in result.err
    assert "raise --budget (it was 0), and resume the run" in result.out.lower()


async def test_a_used_up_budget_of_several_runs_is_named_with_what_helps(
    leadhand: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ScriptedServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        line = ("run", "--model", PRICED, "--budget-per-day", "0", "Weather in Paris?")
        result = await asyncio.to_thread(leadhand.process, *line)
        assert not server.requests

    assert result.code == 5
    assert "the budget of all runs 20" in result.out
    assert "retry the run on the next day (utc)" in result.out.lower()


def test_what_is_free_needs_no_money(leadhand: Any) -> None:
    assert leadhand("run", "--offline", "--budget", "0", "Weather in Paris?").code == 0


@pytest.mark.parametrize(("model", "price"), [("ollama:llama3.1", ""), (UNPRICED, "0")])
async def test_a_model_that_is_free_needs_no_budget(
    leadhand: Any, monkeypatch: pytest.MonkeyPatch, model: str, price: str
) -> None:
    async with ScriptedServer(lambda _: "no plan at all") as server:
        monkeypatch.setenv("OLLAMA_BASE_URL", server.base_url)
        monkeypatch.setenv("LEADHAND_BASE_URL", server.base_url)
        monkeypatch.setenv("LEADHAND_PRICE", price)
        line = ("run", "--model", model, "--budget", "0", "Weather in Paris?")
        result = await asyncio.to_thread(leadhand.process, *line)
        assert server.requests

    assert "exhausted" not in result.err


@pytest.mark.parametrize("address", ["http://models.invalid:1/v1", "http://127.0.0.1:9/v1"])
def test_a_budget_that_cannot_bind_is_refused(leadhand: Any, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("LEADHAND_BASE_URL", address)

    refused = leadhand("run", "--model", UNPRICED, "--budget", "1", "Weather in Paris?")
    assert (refused.code, refused.out) == (6, "")
    assert refused.err == (
        f"leadhand: the price of {UNPRICED} is not known, so a budget of $1 cannot limit it\n"
        "  Use a model with a known price, or set LEADHAND_PRICE to its price in US dollars per million tokens, such as"
        " 0.15/0.60 (input/output), or 0 if it is free. To run it without a budget: --allow-unknown-price, or"
        " allow_unknown_price=True.\n"
    )
    assert leadhand("runs", "list", "--json").json == []
    for role in ("--lead-model", "--worker-model", "--review-model"):
        assert leadhand("run", "--model", "offline", role, UNPRICED, "--budget", "1", "x").code == 6


@pytest.mark.parametrize("flags", [["--budget", "1", "--allow-unknown-price"], []])
def test_it_may_be_allowed_and_the_usual_one_only_warns(
    leadhand: Any, monkeypatch: pytest.MonkeyPatch, flags: list[str]
) -> None:
    monkeypatch.setenv("LEADHAND_BASE_URL", "http://models.invalid:1/v1")

    result = leadhand("run", "--model", UNPRICED, *flags, "--timeout", "0.5", "Weather in Paris?")

    assert result.code != 6
    assert f"the price of {UNPRICED} is not known: the budget cannot limit it" in result.err
