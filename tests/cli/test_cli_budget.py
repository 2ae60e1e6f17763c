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
    assert "raise --budget (it was 0), and ask again" in result.out.lower()


def test_what_is_free_needs_no_money(leadhand: Any) -> None:
    assert leadhand("run", "--offline", "--budget", "0", "Weather in Paris?").code == 0


@pytest.mark.parametrize("model", ["ollama:llama3.1", UNPRICED])
async def test_a_model_on_this_machine_is_free(leadhand: Any, monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    async with ScriptedServer(lambda _: "no plan at all") as server:
        monkeypatch.setenv("OLLAMA_BASE_URL", server.base_url)
        monkeypatch.setenv("LEADHAND_BASE_URL", server.base_url)
        line = ("run", "--model", model, "--budget", "0", "Weather in Paris?")
        result = await asyncio.to_thread(leadhand.process, *line)
        assert server.requests

    assert "exhausted" not in result.err


def test_a_budget_that_cannot_bind_is_refused(leadhand: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADHAND_BASE_URL", "http://models.invalid:1/v1")  # not on this machine, and nowhere

    refused = leadhand("run", "--model", UNPRICED, "--budget", "1", "Weather in Paris?")
    assert (refused.code, refused.out) == (6, "")
    assert refused.err == (
        f"leadhand: the price of {UNPRICED} is not known, so a budget of $1 cannot limit it\n"
        "  Use a model with a known price, or allow it: --allow-unknown-price, or allow_unknown_price=True.\n"
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
