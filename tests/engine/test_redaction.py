"""Secrets never reach the log: not from the environment, not by their look, not under a name that gives them away."""

from __future__ import annotations

import base64
import json
import time
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from engine.fakes import FakeModels, calls, down, judged
from engine.tools import Bench
from engine.worlds import World, ask, plan
from leadhand.core.conversation import ToolMessage
from leadhand.core.events import NoteEmitted, StepSettled, ToolCallReturned
from leadhand.core.ids import step_of
from leadhand.core.tool import ToolReturn
from leadhand.engine.redaction import REDACTED, Redactor
from leadhand.tools.decorator import tool

FROM_ENVIRONMENT = "correct horse battery staple"
LOOKS_LIKE_ONE = (
    "sk-proj-abcdefghijklmnop1234",
    "sk-ant-api03-abcdefghijklmnop",
    "gsk_abcdefghijklmnopqrstuvwx",
    "AIzaSyA-abcdefghijklmnopqrstuvwxyz012",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "AKIAABCDEFGHIJKLMNOP",
    "xoxb-1234567890-abcdef",
    "Bearer abcdefghijklmnopqrstuvwx",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nAbCdEf\n-----END RSA PRIVATE KEY-----",
    "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz",
    "glpat-abcdefghij0123456789",
    "Basic YXBwOmh1bnRlcjI=",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
)
UNDER_A_NAME = "swordfish"


async def everything_of(world: World) -> str:
    """All that a world has written down: every event, and every blob."""
    events = [entry.event.model_dump_json() for entry in await world.entries()]
    return "\n".join([*events, *(body.decode() for body in world.store.blobs.values())])


def canaries(text: str) -> list[str]:
    """Secrets that got through, as they stand in JSON too."""
    secrets = (FROM_ENVIRONMENT, UNDER_A_NAME, *LOOKS_LIKE_ONE)
    return [secret for secret in secrets if secret in text or json.dumps(secret)[1:-1] in text]


def environment() -> Redactor:
    return Redactor.of_environment({"MY_API_KEY": FROM_ENVIRONMENT, "HOME": "/home/me", "SHORT_KEY": "abc"})


@pytest.mark.parametrize("secret", [FROM_ENVIRONMENT, *LOOKS_LIKE_ONE], ids=lambda secret: secret[:12])
@pytest.mark.parametrize("size", [0, 5_000], ids=["small", "large"])
async def test_a_secret_that_a_tool_returns_is_in_no_event_and_no_blob(open_world: Any, secret: str, size: int):
    @tool
    async def leak() -> ToolReturn:
        """Leak."""
        raw = {"list": [{"deep": f"so: {secret}."}], "password": UNDER_A_NAME, "filler": "x" * size}
        return ToolReturn(raw=raw, summary=f"the key is {secret}!")

    models = FakeModels(plan(ask("a", "leak")))
    world = open_world(models, [leak], secrets=[FROM_ENVIRONMENT])
    state = await world.run()

    assert state.status == "succeeded"
    assert canaries(await everything_of(world)) == []
    assert canaries(state.finished.answer) == []
    assert (REDACTED if secret == FROM_ENVIRONMENT else "[secret:sec_") in await everything_of(world)


async def test_a_secret_in_a_request_a_reply_an_error_or_a_reason_is_in_no_event(open_world: Any):
    key = LOOKS_LIKE_ONE[0]

    @tool(retries=0)
    async def leak(text: str) -> None:
        """Leak."""
        raise ValueError(f"refused {key} and {text}")

    models = FakeModels(
        plan(ask("a", "leak", text=key), cannot=[{"what": f"use {key}", "reason": FROM_ENVIRONMENT}]),
        work=[calls(("leak", {"text": key}), ("leak", f'{{"text": "{key}')), calls(("give_up", {"reason": key}))],
        review=lambda request, facts: {**judged(request, facts), "cannot": [{"what": key, "reason": key}]},
        compose=[down(f"401 for {key}")],
    )
    world = open_world(models, [leak], secrets=[FROM_ENVIRONMENT])
    await world.run(f"my key is {key}, and {FROM_ENVIRONMENT}")

    assert canaries(await everything_of(world)) == []


