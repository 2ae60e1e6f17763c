"""What a model was sent is rebuilt from the log alone: to the byte, unless a secret was redacted."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from engine.fakes import FakeModels, calls, down
from engine.tools import Bench
from engine.worlds import World, ask, plan
from leadhand.core.conversation import ModelRequest, ToolMessage
from leadhand.core.events import ConversationCompacted, ModelCallBegan
from leadhand.engine.log import RunLog
from leadhand.engine.sent_requests import NotRebuilt, is_as_sent, sent_request
from leadhand.flows.flow import Flow
from leadhand.flows.work_order.flow import WorkOrderFlow
from leadhand.tools.decorator import tool

Sent = list[tuple[ModelRequest, ModelRequest, bool]]


async def compared(world: World, run_id: str = "run_1", flow: Flow | None = None) -> Sent:
    """Every request of a run as it was sent, as it is rebuilt, and whether the rebuilt one is taken for the same."""
    entries, log, made = await world.entries(run_id), RunLog(world.store, run_id, world.redactor), Counter[str]()
    found: Sent = []
    for entry in entries:
        if isinstance(call := entry.event, ModelCallBegan):
            sent = [each for each in world.models.asked if each.key == f"{run_id}/{call.call_id}"][made[call.call_id]]
            made[call.call_id] += 1
            rebuilt = await sent_request(entry, entries, flow or WorkOrderFlow(), log)
            found.append((sent, rebuilt, is_as_sent(rebuilt, call)))
    assert len(found) == len(world.models.asked)
    return found


async def test_every_request_is_rebuilt_as_it_was_sent(open_world: Any) -> None:
    """With tool calls, a refused call, an answer that was refused, a repair, a review and a composition."""
    bench = Bench()
    work = [calls(("measure", {"n": 1}), ("nothing", {})), "", "It measures 10.", "It is 4711.", "It measures 20."]
    wanted = {**ask("b", "measure", n=2), "expected_output": "a sentence"}
    world = open_world(FakeModels([plan({"name": "a", "args": {}}, wanted)], work=work), [bench.measure])
    await world.run()

    found = await compared(world)

    assert len(found) >= 6
    for sent, rebuilt, same in found:
        assert rebuilt == sent
        assert same


async def test_an_attempt_that_is_made_again_and_a_resumed_one_are_told_apart(open_world: Any) -> None:
    models = FakeModels(
        plan(ask("a", "measure", n=1)), work=[down("away for a moment", "transient", "http_503"), "It measures 10."]
    )
    world = open_world(models, [Bench().measure])
    await world.run()

    found = await compared(world)

    assert [sent.key for sent, _, _ in found].count("run_1/wo-001.0/t1") == 2
    assert all(rebuilt == sent and same for sent, rebuilt, same in found)


async def test_a_conversation_that_was_shortened_is_rebuilt_at_each_length(open_world: Any) -> None:
    def picky(request: ModelRequest, facts: dict[str, Any]) -> Any:
        size = sum(len(message.content) for message in request.messages if isinstance(message, ToolMessage))
        return down("too long", "too_large", "context_length") if size > 2_000 else "It is long."

    @tool
    async def read() -> str:
        """Read all of it."""
        return "x" * 20_000

    world = open_world(FakeModels(plan(ask("a", "read")), work=picky), [read])
    await world.run()

    found = await compared(world)

    assert len(await world.events(ConversationCompacted)) == 2
    assert all(rebuilt == sent and same for sent, rebuilt, same in found)


async def test_a_secret_stays_redacted_and_the_difference_is_stated(open_world: Any) -> None:
    @tool
    async def login(password: str) -> str:
        """Log in."""
        return "logged in"

    models = FakeModels(plan({"name": "a", "args": {}}), work=[calls(("login", {"password": "swordfish"})), "done"])
    world = open_world(models, [login], secrets=["swordfish"])
    await world.run()

    second = next(each for each in await compared(world) if each[0].key.endswith("wo-001.0/t2"))

    assert "swordfish" in str(second[0])
    assert "swordfish" not in str(second[1])
    assert "[redacted]" in str(second[1])
    assert not second[2]


async def test_a_flow_that_has_changed_since_is_not_taken_for_what_was_sent(open_world: Any) -> None:
    class Changed(WorkOrderFlow):
        def brief(self, run: Any, step: Any) -> dict[str, Any]:
            return {**super().brief(run, step), "goal": "another goal"}

    world = open_world(FakeModels(plan(ask("a", "measure", n=1)), work="It measures 10."), [Bench().measure])
    await world.run()

    assert not any(same for _, _, same in await compared(world, flow=Changed()))


async def test_a_log_that_does_not_lead_to_the_call_says_so(open_world: Any) -> None:
    world = open_world(FakeModels(plan(ask("a", "measure", n=1)), work="It measures 10."), [Bench().measure])
    await world.run()
    entries, log = await world.entries(), RunLog(world.store, "run_1", world.redactor)
    call = next(e for e in entries if isinstance(e.event, ModelCallBegan) and e.event.call_id == "wo-001.0/t1")
    other = call.model_copy(update={"event": call.event.evolve(call_id="wo-001.0/t9")})

    with pytest.raises(NotRebuilt):
        await sent_request(other, [*entries[: call.seq - 1], other, *entries[call.seq :]], WorkOrderFlow(), log)
