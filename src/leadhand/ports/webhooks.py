"""Webhooks: which events of a run are sent to which address, what a message contains, and how it is signed."""

import base64
import hashlib
import hmac
import json
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

from pydantic import Field

from leadhand.core.events import AnyEvent, ApprovalRequested, Entry, RunFinished
from leadhand.core.run import RunStatus
from leadhand.core.value import Moment, Value, iso

WebhookEvent = Literal["run.finished", "run.asks", "run.failed"]
WEBHOOK_EVENTS: tuple[WebhookEvent, ...] = get_args(WebhookEvent)
MARK = "whsec_"
RETRY_AFTER_S = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Seconds between the attempts to deliver a message, as Standard Webhooks recommends. Then it has failed."""


class WebhookDocument(Value):
    """A webhook, without its secret."""

    webhook_id: str
    url: str
    events: tuple[WebhookEvent, ...]
    every: bool = Field(description="Whether it is about the runs of all keys, or of its own key.")
    by: str
    created_at: Moment


class Webhook(WebhookDocument):
    """An address to which messages are sent, of the key ``key_id`` ("": the user of the machine). ``secret`` signs
    them: ``whsec_`` and base64."""

    secret: str
    key_id: str


class DeliveryDocument(Value):
    """A message. Without ``delivered`` and ``next_at``, it has failed for good."""

    delivery_id: str = Field(description="The `webhook-id` of the message, the same at each attempt.")
    run_id: str
    event: WebhookEvent
    body: str
    created_at: Moment
    next_at: Moment | None = Field(description="When it is sent next.")
    attempts: int = 0
    delivered: bool = False
    code: int | None = Field(
        default=None, description="The HTTP status of the last attempt; null if there was no answer."
    )
    error: str = ""


class Delivery(DeliveryDocument):
    """A message to one webhook."""

    webhook_id: str

    def after(self, now: datetime, code: int | None, error: str) -> "Delivery":
        """Return the delivery after an attempt: ``code`` is the HTTP status, if any, ``error`` why it failed."""
        attempts = self.attempts + 1
        over = not error or attempts > len(RETRY_AFTER_S) or code == 410  # 410: the receiver wants no more
        next_at = None if over else now + timedelta(seconds=RETRY_AFTER_S[attempts - 1])
        return self.evolve(attempts=attempts, delivered=not error, next_at=next_at, code=code, error=error)


def messages(event: AnyEvent) -> tuple[WebhookEvent, ...]:
    """Return the names under which an event of the log is sent."""
    match event:
        case ApprovalRequested():
            return ("run.asks",)
        case RunFinished(status=RunStatus.FAILED):
            return ("run.finished", "run.failed")
        case RunFinished():
            return ("run.finished",)
        case _:
            return ()


def message_body(name: WebhookEvent, run: dict[str, Any], entry: Entry) -> str:
    """Return the body of a message: what happened, and in which run. Its answer and arguments stay with the server."""
    event, data = entry.event, {**run, "seq": entry.seq}
    if isinstance(event, RunFinished):
        data["status"] = event.status.value
    elif isinstance(event, ApprovalRequested):
        asked = event.approval
        data["approval"] = {"call_id": asked.approval_id, "kind": asked.kind, "tool": asked.tool}
    body = {"type": name, "timestamp": iso(entry.at), "data": data}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def signed_headers(secret: str, delivery_id: str, at: datetime, body: str) -> dict[str, str]:
    """Return the headers of Standard Webhooks: https://www.standardwebhooks.com"""
    stamp = str(int(at.timestamp()))
    key = base64.b64decode(secret.removeprefix(MARK))
    digest = hmac.new(key, f"{delivery_id}.{stamp}.{body}".encode(), hashlib.sha256).digest()
    signature = f"v1,{base64.b64encode(digest).decode()}"
    return {"webhook-id": delivery_id, "webhook-timestamp": stamp, "webhook-signature": signature}
