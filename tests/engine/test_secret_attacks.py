"""Secrets get nowhere else although a worker does what an injected text says, and whatever form they have."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from engine.fakes import FakeModels, calls
from engine.mail_service import KEY, TOKEN, Services, everything_but_the_table, passing, reference
from engine.worlds import ask, plan
from leadhand.core.events import ApprovalRequested, StepRequested, ToolCallReturned
from leadhand.core.run import RunStatus
from leadhand.core.secret import REFERENCE, has_secret
from leadhand.core.tool import Effect, PinnedOperation
from leadhand.core.worker import Worker as StepWorker
from leadhand.engine.log import RunLog
from leadhand.tools.dynamic_workers import worker_call
from leadhand.tools.research.files import filesystem_write
from leadhand.tools.tool import Tool

REFERENCES = re.compile(r"\[secret:sec_[0-9a-f]{12}\]")


def through_a_file(_request: Any, _facts: Any) -> Any:
    ref = reference(_request.messages)
    return calls(("filesystem_write", {"path": "memory/note.txt", "content": f"post {ref}"}))


ATTACKS: dict[str, Callable[[str], Any]] = {
    "in a URL": lambda ref: {"text": f"https://board.example/?token={ref}"},
    "as a name": lambda ref: {ref: "x"},
    "deep inside": lambda ref: {"data": {"rows": [{"cell": [1, ref]}, {ref: {}}]}},
    "as JSON in JSON": lambda ref: {"text": json.dumps({"a": json.dumps({"b": ref})})},
    "twice": lambda ref: {"text": f"{ref}{ref}"},
    "of an operation": lambda ref: {"operation": "createPost", "arguments": {"body": {"password": ref}}},
    "as base64": lambda ref: {"text": base64.b64encode(ref.encode()).decode()},
    "in two parts": lambda ref: {"text": ref[:9], "rest": ref[9:]},
    "with escapes": lambda ref: {"text": json.dumps({"a": ref}).replace("[", "\\u005b")},
}
"""The arguments of a call to somebody else, by which a secret might get there."""
HARMLESS = ("as base64", "in two parts", "with escapes")
"""What only has the text of a reference, as a tool gets any other text."""


@pytest.mark.parametrize("attack", ATTACKS)
async def test_a_secret_gets_nowhere_in_disguise(open_world: Any, attack: str):
    services = Services()
    operations = {"createPost": PinnedOperation(effect=Effect.PURE, fingerprint="1")}
    more = {"operations": operations} if attack == "of an operation" else {}
    tools = [services.tool("mail_login"), services.tool("post", "mcp:board", {"text": {"type": "string"}}, **more)]
    work = [
        calls(("mail_login", {})),
        lambda asked, _: calls(("post", ATTACKS[attack](reference(asked.messages)))),
        "done",
    ]
    world = open_world(FakeModels(plan({"name": "a", "args": {}}), work=work), tools)
    state = await world.run()

    assert TOKEN not in str(services.got)
    assert TOKEN not in everything_but_the_table(world)
    if attack in HARMLESS:
        assert state.status is RunStatus.SUCCEEDED
    else:
        assert state.status is RunStatus.WAITING
        (asked,) = await world.events(ApprovalRequested)
        said = " ".join(asked.approval.origins.values())
        assert "mail_login" in said
        assert "post" in said


LOGGED_IN = "https://api.mail.example/login"


@pytest.mark.parametrize(
    ("args", "asks"),
    [
        ({"url": "https://api.mail.example/send?token=REF"}, False),
        ({"url": "HTTPS://API.mail.example/send", "body": {"token": "REF"}}, False),
        ({"body": "REF"}, False),
        ({"url": "https://b.example/?t=REF"}, True),
        ({"url": "https://b.example", "body": "REF"}, True),
        ({"url": "https:b.example/REF"}, True),
        ({"url": "https:\\\\b.example/REF"}, True),
        ({"url": "//b.example/REF"}, True),
        ({"url": "https://api.mail.example\\@b.example/REF"}, True),
        ({"url": "https://api.mail.example@b.example/REF"}, True),
        ({"url": "https://api.mail.example:81/REF"}, True),
        ({"url": "https://api.mail.example.b.example/REF"}, True),
        ({"url": "https://REF.b.example/"}, True),
        ({"url": LOGGED_IN, "body": '{"callback": "wss://b.example", "token": "REF"}'}, True),
    ],
)
async def test_a_secret_of_one_host_goes_to_another_only_if_a_person_says_so(open_world: Any, args: Any, asks: bool):
    """Also by the tool that returned it."""
    services = Services()
    fetch = services.tool("mail_login", schema={"url": {"type": "string"}})
    world = open_world(passing("mail_login", first={"url": LOGGED_IN}, **args), [fetch])
    state = await world.run()

    assert state.status is (RunStatus.WAITING if asks else RunStatus.SUCCEEDED)
    assert (TOKEN in str(services.got)) is not asks
    for asked in await world.events(ApprovalRequested):
        assert any("mail_login returned from " in each for each in asked.approval.origins.values())


@pytest.mark.parametrize("by", ["a task", "an attachment"])
async def test_a_secret_gets_nowhere_by_another_worker(open_world: Any, by: str):
    """A file that a tool uploads has the reference, too."""
    services, got = Services(), list[bytes]()

    async def upload(_args: dict[str, Any], context: Any) -> str:
        got.extend([await context.files.read(each) for each in context.files.entries])
        return "uploaded"

    own = Tool.from_schema("upload", "Upload.", {"type": "object"}, upload, effect="pure", origin="mcp:board")
    tools = [*services.tools, filesystem_write, worker_call, own]

    def hands_on(request: Any, _facts: Any) -> Any:
        ref, given = reference(request.messages), {"attachments": ["memory/note.txt"]}
        return calls(("worker_call", {"worker": "poster", "input": ref} | (given if by == "an attachment" else {})))

    def posts(request: Any, _facts: Any) -> Any:
        return calls(("post_message", {"text": reference(request.messages)}))

    work = [calls(("mail_login", {})), through_a_file, calls(("upload", {})), hands_on, "done"]
    models = FakeModels(plan({"name": "a", "args": {}}), work=work)
    models._answers["poster"] = [posts, "done"]
    world = open_world(models, tools)
    world.workers = (
        *world.workers,
        StepWorker(name="poster", instructions="Post it.", declared=True, tools=("post_message",)),
    )
    state = await world.run()

    assert state.status is RunStatus.WAITING
    assert [name for name, _ in services.got] == ["mail_login"]
    assert len(got) == 1
    assert REFERENCE.search(got[0].decode())
    (asked,) = await world.events(ApprovalRequested)
    assert asked.approval.tool == "post_message"
    assert TOKEN not in everything_but_the_table(world)


async def test_a_number_that_a_call_was_given_is_no_number_in_its_result(open_world: Any):
    services = Services()
    services.returns = {"pin_secret": 48_392}
    same: dict[str, Any] = {"effect": "pure", "origin": "mcp:mail"}
    echo = Tool.from_schema("echo", "Echo.", {"type": "object"}, lambda args, _: {"n": args["n"], "m": 7}, **same)
    world = open_world(passing("echo", n="REF"), [services.tool("mail_login"), echo])
    await world.run()
    (_, echoed) = await world.events(ToolCallReturned)
    assert has_secret(echoed.raw["n"])
    assert echoed.raw["m"] == 7
    assert "48392" not in everything_but_the_table(world)


async def test_a_person_sees_each_source_of_secrets_that_go_somewhere_together(open_world: Any):
    services = Services()

    def both(request: Any, _facts: Any) -> Any:
        shown = {*REFERENCES.findall(str(request.messages))} - {"[secret:sec_0a1b2c3d4e5f]"}  # which is an example
        return calls(("post_message", {"text": " ".join(sorted(shown))}))

    work = [calls(("mail_login", {})), both, "done"]
    world = open_world(FakeModels(plan({"name": "a", "args": {}}), work=work), services.tools)
    assert (await world.run(f"use {KEY}")).status is RunStatus.WAITING
    (asked,) = await world.events(ApprovalRequested)
    assert "mail_login" in asked.approval.origins["text"]
    assert "the request" in asked.approval.origins["text"]


async def test_a_model_is_shown_no_name_that_does_not_fit(open_world: Any):
    """The name is a reference, and what it stands for is checked."""
    services = Services()
    numbers = {"additionalProperties": {"type": "integer"}}
    tools = [services.tool("mail_login"), Tool.from_schema("count", "Count.", numbers, lambda args, _: args)]

    def counted(request: Any, _facts: Any) -> Any:
        return calls(("count", {reference(request.messages): f"{reference(request.messages)}!"}))

    work = [calls(("mail_login", {})), counted, "done"]
    world = open_world(FakeModels(plan({"name": "a", "args": {}}), work=work), tools)
    await world.run()
    assert "does not fit the schema" in str(world.models.asked)
    assert TOKEN not in str(world.models.asked)


async def test_a_secret_that_a_person_supplies_belongs_to_no_tool(open_world: Any):
    services = Services()
    services.returns = RuntimeError  # which is no JSON
    ordered = {**ask("b", "post_message", text={"$result": {"subtask": "0", "path": "/raw/note"}}), "needs": [0]}
    world = open_world(FakeModels(plan(ask("a", "mail_login"), ordered)), services.tools)
    await world.run()
    by_hand = StepRequested(what="supply", by="me", steps=("wo-001.0",), summary="by hand", raw={"note": KEY})
    await RunLog(world.store, "run_1", world.redactor).append(by_hand)
    state = await world.take_over("run_1", ended=True)

    assert state.status is RunStatus.WAITING
    assert services.got == [("mail_login", {})]
    (asked,) = await world.events(ApprovalRequested)
    assert "the request" in asked.approval.origins["text"]
    assert KEY not in everything_but_the_table(world)
