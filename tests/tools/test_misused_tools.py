"""What cannot be a tool is refused where it is made, with the way to write it."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Coroutine
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from leadhand import Answer, Leadhand, ToolContext, ToolReturn, tool
from leadhand.core.errors import UsageError
from leadhand.testing.scripted_model import ScriptedModel, calls, plans, subtask
from leadhand.tools.toolbox import Toolbox


def prices(shop: str) -> str:
    """Prices of a shop."""
    return shop


class Shop:
    def prices(self, item: str) -> str:
        """Price of an item."""
        return f"{item}: 3"

    def __call__(self, item: str) -> str:
        return item


async def each_price(shop: str) -> AsyncIterator[str]:
    yield shop


def hidden(_shop: str) -> str:
    return _shop


def configured(model_config: str) -> str:
    return model_config


def misnamed(place: str) -> str:
    """Measure a place.

    Args:
        town: where to measure
    """
    return place


@pytest.mark.parametrize(
    ("given", "named", "how"),
    [
        (Shop, "Shop", "tools=[Thing().method]"),
        (misnamed, "town", ""),
        (3, "3", "@tool"),
        (Shop(), "Shop", ""),
        (functools.partial(prices, "Corner"), "partial", ""),
        (Shop.prices, "prices", "tools=[thing.prices]"),
        (each_price, "each_price", ""),
        (hidden, "_shop", ""),
        (configured, "model_config", ""),
    ],
)
def test_what_cannot_be_a_tool_is_refused_with_the_way_to_write_it(given: Any, named: str, how: str):
    with pytest.raises(UsageError) as refused:
        _ = tool(given).spec
    assert named in refused.value.what
    assert refused.value.how
    assert how in refused.value.how


@pytest.mark.parametrize(
    "given",
    [
        *({name: 3} for name in ("timeot", "name", "description")),
        *({"name": ""}, {"toolset": ["mail"]}, {"delegate": "yes"}, {"polling": 1}, {"parallel": 0}),
        *({"timeout": each} for each in ("x", 0, -1, True, float("nan"), float("inf"))),
        *({"retries": each} for each in (1.5, "3", -1, True)),
        {"effect": "twice"},
    ],
    ids=str,
)
def test_an_option_that_does_not_exist_or_cannot_have_its_value_is_refused_in_two_lines(given: dict[str, Any]):
    with pytest.raises(UsageError) as refused:
        _ = cast("Any", tool)(**given)(prices).spec
    assert "\n" not in refused.value.what
    assert next(iter(given)) in refused.value.what
    assert refused.value.how


def test_options_beside_the_function_count():
    assert cast("Any", tool)(prices, timeout=3).spec.timeout_s == 3


def test_a_default_without_json_makes_the_argument_optional():
    nothing = object()

    @tool
    def look(shop: str, day: Any = nothing) -> str:
        """Look at a shop.

        Args:
            shop: its name
            day: today if omitted
        """
        return f"{shop} {day is nothing}"

    assert look.spec.parameters["required"] == ["shop"]
    assert look.spec.parameters["properties"]["day"] == {"description": "today if omitted"}
    assert look.call({"shop": "Corner"}, cast("Any", None)) == "Corner True"


def test_a_method_of_an_object_is_a_tool():
    spec = Toolbox([Shop().prices]).get("prices").spec
    assert list(spec.parameters["properties"]) == ["item"]


async def test_the_context_may_be_optional(tmp_path: Path):
    @tool
    def where_tool(shop: str, context: ToolContext | None = None) -> ToolReturn:
        """Where a shop is."""
        assert context is not None
        return ToolReturn(summary=f"{shop}: {context.run_id}")

    assert list(where_tool.spec.parameters["properties"]) == ["shop"]
    answer = await called(where_tool, tmp_path)
    assert answer.text.startswith(f"Corner: {answer.run_id}")


async def test_a_function_that_returns_a_coroutine_is_told_to_be_async(tmp_path: Path):
    async def later(shop: str) -> str:
        return shop

    @tool
    def soon_tool(shop: str) -> Coroutine[Any, Any, str]:
        """Price of a shop, soon."""
        return later(shop)

    answer = await called(soon_tool, tmp_path, work=[calls("give_up", reason="it fails")])
    assert "soon_tool" in answer.gaps[0].reason
    assert "async def" in answer.gaps[0].next_action


async def called(given: Any, home: Path, **script: Any) -> Answer:
    """The answer of a run whose one subtask calls this tool."""
    with ScriptedModel(plan=[plans(subtask("call", given.name, shop="Corner"))], lenient=True, **script) as model:
        async with Leadhand(models=model, tools=[given], home=home) as lead:
            return await lead.run("Call it")


LIMITS: list[tuple[dict[str, Any], str, str]] = [
    ({"concurrency": 0}, "concurrency=0", "1"),
    ({"concurrency": 10_001}, "concurrency=10001", "10000"),
    ({"concurrency": True}, "concurrency=True", ""),
    ({"rate": "fast"}, "'fast'", '"100/min"'),
    ({"rate": "0/s"}, "'0/s'", '"100/min"'),
    ({"rate": "5000/s"}, "'5000/s'", "1,000"),
    ({"rate": 3}, "3", '"100/min"'),
    ({"cache": "soon"}, "'soon'", '"30m"'),
    ({"cache": 0}, "0", "0"),
    ({"cache": True}, "True", ""),
    ({"cache": float("inf")}, "inf", ""),
    ({"cache": "53w"}, "cache", ""),
    ({"timeout": "soon"}, "'soon'", '"30m"'),
    ({"cache": "1h", "effect": "once"}, "once", "idempotent"),
    ({"cache": "1h", "polling": True}, "polling", "polling"),
    ({"rate": "1/s", "delegate": True}, "delegate", ""),
]


@pytest.mark.parametrize(("policy", "what", "how"), LIMITS, ids=str)
def test_a_limit_that_a_tool_cannot_have_is_refused_with_the_way_to_write_it(
    policy: dict[str, Any], what: str, how: str
) -> None:
    with pytest.raises(UsageError) as refused:
        tool(**policy)(prices)
    assert "prices" in refused.value.what
    assert what in refused.value.what
    assert how in refused.value.how
    assert "\n" not in refused.value.what + refused.value.how


def test_limits_are_part_of_what_a_run_records_and_nothing_is_recorded_without_them() -> None:
    spec = tool(concurrency=3, rate="100/min", cache=timedelta(minutes=5), version="2")(prices).spec
    assert (spec.concurrency, spec.rate, spec.cache_s, spec.version) == (3, "100/min", 300.0, "2")
    slow = tool(cache="7d", timeout="1.5m", effect="idempotent")(prices).spec
    assert (slow.cache_s, slow.timeout_s) == (604_800.0, 90.0)
    assert not {"concurrency", "rate", "cache_s", "version"} & tool(prices).spec.model_dump().keys()
