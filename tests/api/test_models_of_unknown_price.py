"""A budget that somebody set binds every model of a run: those that a flow names for workers and steps, too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from leads import leadhand_of

from leadhand import ConfigurationError, Leadhand, Limits, Worker
from leadhand.app.export.run_document import run_line
from leadhand.app.steering import operator
from leadhand.app.steering.access import KeyCeilings
from leadhand.core.conversation import AssistantMessage
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.limits import Usage
from leadhand.flows import FlowContext, flow
from leadhand.flows.seam.function import FunctionFlow
from leadhand.ports import ModelError
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest

UNKNOWN = "mine:unknown"


class Models:
    """An adapter that knows the price of one of its models."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.is_down = False

    def profile(self, model: str) -> ModelProfile:
        price = None if model == UNKNOWN else 1_000
        return ModelProfile(name=model, input_nanousd=price, output_nanousd=price)

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        if self.is_down:
            raise ModelError(Failure.of("down for good", "down", FailureClass.REJECTED), Usage(requests=1))
        self.asked.append(request.model)
        return ModelReply(message=AssistantMessage(text="Hi."), usage=Usage(input_tokens=9, output_tokens=2))

    async def aclose(self) -> None:
        """Nothing to close."""


def greeting(worker_model: str | None, model: str | None) -> FunctionFlow:
    """Return a flow with one step."""
    greeter = Worker("greeter", "Greet them.", model=worker_model, tools=())

    @flow
    async def greet(run: FlowContext) -> str:
        """Greet somebody."""
        await run.ask(greeter, model=model)
        return "Hi."

    return greet


async def test_a_worker_with_a_model_of_unknown_price_is_refused_under_a_budget(home: Path) -> None:
    models = Models()
    made = greeting(UNKNOWN, None)
    async with Leadhand(
        "mine:known", models={"mine": models}, flows=[made], home=home, limits=Limits(budget=0.05)
    ) as lead:
        with pytest.raises(ConfigurationError, match=UNKNOWN):
            await lead.run("Hello", flow="greet")
    assert models.asked == []


async def test_a_step_to_a_model_of_unknown_price_calls_no_model_under_a_budget(home: Path) -> None:
    models = Models()
    made = greeting(None, UNKNOWN)
    async with Leadhand(
        "mine:known", models={"mine": models}, flows=[made], home=home, limits=Limits(budget=0.05)
    ) as lead:
        answer = await lead.run("Hello", flow="greet")
        await (await lead.resume(answer.run_id, limits=Limits(max_requests=50))).answer()

    assert models.asked == []
    assert answer.gaps[0].class_ == "unavailable"
    assert UNKNOWN in answer.gaps[0].reason


@pytest.mark.parametrize("given", [{}, {"budget": 0.05, "allow_unknown_price": True}])
@pytest.mark.parametrize("names", [(UNKNOWN, None), (None, UNKNOWN)], ids=["worker", "step"])
async def test_without_a_budget_of_the_user_or_with_leave_it_is_called(
    home: Path, given: dict[str, Any], names: tuple[str | None, str | None]
) -> None:
    models = Models()
    made = greeting(*names)
    async with leadhand_of("mine:known", models={"mine": models}, flows=[made], home=home, **given) as lead:
        answer = await lead.run("Hello", flow="greet")
        listing = await (await lead.runtime()).store.run(answer.run_id)

    assert models.asked == [UNKNOWN]
    assert answer.document["usage"]["cost_usd"] is None
    assert run_line(listing).cost_usd is None


@pytest.mark.parametrize("names", [(UNKNOWN, None), (None, UNKNOWN)], ids=["worker", "step"])
async def test_a_budget_that_a_run_gets_later_needs_known_prices_too(
    home: Path, names: tuple[str | None, str | None]
) -> None:
    models, made = Models(), greeting(*names)
    async with Leadhand("mine:known", models={"mine": models}, flows=[made], home=home) as lead:
        models.is_down = True
        run = await lead.run("Hello", flow="greet")
        assert run.status == "failed"
        models.is_down = False
        for given in (
            lead.resume(run.run_id, limits=Limits(budget=0.05)),
            lead.fork(run.run_id, 1, limits=Limits(budget=0.05)),
        ):
            if names[0] is not None:
                with pytest.raises(ConfigurationError, match=UNKNOWN):
                    await given
            else:
                assert UNKNOWN in (await (await given).answer()).gaps[0].reason
    assert models.asked == []
    async with Leadhand(
        "mine:known", models={"mine": models}, flows=[made], home=home, limits=Limits(allow_unknown_price=True)
    ) as lead:
        await (await lead.fork(run.run_id, 1, limits=Limits(budget=0.05))).answer()
    assert models.asked == [UNKNOWN]


async def test_a_ceiling_in_money_needs_known_prices_of_a_fork_whatever_else_is_allowed(home: Path) -> None:
    models, made = Models(), greeting(UNKNOWN, None)
    async with Leadhand(
        "mine:known", models={"mine": models}, flows=[made], home=home, limits=Limits(allow_unknown_price=True)
    ) as lead:
        run = await lead.run("Hello", flow="greet")
        runtime = await lead.runtime()
        await operator.fork(runtime, run.run_id, 1, confirmed=True)
        most = KeyCeilings(budget=1).narrow(Limits())
        with pytest.raises(ConfigurationError, match=UNKNOWN):
            await operator.fork(runtime, run.run_id, 1, confirmed=True, most=most)
