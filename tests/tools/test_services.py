"""What a service answers decides whose fault it is, and so what happens next."""

from __future__ import annotations

from typing import Any

import pytest

from leadhand.core.errors import Failure, FailureClass, ToolError
from leadhand.ports import WebReply
from leadhand.tools.services import SERVICES, answered, base_url, setting


def failure(service: str, status: int, body: Any = None, **headers: str) -> Failure:
    with pytest.raises(ToolError) as failed:
        answered(service, WebReply(status=status, body=body, headers=headers), lambda body: body["found"], "error")
    return failed.value.failure


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
    found = failure("nominatim", status)
    assert (found.class_, found.type) == (class_, f"http_{status}")


def test_a_refusal_says_which_setting_to_correct() -> None:
    assert "LEADHAND_NOMINATIM_URL" in failure("nominatim", 403).next_action
    assert "BRAVE_API_KEY" in failure("brave", 401).next_action


def test_a_rate_limit_carries_the_wait_that_was_asked_for() -> None:
    assert failure("valhalla", 429, **{"retry-after": "12"}).retry_after_s == 12


@pytest.mark.parametrize("body", [None, [], "no", {"error": 5}, {}])
def test_a_body_of_any_other_shape_is_a_failure_of_the_service(body: object) -> None:
    assert failure("nominatim", 400, body).message == failure("nominatim", 400).message
    assert (failure("nominatim", 200, body).class_, failure("nominatim", 200, body).type) == ("transient", "bad_body")


@pytest.mark.parametrize("name", SERVICES)
def test_a_setting_points_a_service_to_another_server(name: str) -> None:
    assert base_url(name, {setting(name): "http://localhost/maps/ "}) == "http://localhost/maps"
    assert base_url(name, {setting(name): "  "}) == base_url(name, {}) == SERVICES[name].url
