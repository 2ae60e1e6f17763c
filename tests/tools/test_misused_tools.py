"""What cannot be a tool is refused where it is made, with the way to write it."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Coroutine
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from leadhand import Answer, Leadhand, ToolContext, ToolReturn, tool
from leadhand.domain.errors import UsageError
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
    ("given", "what", "how"),
    [
        (Shop, "Shop is a class, not a function", "tools=[Thing().method]"),
        (misnamed, "the docstring of the tool misnamed describes the argument town", "Correct the name"),
        (3, "3 is not a function", "Write @tool above a function"),
        (Shop(), "has no name", "Write a function that calls it."),
        (functools.partial(prices, "Corner"), "has no name", "Write a function that calls it"),
        (Shop.prices, "the tool prices is a method without its object", "tools=[thing.prices]"),
        (each_price, "the tool each_price is an async generator", "Return one value, such as a list"),
        (hidden, "the tool hidden has the parameter _shop", "Rename it"),
        (configured, "the tool configured has the parameter model_config", "Rename it"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_with_the_way_to_write_it(given: Any, what: str, how: str):
    with pytest.raises(UsageError) as refused:
        _ = tool(given).spec
    assert what in refused.value.what
    assert how in refused.value.how


def test_an_unknown_option_is_refused_with_the_nearest_of_those_there_are():
    with pytest.raises(UsageError) as refused:
        tool(**cast("Any", {"timeot": 3}))
    assert refused.value.what == "@tool has no option 'timeot'"
    assert refused.value.how.startswith("Choose from: name, description, effect, timeout,")
    assert refused.value.how.endswith("Did you mean timeout?")


@pytest.mark.parametrize(
    ("given", "how"),
    [
        ({"version": 2}, "Pass a text"),
        ({"name": 3}, "Pass a text"),
        ({"name": ""}, "Use letters, digits and underscores"),
        ({"description": 3}, "Pass a text"),
        ({"toolset": ["mail"]}, "Pass a text"),
        ({"delegate": "yes"}, "Pass True or False."),
        ({"polling": 1}, "Pass True or False."),
        ({"parallel": None}, "Pass True or False."),
        *(({"timeout": each}, "above 0") for each in ("x", 0, -1, True, float("nan"), float("inf"))),
        *(({"retries": each}, "0 or more") for each in (1.5, "3", -1, True, None)),
        *(({"cost_usd": each}, "0 or more") for each in ("1", -1, float("nan"), float("inf"))),
    ],
)
def test_a_value_that_an_option_cannot_have_is_refused_in_two_lines(given: dict[str, Any], how: str):
    with pytest.raises(UsageError) as refused:
        _ = cast("Any", tool)(**given)(prices).spec
    assert "\n" not in refused.value.what
    assert next(iter(given)) in refused.value.what
    assert how in refused.value.how


def test_options_beside_the_function_count():
    assert cast("Any", tool)(prices, timeout=3).spec.timeout_s == 3


def test_a_default_without_json_makes_the_argument_optional():
    nothing = object()

    @tool
    def look(shop: str, day: Any = nothing) -> str:
        """Look at a shop.

        Args:
            shop: its name
            day: the day; today by default
        """
        return f"{shop} {day is nothing}"

    assert look.spec.parameters["required"] == ["shop"]
    assert look.spec.parameters["properties"]["day"] == {"description": "the day; today by default"}
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
    assert "soon_tool is not an async function and returned a coroutine" in answer.gaps[0]["reason"]
    assert answer.gaps[0]["next_action"] == "declare the tool with async def"


async def called(given: Any, home: Path, **script: Any) -> Answer:
    """The answer of a run whose one subtask calls this tool."""
    with ScriptedModel(plan=[plans(subtask("call", given.name, shop="Corner"))], lenient=True, **script) as model:
        async with Leadhand(models=model, tools=[given], home=home) as lead:
            return await lead.run("Call it")


LIMITS: list[tuple[dict[str, Any], str, str]] = [
    ({"concurrency": 0}, "concurrency=0", "whole number from 1"),
    ({"concurrency": True}, "concurrency=True", "whole number from 1"),
    ({"rate": "fast"}, "'fast' is not a rate", '"100/min"'),
    ({"rate": "0/s"}, "'0/s' is not a rate", '"100/min"'),
    ({"rate": "5000/s"}, "more than 1,000 calls a second", '"100/min"'),
    ({"rate": 3}, "3 is not a rate", '"100/min"'),
    ({"cache": "soon"}, "'soon' is not a span of time", '"30m"'),
    ({"cache": 0}, "0 is not from 1 second to 366 days", '"30m"'),
    ({"cache": True}, "True is not a span of time", '"30m"'),
    ({"cache": float("inf")}, "is not from 1 second", '"30m"'),
    ({"cache": "1h", "effect": "once"}, "its effect is once", "pure or idempotent"),
    ({"cache": "1h", "polling": True}, "it is a polling tool", "polling out"),
    ({"rate": "1/s", "delegate": True}, "it is a delegate tool", "leave this setting out"),
]


@pytest.mark.parametrize(("policy", "what", "how"), LIMITS, ids=str)
def test_a_limit_that_a_tool_cannot_have_is_refused_with_the_way_to_write_it(
    policy: dict[str, Any], what: str, how: str
) -> None:
    with pytest.raises(UsageError) as refused:
        tool(**policy)(prices)
    assert "the tool prices" in refused.value.what
    assert what in refused.value.what
    assert how in refused.value.how
    assert "\n" not in refused.value.what + refused.value.how


def test_limits_are_part_of_what_a_run_records_and_nothing_is_recorded_without_them() -> None:
    spec = tool(concurrency=3, rate="100/min", cache=timedelta(minutes=5), version="2")(prices).spec
    assert (spec.concurrency, spec.rate, spec.cache_s, spec.version) == (3, "100/min", 300.0, "2")
    assert tool(cache="7d", effect="idempotent")(prices).spec.cache_s == 604_800.0
    assert not {"concurrency", "rate", "cache_s", "version"} & tool(prices).spec.model_dump().keys()
