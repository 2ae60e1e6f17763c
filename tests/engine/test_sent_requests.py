"""What a model was sent is in the log: each message once, without secrets."""

from __future__ import annotations

from collections import Counter
from typing import Any

from engine.fakes import FakeModels, calls, down
from engine.tools import Bench
from engine.worlds import World, ask, plan
from leadhand.core.artifact import BLOB_ABOVE, Blob
from leadhand.core.conversation import ToolMessage
from leadhand.core.events import ConversationCompacted, ModelCallBegan
from leadhand.engine.sent_requests import sent_request
from leadhand.ports.models import ModelRequest
from leadhand.tools.decorator import tool


async def compared(world: World, run_id: str = "run_1") -> list[tuple[ModelRequest, ModelRequest]]:
    """Every request of a run as it was sent, and as the log has it."""
    entries, made = await world.entries(run_id), Counter[str]()
    found: list[tuple[ModelRequest, ModelRequest]] = []
    for entry in entries:
        if isinstance(call := entry.event, ModelCallBegan):
            sent = [each for each in world.models.asked if each.key == f"{run_id}/{call.call_id}"][made[call.call_id]]
            made[call.call_id] += 1
            found.append((sent, await sent_request(entry, entries, world.store)))
    assert len(found) == len(world.models.asked)
    return found


def shown(request: ModelRequest) -> Any:
    """What people are shown of a request."""
    tools = [(each.name, each.description, each.parameters) for each in request.tools]
    return request.model, request.messages, tools, request.output and request.output.schema_, request.max_tokens


async def test_every_request_is_in_the_log_as_it_was_sent(open_world: Any) -> None:
    """With tool calls, a refused call, an answer that was refused, a repair, a review and a composition."""
    bench = Bench()
    work = [calls(("measure", {"n": 1}), ("nothing", {})), "", "It measures 10.", "It is 4711.", "It measures 20."]
    wanted = {**ask("b", "measure", n=2), "expected_output": "a sentence"}
    world = open_world(FakeModels([plan({"name": "a", "args": {}}, wanted)], work=work), [bench.measure])
    await world.run()

    found = await compared(world)

    assert len(found) >= 6
    for sent, logged in found:
        assert shown(sent) == shown(logged)


async def test_a_request_names_only_the_messages_that_follow_those_of_the_one_before(open_world: Any) -> None:
    work = [calls(("measure", {"n": 1})), calls(("measure", {"n": 2})), "They measure 10 and 20."]
    world = open_world(FakeModels([plan({"name": "a", "args": {}})], work=work), [Bench().measure])
    await world.run()

    first, second, third = [each for each in await world.events(ModelCallBegan) if each.attempt.startswith("wo-")]
    head, user = first.request
    assert (type(head), getattr(user, "role", "")) == (Blob, "user")
    assert [getattr(each, "role", "") for each in second.request] == ["assistant", "tool"]
    assert (second.continues, third.continues) == (first.call_id, second.call_id)
    assert all(shown(sent) == shown(logged) for sent, logged in await compared(world))


async def test_a_call_that_is_made_again_has_its_request_each_time(open_world: Any) -> None:
    models = FakeModels(
        plan(ask("a", "measure", n=1)), work=[down("away for a moment", "transient", "http_503"), "It measures 10."]
    )
    world = open_world(models, [Bench().measure], worker_calls="always")
    await world.run()

    found = await compared(world)

    assert [sent.key for sent, _ in found].count("run_1/wo-001.0/t1") == 2
    assert all(shown(sent) == shown(logged) for sent, logged in found)


async def test_a_conversation_that_was_shortened_is_in_the_log_at_each_length(open_world: Any) -> None:
    def picky(request: ModelRequest, facts: dict[str, Any]) -> Any:
        size = sum(len(message.content) for message in request.messages if isinstance(message, ToolMessage))
        return down("too long", "too_large", "context_length") if size > 2_000 else "It is long."

    @tool
    async def read() -> str:
        """Read all of it."""
        return "x" * 20_000

    world = open_world(FakeModels(plan(ask("a", "read")), work=picky), [read], worker_calls="always")
    await world.run()

    assert len(await world.events(ConversationCompacted)) == 2
    assert all(shown(sent) == shown(logged) for sent, logged in await compared(world))
    for event in await world.events(ModelCallBegan):
        assert len(event.model_dump_json()) < 2 * BLOB_ABOVE, "large messages are blobs"


async def test_a_request_in_the_log_has_no_secret(open_world: Any) -> None:
    @tool
    async def login(password: str) -> str:
        """Log in."""
        return "logged in" + " as swordfish" * 500

    models = FakeModels(plan({"name": "a", "args": {}}), work=[calls(("login", {"password": "swordfish"})), "done"])
    world = open_world(models, [login], secrets=["swordfish"])
    await world.run()

    sent, logged = next(each for each in await compared(world) if each[0].key.endswith("wo-001.0/t2"))

    assert "swordfish" in str(sent)
    assert "swordfish" not in str(logged)
    assert "[redacted]" in str(logged)
    assert world.store.blobs
    assert not any(b"swordfish" in body for body in world.store.blobs.values())
