"""After a person or a hook changed a call, everybody is shown what was sent, and a model is told who changed it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from leads import leadhand_of

from leadhand import Leadhand, tool
from leadhand.cli.terminal.progress import Progress
from leadhand.core.conversation import AssistantMessage, ToolMessage
from leadhand.hooks import BeforeTool, Change, before_tool
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import ScriptedModel, brief_of, calls, plans, says, subtask

ACCEPTED = {"to": "eve@example.org", "body": "we accept your offer"}
DECLINED = {"to": "eve@example.org", "body": "we decline your offer"}


class Post:
    """A tool that sends mails, and what it sent."""

    def __init__(self) -> None:
        self.sent: list[dict[str, str]] = []
        post = self

        @tool(effect="once")
        async def send_mail(to: str, body: str) -> dict[str, bool]:
            """Send a mail."""
            post.sent.append({"to": to, "body": body})
            return {"sent": True}

        self.send_mail = send_mail


def shown_call(request: ModelRequest) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The arguments of the calls that a request shows to its model, and what came of them."""
    said = [message for message in request.messages if isinstance(message, AssistantMessage)]
    results = [json.loads(message.content) for message in request.messages if isinstance(message, ToolMessage)]
    return [call.arguments or {} for message in said for call in message.tool_calls], results


def change_of(result: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Who changed the arguments of a call, and the arguments that were sent, as the beginning of its result says."""
    assert next(iter(result)) == "note"
    by, args = result["note"].split(" changed the arguments of this call to ")
    return by, json.loads(args)


async def test_after_an_approval_with_other_arguments_everybody_is_shown_what_was_sent(tmp_path: Path) -> None:
    post = Post()
    plan = plans(subtask("answer_eve", "send_mail", **ACCEPTED))
    model = ScriptedModel(plan=[plan], work=says("Eve has her answer."), lenient=True)
    async with leadhand_of(models=model, tools=[post.send_mail], worker_calls="always", home=tmp_path) as lead:
        run = await lead.start("Answer Eve")
        await run.wait()
        (asked,) = await run.approvals()
        await run.approve(asked, args=DECLINED)
        answer = await run.answer()
        entries = await (await lead.runtime()).store.read(answer.run_id)

    assert post.sent == [DECLINED]
    assert model.asked("work")
    for request in model.asked("work"):
        made, (result,) = shown_call(request)
        assert made == [ACCEPTED], "the call is shown as it was planned"
        assert change_of(result) == ("a person", DECLINED)
    (event,) = answer.document["context_store"]["events"]
    assert {name: event["content"][name] for name in DECLINED} == DECLINED
    material = json.dumps([brief_of(request) for request in model.requests if request.worker != "work"][-1])
    assert DECLINED["body"] in material

    progress = Progress()
    lines = [(entry.seq, str(line)) for entry in entries if (line := progress.take(entry)) is not None]
    (answered,) = [entry.seq for entry in entries if entry.event.type == "approval_answered"]
    after = [line for seq, line in lines if seq > answered]
    assert any("decline" in line for line in after)
    assert not [line for line in after if ACCEPTED["body"][:9] in line]


async def test_a_call_of_a_model_that_a_person_changed_is_shown_as_it_was_made(tmp_path: Path) -> None:
    post = Post()
    work = [calls("send_mail", **ACCEPTED), says("Eve has her answer.")]
    model = ScriptedModel(plan=[plans(subtask("answer_eve"))], work=work, lenient=True)
    async with Leadhand(models=model, tools=[post.send_mail], home=tmp_path) as lead:
        run = await lead.start("Answer Eve")
        await run.wait()
        (asked,) = await run.approvals()
        await run.approve(asked, args=DECLINED)
        await run.answer()

    assert post.sent == [DECLINED]
    made, (result,) = shown_call(model.asked("work")[-1])
    assert made == [ACCEPTED]
    assert change_of(result) == ("a person", DECLINED)


async def test_a_call_that_a_hook_changed_is_shown_as_it_was_made(tmp_path: Path) -> None:
    post = Post()

    @before_tool
    def declined(call: BeforeTool) -> Change:
        return Change(args={**call.args, "body": DECLINED["body"]})

    plan = plans(subtask("answer_eve", "send_mail", **ACCEPTED))
    model = ScriptedModel(plan=[plan], work=says("Eve has her answer."), lenient=True)
    settings: Any = {"approve": "auto", "hooks": [declined], "worker_calls": "always", "home": tmp_path}
    async with leadhand_of(models=model, tools=[post.send_mail], **settings) as lead:
        answer = await lead.run("Answer Eve")

    assert post.sent == [DECLINED]
    (request, *_) = model.asked("work")
    made, (result,) = shown_call(request)
    assert made == [ACCEPTED]
    assert change_of(result) == (f"the hook {declined.name}", DECLINED)
    (event,) = answer.document["context_store"]["events"]
    assert event["content"]["body"] == DECLINED["body"]
