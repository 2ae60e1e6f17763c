"""``--budget`` binds: what costs too much is not asked, what has no known price is refused, what is free goes on."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leadhand import ConfigurationError, Leadhand, Limits
from leadhand.testing.model_server import ScriptedServer

PRICED = "openai:gpt-4o-mini"
UNPRICED = "openai_compatible:some-model"


@pytest.mark.parametrize("budget", [("--budget", "0"), ("--budget", "0.00"), ("--budget-per-day", "0")])
async def test_without_money_no_model_that_costs_any_is_asked(
    leadhand: Any, monkeypatch: pytest.MonkeyPatch, budget: tuple[str, str]
) -> None:
    async with ScriptedServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        line = ("run", "--model", PRICED, *budget, "--json", "Weather in Paris?")
        result = await asyncio.to_thread(leadhand.process, *line)
        assert not server.requests

    assert (result.code, result.json["failure"]["class"]) == (5, "exhausted")
    assert ("raise budget" in result.json["failure"]["next_action"]) is (budget[0] == "--budget")


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
        line = ("run", "--model", model, "--budget", "0", "--json", "Weather in Paris?")
        result = await asyncio.to_thread(leadhand.process, *line)
        assert server.requests

    assert result.json["failure"]["class"] != "exhausted"


@pytest.mark.parametrize("address", ["http://models.invalid:1/v1", "http://127.0.0.1:9/v1"])
def test_a_budget_that_cannot_bind_is_refused(leadhand: Any, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("LEADHAND_BASE_URL", address)

    for model in (
        ("--model",),
        *(("--model", "offline", f"--{use}-model") for use in ("lead", "worker", "review")),
    ):
        refused = leadhand("run", *model, UNPRICED, "--budget", "1", "Weather in Paris?")
        refused.refused(UNPRICED, "$1", "LEADHAND_PRICE", "--allow-unknown-price", code="configuration")
    assert leadhand("runs", "list", "--json").json == []


@pytest.mark.parametrize("flags", [["--budget", "1", "--allow-unknown-price"], []])
def test_it_may_be_allowed_and_the_usual_one_only_warns(
    leadhand: Any, monkeypatch: pytest.MonkeyPatch, flags: list[str]
) -> None:
    monkeypatch.setenv("LEADHAND_BASE_URL", "http://models.invalid:1/v1")

    result = leadhand("run", "--model", UNPRICED, *flags, "--timeout", "0.5", "Weather in Paris?")

    assert result.code != 6
    assert f"the price of {UNPRICED} is not known" in result.err
    assert leadhand("runs", "show", leadhand.listing()["run_id"], "--json").json["limits"]["unpriced_models"] == [
        UNPRICED
    ]


# --- projects --------------------------------------------------------------------------------------------------------


@pytest.fixture
def project(leadhand: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A new project, as the working directory, and a model whose price nobody knows."""
    monkeypatch.setenv("LEADHAND_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("LEADHAND_MODEL", UNPRICED)
    assert leadhand("init", str(tmp_path / "shop")).code == 0
    monkeypatch.chdir(tmp_path / "shop")
    other = sys.modules.pop("tools", None)
    yield tmp_path / "shop"
    sys.modules.pop("tools", None)
    if other is not None:
        sys.modules["tools"] = other


@pytest.mark.parametrize("command", [("run",), ("report",), ("research",), ("run", "--worker", "receptionist")])
def test_a_new_project_runs_models_whose_price_is_not_known(leadhand: Any, project: Path, command: Any) -> None:
    result = leadhand(*command, "--timeout", "0.5", "--json", "opening hours on Saturday")

    assert result.code not in (2, 6)
    assert f"the price of {UNPRICED} is not known" in result.err
    limits = result.json["limits"]
    assert (limits["budget"], limits["unpriced_models"]) == (1.0, [UNPRICED])


def test_a_new_project_is_served_with_a_model_whose_price_is_not_known(leadhand: Any, project: Path) -> None:
    served = leadhand.start("serve", "--port", "0")

    assert served.stdout.readline().startswith("http://")
    served.terminate()
    assert f"not known of {UNPRICED}" in served.communicate(timeout=90)[1]


@pytest.mark.parametrize("key", ["budget", "budget_per_day", "budget_total"])
def test_a_budget_of_a_project_refuses_them(leadhand: Any, project: Path, key: str) -> None:
    manifest = project / "leadhand.toml"
    manifest.write_text(manifest.read_text().replace("[limits]\n", f"[limits]\n{key} = 2.5\n"))

    assert leadhand("run", "opening hours on Saturday").code == 6
    for more in ({}, {"limits": Limits(**{key: 3.5})}):
        with pytest.raises(ConfigurationError, match="budget"):
            Leadhand.of_project(project, **more).run_sync("opening hours on Saturday")