NAMES = (
    *("password", "PASSWORD", "api_key", "apiKey", "API-Key", "x-api-key", "Authorization", "client_secret"),
    *("db_pass", "GITHUB_PAT", "SENTRY_DSN", "pwd", "access_token"),
)


@pytest.mark.parametrize(
    "raw",
    [
        *({name: UNDER_A_NAME} for name in NAMES),
        *({"password": value} for value in (87_654_321, ["87654321"], [87_654_321])),
        {LOOKS_LIKE_ONE[0]: 1},
    ],
    ids=str,
)
async def test_what_stands_under_a_name_like_password_and_a_secret_that_is_a_name_are_in_no_event(
    open_world: Any, raw: dict[str, Any]
):
    @tool
    async def leak() -> ToolReturn:
        """Leak."""
        return ToolReturn(raw={"user": "me", **raw}, summary="logged in")

    world = open_world(FakeModels(plan(ask("a", "leak"))), [leak])
    await world.run()

    text = await everything_of(world)
    assert canaries(text) == []
    assert "87654321" not in text
    assert '"user":"me"' in text, "more than the secret was blotted out"


@pytest.mark.parametrize(
    "secret",
    [
        'with "quotes" in it',
        "back\\slash\\es",
        "new\nline here",
        "größer als früher",
        "tab\there it is",
        "SHOUTING WORDS",
        "日本語の秘密の言葉",
    ],
)
async def test_a_secret_of_the_environment_is_found_however_json_writes_it(open_world: Any, secret: str):
    @tool
    async def leak() -> ToolReturn:
        """Leak."""
        return ToolReturn(raw={"it": [f"<{secret}>"]}, summary=f"it is {secret}")

    world = open_world(FakeModels(plan(ask("a", "leak"))), [leak], secrets=[secret])
    await world.run()
    text = await everything_of(world)

    assert secret not in text
    assert json.dumps(secret)[1:-1] not in text
    assert json.dumps(secret, ensure_ascii=False)[1:-1] not in text


NUMBERED = "sk-proj-abcdefghijkl-99887766"
SECRET_SCHEMA = {
    "type": "object",
    "properties": {
        "code": {"type": "string"},
        "password": {"type": "string", "minLength": 40},
        "n": {"type": "integer"},
    },
    "required": ["code"],
}


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        ({"code": "ok", "password": 87_654_321}, ["87654321"]),
        ({"code": "ok", "n": NUMBERED}, ["9988", "abcdefghijkl"]),
        (json.dumps({"code": 'with "quotes" 4711'})[:-1], ["quotes", "4711"]),
        (r'{"code": "postgres:\/\/me:99887766@db', ["9988"]),
    ],
    ids=["a number", "a schema", "quotes", "slashes"],
)
async def test_why_a_structured_answer_was_refused_names_no_part_of_a_secret(
    open_world: Any, answer: Any, named: list[str]
):
    """The model invented it, or writes it with the escapes of JSON."""
    subtask = {**ask("a", "measure", n=2), "expected_output": SECRET_SCHEMA}
    models = FakeModels(plan(subtask), work=answer)
    world = open_world(models, [Bench().measure], secrets=['with "quotes" 4711'])
    await world.run()

    refused = [
        entry.event for entry in await world.entries() if isinstance(entry.event, NoteEmitted) and entry.event.refused
    ]
    assert refused
    text = await everything_of(world)
    assert [part for part in named if part in text] == []


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ({"code": "ok", "n": NUMBERED}, ["9988", "abcdefghijkl"]),
        ({"code": "ok", "password": 87_654_321}, ["87654321"]),
        ({"code": "ok", "password": "swordfish"}, ["swordfish"]),
    ],
    ids=["a schema", "a number", "too short"],
)
async def test_why_arguments_were_refused_names_no_part_of_a_secret(open_world: Any, args: Any, named: list[str]):
    calls_made: list[str] = []

    @tool
    async def login(code: str, n: int = 0, password: Annotated[str, Field(min_length=40)] = "x" * 40) -> ToolReturn:
        """Log in."""
        calls_made.append(code)
        return ToolReturn(summary="logged in")

    models = FakeModels(plan(ask("a", None)), work=[calls(("login", args)), "It did not work."])
    world = open_world(models, [login])
    await world.run()

    said = models.requests("work")[1].messages[-1]
    assert isinstance(said, ToolMessage)
    assert '"isError":true' in said.content
    text = await everything_of(world) + said.content
    assert [part for part in named if part in text] == []
    assert calls_made == []


