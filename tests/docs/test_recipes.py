"""The bridge of the recipe for Slack lets signed messages in, and no others."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from documents import ROOT, blocks

BODY = b'{"type": "run.asks"}'
SECRET = b"a secret of thirty-two bytes ...."


@pytest.fixture(scope="module")
def bridge() -> Any:
    """The module that the page shows."""
    (block,) = blocks(ROOT / "docs" / "recipes" / "slack.md", "python")
    names: dict[str, Any] = {"__name__": "bridge"}
    exec(compile(block.text, str(Path("bridge.py")), "exec"), names)
    return SimpleNamespace(**names)


def delivery(*, body: bytes = BODY, secret: bytes = SECRET, age_s: float = 0) -> dict[str, str]:
    """The headers of a delivery, as Standard Webhooks defines them."""
    sent_at = str(int(time.time() - age_s))
    signature = hmac.new(secret, b"msg_1." + sent_at.encode() + b"." + body, hashlib.sha256).digest()
    return {
        "webhook-id": "msg_1",
        "webhook-timestamp": sent_at,
        "webhook-signature": f"v1,{base64.b64encode(signature).decode()}",
    }


@pytest.mark.parametrize(
    ("headers", "accepted"),
    [
        (delivery, True),
        (partial(delivery, body=b"{}"), False),
        (partial(delivery, secret=b"another"), False),
        (partial(delivery, age_s=3_600), False),
        (dict, False),
    ],
    ids=["signed", "another body", "another secret", "an hour old", "unsigned"],
)
def test_only_what_leadhand_signed_is_let_in(
    bridge: Any, monkeypatch: pytest.MonkeyPatch, headers: Callable[[], dict[str, str]], accepted: bool
) -> None:
    monkeypatch.setenv("LEADHAND_WEBHOOK_SECRET", "whsec_" + base64.b64encode(SECRET).decode())
    assert bridge.signed_by_leadhand(headers(), BODY) is accepted


def test_only_what_slack_signed_is_let_in(bridge: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_SIGNING_SECRET", "abc")
    at = str(int(time.time()))
    right = hmac.new(b"abc", f"v0:{at}:".encode() + BODY, hashlib.sha256).hexdigest()
    headers = {"x-slack-request-timestamp": at, "x-slack-signature": f"v0={right}"}
    assert bridge.signed_by_slack(headers, BODY)
    assert not bridge.signed_by_slack(headers, BODY + b" ")
