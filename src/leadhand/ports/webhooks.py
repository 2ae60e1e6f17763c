"""Webhooks: which events of a run are sent to which address, and what a message contains."""

import json
from typing import Any, Literal, get_args

from pydantic import Field

from leadhand.core.events import AnyEvent, ApprovalRequested, Entry, RunFinished
from leadhand.core.run import RunStatus
from leadhand.core.value import Moment, Value, iso

WebhookEvent = Literal["run.finished", "run.asks", "run.failed"]
WEBHOOK_EVENTS: tuple[WebhookEvent, ...] = get_args(WebhookEvent)
WEBHOOK = "webhook"
"""The kind of the records of webhooks, whose key is the id."""


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
