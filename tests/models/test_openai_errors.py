"""What a server refuses with becomes one classed failure, and never shows a key."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadhand.models.errors import failure_of
from leadhand.models.failures import error_message
from leadhand.ports.retry_after import retry_after

KEY = "sk-very-secret-key"


def body(message: str = "m", code: str = "c") -> str:
    return json.dumps({"error": {"message": message, "code": code, "type": code}})


@pytest.mark.parametrize(
    ("status", "text", "class_", "type_"),
    [
        (401, body(), "unavailable", "bad_key"),
        (403, body(), "unavailable", "bad_key"),
        (404, body("The model `x` does not exist"), "unavailable", "unknown_model"),
        (429, body("Rate limit reached", "rate_limit_exceeded"), "rate_limited", "rate_limited"),
        (429, body("You exceeded your current quota", "insufficient_quota"), "unavailable", "quota"),
        (402, body("Insufficient Balance"), "unavailable", "quota"),
        (400, body("m", "context_length_exceeded"), "too_large", "context_length"),
        (400, body("This model's maximum context length is 8192 tokens"), "too_large", "context_length"),
        (413, "too big", "too_large", "context_length"),
        (400, body("wrong"), "invalid", "http_400"),
        (422, json.dumps({"detail": [{"msg": "wrong"}]}), "invalid", "http_422"),
        (400, body("unknown model x"), "unavailable", "unknown_model"),
        (408, "", "transient", "http_408"),
        (500, body(), "transient", "http_500"),
        (503, "<html>gateway</html>", "transient", "http_503"),
        (404, "<!DOCTYPE html><p>", "unavailable", "not_an_api"),
        (301, "", "unavailable", "not_an_api"),
        (405, "Method Not Allowed", "unavailable", "not_an_api"),
        (403, "<html>blocked</html>", "unavailable", "forbidden"),
        (413, "<html>Request Entity Too Large</html>", "too_large", "context_length"),
        (500, body("the request exceeds the available context size"), "too_large", "context_length"),
        (400, body("The input token count (9) exceeds the maximum number of tokens allowed (8)."), "too_large", None),
        (400, body("This model's maximum prompt length is 131072 but …"), "too_large", None),
        (400, body("The decoder prompt is longer than the maximum model length of 8192"), "too_large", None),
        (429, body("Request too large on TPM: The input or output tokens must be reduced"), "too_large", None),
        (429, body("Too many tokens, please wait before trying again"), "rate_limited", "rate_limited"),
        (
            429,
            body("You exceeded your current quota. Retry in 37s", "RESOURCE_EXHAUSTED"),
            "rate_limited",
            None,
        ),
        (400, body("Your credit balance is too low"), "unavailable", "quota"),
        (400, body("Failed to call a function. Please adjust your prompt.", "tool_use_failed"), "transient", None),
        (200, '{"error": "Unexpected endpoint or method. (POST /chat/completions)"}', "unavailable", "not_an_api"),
    ],
)
def test_each_refusal_has_its_class(status: int, text: str, class_: str, type_: str | None) -> None:
    failure = failure_of(status, {}, text)
    assert (failure.class_, failure.type) == (class_, type_ or failure.type)
    assert failure.next_action


def test_the_message_says_what_the_server_said() -> None:
    assert failure_of(400, {}, body("no such\n field")).message.endswith("400: no such field")
    page = failure_of(404, {}, "<html>x</html>").message
    assert ("404" in page, "<html>" in page) == (True, False)


def test_a_key_that_the_server_says_back_is_cut_out() -> None:
    failure = failure_of(401, {}, body(f"Incorrect API key provided: {KEY}"), key=KEY)
    assert KEY not in failure.message
    assert "[key]" in failure.message


NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"Retry-After": "60", "retry-after-ms": "250"}, 0.25),
        ({"Retry-After": "Sat, 21 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"Retry-After": "Sat, 21 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-1"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "1e30"}, 86_400.0),
        ({}, None),
    ],
)
def test_the_wait_a_server_asks_for_is_understood(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


def test_only_failures_that_pass_carry_a_wait() -> None:
    assert failure_of(429, {"Retry-After": "3"}, body()).retry_after_s == 3.0
    assert failure_of(503, {"Retry-After": "3"}, "").retry_after_s == 3.0
    assert failure_of(401, {"Retry-After": "3"}, "").retry_after_s is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"error": "plain"}', "plain"),
        ('\ufeff{"error": "marked"}', "marked"),
        (
            '{"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]}',
            "body.stream_options: Extra inputs are not permitted",
        ),
        ('{"message": "m"}', "m"),
        ('{"object": "error", "message": "vllm"}', "vllm"),
        ('{"detail": "d"}', "d"),
        ('[{"error": {"message": "listed"}}]', "listed"),
        ("just  words", "just words"),
        ('{"other": 1}', '{"other": 1}'),
        ("", ""),
    ],
)
def test_the_message_is_found_in_every_usual_shape(text: str, message: str) -> None:
    assert error_message(text) == message


@given(st.integers(201, 599), st.dictionaries(st.text(), st.text()), st.text())
def test_any_refusal_is_classed(status: int, headers: dict[str, str], text: str) -> None:
    assert failure_of(status, headers, text, key=KEY).message


@pytest.mark.parametrize(
    ("error", "type_"),
    [
        ({"code": 429}, "rate_limited"),
        ({"code": "503"}, "http_503"),
        ({"status": 401}, "bad_key"),
        ({"code": "rate_limit_exceeded"}, "rate_limited"),
        ({"type": "authentication_error"}, "bad_key"),
        ({"code": "model_not_found"}, "unknown_model"),
        ({"message": "m"}, "http_502"),
        ("plain words", "http_502"),
    ],
)
def test_an_error_inside_an_answer_has_a_status(error: object, type_: str) -> None:
    assert failure_of(200, {}, json.dumps({"error": error})).type == type_


def test_a_server_that_has_moved_says_where() -> None:
    failure = failure_of(308, {"Location": "https://new.example/v1/chat/completions"}, "")
    assert "https://new.example/v1" in failure.message


def test_a_key_that_is_missing_is_told_from_one_that_is_wrong() -> None:
    missing, wrong = (failure_of(401, {}, body(), key_setting="GROQ_API_KEY", key=key) for key in ("", KEY))
    assert "GROQ_API_KEY" in missing.next_action
    assert missing.next_action != wrong.next_action