async def test_a_tool_is_called_with_the_true_value_although_the_log_never_shows_it(open_world: Any):
    given: list[str] = []

    @tool
    async def login(password: str) -> ToolReturn:
        """Log in."""
        given.append(password)
        return ToolReturn(raw=None, summary="logged in")

    models = FakeModels(plan(ask("a", None)), work=[calls(("login", {"password": UNDER_A_NAME})), "I am in."])
    world = open_world(models, [login])
    await world.run()

    assert given == [UNDER_A_NAME]
    assert canaries(await everything_of(world)) == []


def test_only_variables_named_like_secrets_are_secrets_and_short_ones_are_left_alone():
    redactor = environment()

    assert redactor.text(f"{FROM_ENVIRONMENT} /home/me abc") == f"{REDACTED} /home/me abc"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgres://app:hunter2hunter2@db/x?a=1", f"postgres://{REDACTED}@db/x?a=1"),
        (
            "see https://ghp_token@host/p, https://u:p@ss@h and a@b.c",
            f"see https://{REDACTED}@host/p, https://{REDACTED}@h and a@b.c",
        ),
        (
            "authorization: Basic YXBwOmh1bnRlcjI= and basic aGVsbG8h understanding of JavaScript",
            f"authorization: Basic {REDACTED} and basic aGVsbG8h understanding of JavaScript",
        ),
        ("connect password=hunter2 host=db", f"connect password={REDACTED} host=db"),
        ('{"db_password": "two words", "user": "me"}', f'{{"db_password": "{REDACTED}", "user": "me"}}'),
        ("the password: 'cut off in the mid", f"the password: '{REDACTED}"),
        ("-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nq83vEjRW", REDACTED),
        (
            "a password is required; https://example.com/@me?mail=a@b",
            "a password is required; https://example.com/@me?mail=a@b",
        ),
    ],
)
def test_credentials_in_a_text_are_redacted_and_the_rest_is_not(text: str, shown: str):
    redactor = environment()

    assert redactor.text(text) == shown
    assert redactor.text(shown) == shown
    event = StepSettled(step=step_of(text), attempt=text, ok=True, final=True)
    assert redactor.value(event).attempt == shown


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("password: hunter22", "hunter22"),
        ("The admin's Password: `hunter22`, which", "hunter22"),
        ("**Password:** hunter22!", "hunter22!"),
        ("db_password = correct-h0rse-battery", "correct-h0rse-battery"),
        ("api_key: 0123456789abcdef", "0123456789abcdef"),
        ("api-key:k3y0f4nn", "k3y0f4nn"),
        ("- secret: aB3dE6gH9", "aB3dE6gH9"),
        ("access_token:\tabc123def", "abc123def"),
        ("refresh_token: abc123def", "abc123def"),
        ("GET /x?token=abc123def&n=1", "abc123def"),
        ("TOKEN=abc123def", "abc123def"),
        ("auth_token=abc123def", "abc123def"),
        ("export SMTP_PASS=zanzibar", "zanzibar"),
        ("db-pass=zanzibar;", "zanzibar"),
    ],
)
def test_what_follows_a_usual_name_is_redacted_if_it_looks_like_a_secret(text: str, secret: str):
    shown = text.replace(secret, REDACTED)
    assert Redactor().text(text) == shown
    assert Redactor().text(shown) == shown
    assert Redactor().payload({"note": text}) == {"note": shown}


@pytest.mark.parametrize(
    "text",
    [
        "the password: policy says that it has eight characters",
        "Password: required. Secret: none.",
        "password: 8-character minimum, 12characters at most",
        "password: https://example.com/reset/v2",
        "password:\nhunter2 is an example",
        "secret: SHA-256 or sha512sum; token: OAuth2.0",
        "api_key: base64-encoded",
        "token = 5 units",
        "The price per token: 1.5e-06 USD, per access token: 0.00015USD",
        "token=42 next_page_token=abc123def max_token=4096k",
        "secret: 2026-11-24, 10:30",
        "the secret = 7pm",
        "bypass=everything1 compass=north12",
        "a password is required, and a secret 4711abcd is another",
    ],
)
def test_ordinary_text_after_a_usual_name_is_left_alone(text: str):
    assert Redactor().text(text) == text


