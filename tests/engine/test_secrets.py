"""Secrets reach the tools that may have them, by references; everything else has only the references."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from memory_store import MemoryStore
from pydantic import SecretStr

from engine.fakes import FakeModels, FixedClock, calls
from engine.mail_service import KEY, TOKEN, Services, everything_but_the_table, passing, reference
from engine.worlds import ask, plan
from leadhand.core.events import ApprovalRequested, ToolCallReturned
from leadhand.core.run import RunStatus
from leadhand.core.secret import REFERENCE, has_secret, revealed
from leadhand.core.tool import ApprovalPolicy, ToolReturn, WriteArtifact
from leadhand.core.value import compact_json
from leadhand.engine.forking import fork
from leadhand.engine.redaction import Redactor
from leadhand.engine.secrets import NoSuchSecret, RunSecrets
from leadhand.tools.decorator import tool
from leadhand.tools.tool import Tool


@pytest.mark.parametrize(
    ("args", "got"),
    [
        ({"token": "REF"}, {"token": TOKEN}),
        ({"token": "tok-", "text": "Bearer REF!"}, {"token": "tok-", "text": f"Bearer {TOKEN}!"}),
        ({"text": '{"auth": ["REF"]}'}, {"text": f'{{"auth": ["{TOKEN}"]}}'}),
    ],
)
async def test_a_tool_gets_what_a_tool_of_the_same_origin_returned(open_world: Any, args: Any, got: Any):
    services = Services()
    world = open_world(passing("mail_send", **args), services.tools)
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert services.got[1:] == [("mail_send", got)]
    assert TOKEN not in everything_but_the_table(world)
    assert [json.loads(each.value) for each in await world.store.secrets("run_1")] == [TOKEN]


async def test_a_model_is_told_once_what_references_are_and_only_if_there_are_any(open_world: Any):
    models = passing("mail_send", token="REF")
    await open_world(models, Services().tools).run()
    told = [str(each.messages).count("stands for a secret") for each in models.asked if each.worker == "work"]
    assert told == [0, 1, 1]


@pytest.mark.parametrize("policy", [ApprovalPolicy.ASK, ApprovalPolicy.AUTO])
@pytest.mark.parametrize("approve", [True, False])
async def test_a_secret_goes_elsewhere_only_if_a_person_says_so(open_world: Any, policy: Any, approve: bool):
    """A document told the model to post the token."""
    services = Services()
    world = open_world(passing("post_message", text="it is REF"), services.tools, approve=policy)
    run_id = await world.start()
    assert (await world.drive(run_id)).status is RunStatus.WAITING
    (asked,) = await world.events(ApprovalRequested)
    assert tuple(name for name in ("mail_login", "post_message") if name in asked.approval.origins["text"]) == (
        "mail_login",
        "post_message",
    )
    assert TOKEN not in asked.model_dump_json()

    await world.answer(run_id, approve=approve)
    await world.take_over(run_id)
    assert services.got[1:] == ([("post_message", {"text": f"it is {TOKEN}"})] if approve else [])
    assert TOKEN not in everything_but_the_table(world)


@pytest.mark.parametrize(
    ("tool", "args", "rules", "status"),
    [
        ("board_login", {"password": "REF"}, {}, RunStatus.SUCCEEDED),
        ("board_login", {"password": "REF", "n": "REF"}, {}, RunStatus.FAILED),
        ("post_message", {"text": "REF"}, {"tool:post_message": ApprovalPolicy.AUTO}, RunStatus.SUCCEEDED),
        ("post_message", {"text": "REF"}, {"tool:*": ApprovalPolicy.AUTO}, RunStatus.WAITING),
        ("post_message", {"text": "[secret:sec_000000000000]"}, {}, RunStatus.SUCCEEDED),
    ],
    ids=["declared", "does not fit", "rule by name", "rule for all", "made up"],
)
async def test_who_may_have_a_secret(open_world: Any, tool: str, args: Any, rules: Any, status: RunStatus):
    services = Services()
    world = open_world(passing(tool, **args), services.tools)
    state = await world.drive(await world.start(approve_rules=rules))
    made = [name for name, _ in services.got[1:]]
    refused = [each for each in world.models.asked if "no_such_secret" in str(each) or "does not fit" in str(each)]
    assert state.status is (status if status is not RunStatus.FAILED else RunStatus.SUCCEEDED)
    assert made == ([tool] if status is RunStatus.SUCCEEDED and "sec_0" not in str(args) else [])
    assert TOKEN not in everything_but_the_table(world) + str(refused)


# --- any value -------------------------------------------------------------------------------------------------------

UNMADE = ("[secret:sec_0a1b2c3d4e5f]", "[~secret:")
WORDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
PARTS = st.sampled_from([f" {KEY} ", f"Bearer {KEY} ", "password=hunter2-x9", *UNMADE, "[redacted]", '{"', '"'])
TEXTS = st.lists(PARTS | WORDS, max_size=5).map("".join)
NAMED = st.dictionaries(
    st.sampled_from(["password", "$secret", "access_token", "n", KEY]), TEXTS | st.integers() | WORDS, max_size=3
)
WRITTEN = NAMED.flatmap(
    lambda value: st.sampled_from(
        [compact_json(value), json.dumps(value), json.dumps(value, indent=2) + "\n", json.dumps(value, indent=3)]
    )
)
VALUES = st.recursive(
    TEXTS | WRITTEN | NAMED | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS | st.just("password"), inner, max_size=3),
    max_leaves=8,
)


def known(run_id: str = "run_1") -> RunSecrets:
    return RunSecrets(MemoryStore(FixedClock()), run_id, Redactor(["correct horse battery staple"]))


@example('{"password":"00000000","n":"00000000"}')
@example({"n": "00000000", "password": "00000000"})
@given(VALUES)
async def test_what_comes_from_a_tool_comes_back_exactly(value: Any):
    """Its secrets, whatever looks like a reference, and data with the key that others use for secrets."""
    secrets = known()
    sealed = secrets.sealing("mcp:mail", "login", foreign=True).payload(value)
    back = await secrets.reveal(sealed)

    assert back == value
    assert KEY not in compact_json(sealed)
    assert secrets.sealing().payload(sealed) == sealed, "the log finds nothing more"


@given(VALUES)
async def test_nothing_from_elsewhere_refers_to_a_secret(value: Any):
    secrets = known()
    sealed = secrets.sealing("mcp:mail", "login", foreign=True).payload(value)
    assert "sec_0a1b2c3d4e5f" not in {found[1] for found in REFERENCE.finditer(compact_json(sealed))}


async def test_a_secret_is_found_again_in_other_forms_and_always_has_the_same_reference():
    secrets = known()
    seal = secrets.sealing("mcp:mail", "login", foreign=True)
    (sealed,) = seal.payload([{"access_token": TOKEN}])
    again = secrets.sealing("mcp:board", "echo", foreign=True)
    encoded = base64.b64encode(f"ann:{TOKEN}".encode()).decode()

    assert again.text(f"it is {TOKEN}.") == f"it is {sealed['access_token']}."
    for text in (encoded, f"Basic {encoded}", base64.urlsafe_b64encode(TOKEN.encode()).decode()):
        clean = again.text(text)
        assert has_secret(clean)
        assert await secrets.reveal(clean) == text
    assert {each.origin for each in secrets.named_in([sealed["access_token"]])} == {"mcp:mail", "mcp:board"}


async def test_what_the_environment_has_is_never_kept():
    secrets = known()
    value = {"password": "correct horse battery staple", "text": "token=correct horse battery staple"}
    assert secrets.sealing("mcp:mail", "login", foreign=True).payload(value) == {
        "password": "[redacted]",
        "text": "token=[redacted]",
    }
    assert not secrets.known


# --- other ways in and out -------------------------------------------------------------------------------------------


async def test_a_secret_in_the_request_needs_approval_but_for_arguments_that_are_declared_secret(open_world: Any):
    got: list[Any] = []

    @tool
    async def board_login(password: SecretStr) -> str:
        """Log in."""
        got.append(password.get_secret_value())
        return "in"

    @tool
    async def post_message(text: str) -> str:
        """Post it."""
        got.append(text)
        return "posted"

    def passed(request: Any, _facts: Any) -> Any:
        ref = reference(request.messages)
        return calls(("board_login", {"password": ref}), ("post_message", {"text": ref}))

    world = open_world(FakeModels(plan({"name": "a", "args": {}}), work=[passed, "done"]), [board_login, post_message])
    state = await world.run(f"log in with {KEY}")

    assert got == [KEY]
    assert state.status is RunStatus.WAITING
    (asked,) = await world.events(ApprovalRequested)
    assert (asked.approval.tool, "the request" in asked.approval.origins["text"]) == ("post_message", True)
    assert KEY not in everything_but_the_table(world)


async def test_a_fork_can_use_what_the_first_run_has_and_another_run_cannot(open_world: Any):
    services = Services()
    world = open_world(passing("mail_send", token="REF"), services.tools)
    state = await world.run()
    logged_in = next(each.seq for each in await world.entries() if isinstance(each.event, ToolCallReturned))
    await fork(world.store, "run_1", logged_in, "run_9")
    services.got.clear()
    world.models = passing("mail_send", token="REF")
    del world.models._answers["work"][0]
    forked = await world.take_over("run_9")

    assert (state.status, forked.status) == (RunStatus.SUCCEEDED, RunStatus.SUCCEEDED)
    assert services.got == [("mail_send", {"token": TOKEN})]
    other = RunSecrets(world.store, "run_2", Redactor())
    with pytest.raises(NoSuchSecret):
        await other.reveal(REFERENCE.search(everything_but_the_table(world))[0])


async def test_files_and_cached_results_have_no_secrets(open_world: Any):
    written, text = list[str](), f"the key is {KEY}, and {UNMADE[0]} is none"

    def call(_args: dict[str, Any], context: Any) -> Any:
        written.append(context.call_id.rpartition("/wo-")[0])
        asks = (WriteArtifact(path="key.txt", content=text),) if len(written) == 1 else ()
        return ToolReturn(raw={"ok": True}, summary=text, asks=asks)

    note = Tool.from_schema("note", "Note.", {"type": "object"}, call, effect="pure", cache="1 h", origin="mcp:notes")
    world = open_world(FakeModels(plan(ask("a", "note"))), [note])
    for _ in range(3):
        await world.run()
    assert written == ["run_1", "run_2", "run_3"], "a result with a secret was kept"
    assert KEY not in everything_but_the_table(world)
    (file,) = {body.decode() for body in world.store.blobs.values() if body.startswith(b"the key is")}
    (secret,) = await world.store.secrets("run_1")
    assert revealed(file, lambda _: json.loads(secret.value)) == text
