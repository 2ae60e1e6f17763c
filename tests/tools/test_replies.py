"""What a service answers decides whose fault it is, and so what happens next."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from leadhand.core.errors import FailureClass, ToolError
from leadhand.ports import WebReply
from leadhand.tools.replies import failure, first_answer, text_of
from leadhand.tools.services import SERVICES, base_url, setting

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "class_"),
    [
        (400, FailureClass.INVALID),
        (401, FailureClass.UNAVAILABLE),
        (403, FailureClass.UNAVAILABLE),
        (404, FailureClass.UNAVAILABLE),
        (408, FailureClass.TRANSIENT),
        (422, FailureClass.INVALID),
        (429, FailureClass.RATE_LIMITED),
        (500, FailureClass.TRANSIENT),
        (503, FailureClass.TRANSIENT),
    ],
)
def test_a_status_has_one_class_and_is_the_type(status: int, class_: FailureClass) -> None:
    found = failure("nominatim", WebReply(status=status), NOW).failure
    assert (found.class_, found.type) == (class_, f"http_{status}")


def test_a_refusal_says_which_setting_points_elsewhere() -> None:
    assert "LEADHAND_NOMINATIM_URL" in failure("nominatim", WebReply(status=403), NOW).failure.next_action


def test_the_reason_a_service_gives_is_passed_on() -> None:
    assert "no such day" in failure("open-meteo", WebReply(status=400), NOW, "no such day").failure.message


def test_a_rate_limit_carries_the_wait_that_was_asked_for() -> None:
    limited = failure("valhalla", WebReply(status=429, headers={"retry-after": "12"}), NOW).failure
    assert limited.retry_after_s == 12


@pytest.mark.parametrize("body", [None, [], "no", {"error": 5}, {}])
def test_an_error_body_of_any_shape_yields_text_or_nothing(body: object) -> None:
    assert text_of(body, "error") == ""


@pytest.mark.parametrize("name", SERVICES)
def test_a_setting_points_a_service_to_another_server(name: str) -> None:
    assert base_url(name, {setting(name): "http://localhost/maps/ "}) == "http://localhost/maps"
    assert base_url(name, {setting(name): "  "}) == base_url(name, {}) == SERVICES[name].url


@pytest.mark.parametrize("name", ["nominatim", "valhalla"])
def test_openstreetmap_is_asked_once_a_second_and_its_answers_are_kept(name: str) -> None:
    assert SERVICES[name].seconds_between == 1
    assert SERVICES[name].kept_s >= 86_400


def failing(class_: FailureClass, type: str):
    async def ask() -> str:
        raise ToolError("no", type=type, class_=class_)

    return ask


async def answering() -> str:
    return "yes"


@pytest.mark.parametrize("class_", [FailureClass.TRANSIENT, FailureClass.RATE_LIMITED, FailureClass.UNAVAILABLE])
async def test_when_one_service_is_out_of_order_the_next_is_asked(class_: FailureClass) -> None:
    assert await first_answer(failing(class_, "down"), answering) == "yes"


async def test_when_the_question_is_wrong_no_other_service_is_asked() -> None:
    with pytest.raises(ToolError) as caught:
        await first_answer(failing(FailureClass.INVALID, "wrong"), answering)
    assert caught.value.failure.type == "wrong"