@pytest.mark.parametrize(
    "written", ["KEY+/4711 ÄÖ-HIDDEN", "key%2B%2F4711%20%C3%A4%C3%B6-hidden", "a2V5Ky80NzExIMOkw7YtaGlkZGVu"]
)
def test_a_known_secret_is_found_in_capitals_percent_encoded_and_in_base64(written: str):
    redactor = Redactor.of_environment({"MY_KEY": "key+/4711 äö-hidden"})
    assert redactor.text(f"it is <{written}>") == f"it is <{REDACTED}>"
    assert redactor.payload({"note": f"<{written}>"}) == {"note": f"<{REDACTED}>"}


def test_a_secret_that_is_no_text_is_known_too():
    assert Redactor.of_environment({"MY_KEY": "hidden\udcff4711"}).text("<hidden%FF4711>") == f"<{REDACTED}>"


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("DATABASE_URL", "postgres://app:hunter2hunter2@db/x", "hunter2hunter2"),
        ("http_proxy", "http://me:p%40ssw0rd!@proxy:3128", "p@ssw0rd!"),
        (
            "SLACK_WEBHOOK_URL",
            "https://hooks.slack.com/services/T0/B0/abc123def456ghi789",
            "https://hooks.slack.com/services/T0/B0/abc123def456ghi789",
        ),
        ("SENTRY_DSN", "host=db user=app", "host=db user=app"),
        ("GITHUB_PAT", "not-like-others", "not-like-others"),
        ("SMTP_PASS", "two words", "two words"),
        ("db_passphrase", "two words", "two words"),
        ("MYSQL_PWD", "two words", "two words"),
        ("OPENAI_BASE_URL", "https://api.example.com:8443/v1", None),
        ("PWD", "/home/me/work", None),
        ("OLDPWD", "/home/me/before", None),
        ("SSH_ASKPASS", "/usr/bin/ssh-askpass", None),
        ("PATH", "/usr/local/bin", None),
    ],
)
def test_secrets_of_variables_with_the_usual_names_are_redacted(name: str, value: str, secret: str | None):
    shown = REDACTED if secret else value
    assert Redactor.of_environment({name: value}).text(f"it is <{secret or value}>") == f"it is <{shown}>"


def test_what_holds_no_secret_is_the_very_same_object():
    event = StepSettled(step="wo-001.0", attempt="wo-001.0/a1", ok=True, final=True)
    named = ToolCallReturned(attempt="a/a1", call_id="a/t0/c0", tool="task-1", ok=True, raw={"risk-free": "desk-17"})

    assert environment().value(event) is event
    assert environment().value(named) is named


def test_the_words_of_a_schema_are_no_secrets():
    payload = {"properties": {"password": {"type": "string", "description": "your password"}}, "required": ["password"]}

    assert environment().payload(payload) == payload


URLS = {
    "DATABASE_URL": "postgresql://ann:Tr0ub4dor@db.example.com/app",
    "HOOK_URL": "https://hooks.example.com/in/B0123456789abcdefgh",
    "SIGNED_URL": "https://files.example.com/a?sig=abcdef1234567890",
    "BARE_URL": "https://k3y0f4nn@api.example.com/",
}


@pytest.mark.parametrize("secret", ["token=abc123def456", "Basic YXBwOnphbnppYmFy", "password=abc123def456"])
def test_a_secret_is_found_right_after_a_script_without_spaces(secret: str) -> None:
    assert Redactor().text(f"天気は{secret}") in (
        f"天気は{REDACTED}",
        f"天気は{secret.partition('=')[0]}={REDACTED}",
        f"天気はBasic {REDACTED}",
    )


@pytest.mark.parametrize(
    "text", ["see http://localhost:8080", "http://127.0.0.1:65535…", "open http://[::1]:80", "a://b"]
)
def test_a_port_at_the_end_of_a_text_is_not_a_password(text: str) -> None:
    assert Redactor.of_environment(URLS).text(text) == text


class _Thorough(Redactor):
    """Looks for secrets with its patterns in every text."""

    def may_hold_secret(self, written: str) -> bool:
        return True


PARTS = (
    *LOOKS_LIKE_ONE,
    *(
        "password=",
        "password: ",
        "token=",
        "db_pass=",
        "hunter2 ",
        "pwd: '",
        'api_key="',
        "Basic ",
        "bearer\t",
        "://",
        "ada:",
        "@",
        "ΟΔΟΣ",
        "\\u0070assword=",
        "\n",
        "…",
    ),
    *("sk-", "the weather ", "é", "token ", "1234567890abcdef", "secret", '"', "'", FROM_ENVIRONMENT, "ΟΔΟΣ-1234 x"),
)


SECRETS = (FROM_ENVIRONMENT, "ΟΔΟΣ-1234", 'a "quoted" one', "two\nlines/here", "c:\\new\\key")
TEXTS = st.lists(st.sampled_from((*PARTS, *SECRETS)) | st.text(max_size=12), max_size=6).map("".join)


@given(TEXTS)
def test_the_fast_search_misses_no_secret(text: str) -> None:
    assert Redactor(SECRETS).text(text) == _Thorough(SECRETS).text(text)
    assert Redactor(SECRETS).settled(text) == _Thorough(SECRETS).settled(text)
    note = NoteEmitted(attempt="w/a1", message=text)
    assert Redactor(SECRETS).value(note) == _Thorough(SECRETS).value(note)


@given(TEXTS)
def test_redacting_a_text_or_an_event_twice_changes_nothing_more(text: str) -> None:
    redactor = Redactor(SECRETS)
    once = redactor.text(text)
    assert redactor.text(once) == once
    event = redactor.value(NoteEmitted(attempt="w/a1", message=text))
    assert redactor.value(event) is event


@given(TEXTS, st.sampled_from(SECRETS), TEXTS, st.integers(0, 3), st.booleans())
def test_no_known_secret_is_left_in_an_event_however_often_json_escapes_it(
    before: str, secret: str, after: str, depth: int, ascii_only: bool
) -> None:
    written = secret
    for _ in range(depth):
        written = json.dumps(written, ensure_ascii=ascii_only)[1:-1]
    event = Redactor(SECRETS).value(NoteEmitted(attempt="w/a1", message=f"{before} {written} {after}"))
    assert REDACTED in event.message
    for each in SECRETS:
        assert each not in event.message
        assert json.dumps(each)[1:-1] not in event.message
        assert json.dumps(each, ensure_ascii=False)[1:-1] not in event.message


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_a_text_without_secrets_is_the_very_same_object(text: str) -> None:
    note = NoteEmitted(attempt="w/a1", message=text)
    assert Redactor(SECRETS).text(text) is text
    assert Redactor(SECRETS).value(note) is note


def test_a_secret_beside_half_a_character_is_redacted() -> None:
    assert Redactor(SECRETS).text(f"\ud83e {FROM_ENVIRONMENT}") == f"\ud83e {REDACTED}"


@pytest.mark.parametrize("user", ["", "a", "me:", "app:"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_known_secret_is_found_in_basic_credentials_and_other_base64(user: str, encode: Any) -> None:
    redactor = Redactor.of_environment({"MY_KEY": "key+/4711 äö-hidden"})
    for end in ("", "x", ":xy"):
        shown = redactor.text(f"<{encode(f'{user}key+/4711 äö-hidden{end}'.encode()).decode()}>")
        assert REDACTED in shown
        assert len(shown) - len(REDACTED) < 18, "a part of the secret is left"


@pytest.mark.parametrize(
    "part",
    ["password\\", "secret=secret:", "-----BEGIN PRIVATE KEY-----", "://a", "bearer ", "password: ", "sk-", "\\"],
)
def test_a_text_that_begins_a_secret_many_times_takes_linear_time(part: str) -> None:
    redactor, text = Redactor(SECRETS), part * (200_000 // len(part)) + " password=hunter22"
    began = time.process_time()
    redactor.text(text)
    assert time.process_time() - began < 10


@pytest.mark.parametrize("before", ["", "a\n", "a\\n", '{"a": "b\\n', "Bearer "])
def test_a_key_of_leadhand_is_known_wherever_a_word_can_begin(before: str) -> None:
    key = "lh_abcdEFGH1234567890xy"
    assert Redactor().knows(before + key)
    assert key not in Redactor().text(before + key)
    assert not Redactor().knows("x" + key)
