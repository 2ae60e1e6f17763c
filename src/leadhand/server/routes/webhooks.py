"""Add, list and remove webhooks, and show what was sent to them."""

from __future__ import annotations

import base64
import ipaddress
import secrets
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import Field
from yarl import URL

from leadhand.app.export.document import Document
from leadhand.app.steering.access import Scope, allows
from leadhand.core.errors import ToolError
from leadhand.ports.webhooks import WEBHOOK, WEBHOOK_EVENTS, DeliveryDocument, Webhook, WebhookDocument, WebhookEvent
from leadhand.server.access import Principal, require
from leadhand.server.contract import Route
from leadhand.server.problems import invalid, no_such, responses
from leadhand.server.routes.dependencies import Runner, TheService
from leadhand.server.service import Service
from leadhand.server.start_request import Body
from leadhand.server.webhooks import MARK, all_webhooks, is_reachable, store_webhook
from leadhand.tools.web.fetching import checked_url

router = APIRouter(route_class=Route, prefix="/api/webhooks", tags=["webhooks"])
WebhookId = Annotated[str, Path(description="The webhook's id.", examples=["wh_1a2b3c4d"], max_length=100)]


class NewWebhook(Body):
    url: str = Field(
        description="Where messages are sent.",
        examples=["https://example.org/hook"],
        max_length=2_000,
        json_schema_extra={"format": "uri"},
    )
    events: list[WebhookEvent] = Field(list(WEBHOOK_EVENTS), description="What is sent.", min_length=1)


class CreatedWebhook(WebhookDocument):
    """A new webhook. The secret is shown here only."""

    secret: str = Field(description="The key of the signatures: `whsec_` and base64.")


class WebhooksList(Document):
    webhooks: tuple[WebhookDocument, ...]


class DeliveriesList(Document):
    deliveries: tuple[DeliveryDocument, ...]


@router.get("", responses=responses(401, 403, 429, 503))
async def list_webhooks(service: TheService, principal: Runner) -> WebhooksList:
    """The caller's webhooks, newest first; for the scope admin, those of all."""
    return WebhooksList(webhooks=tuple(map(_document, await _own(service, principal))))


@router.post("", status_code=201, responses=responses(401, 403, 413, 422, 429, 503))
async def add_webhook(
    request: Request, body: NewWebhook, service: TheService, principal: Runner, response: Response
) -> CreatedWebhook:
    """Have messages sent about the caller's runs, with read:all about all runs. Only this response has the secret that
    signs them."""
    _check_url(body.url, principal, local=request.app.state.local)
    webhook = Webhook(
        webhook_id=f"wh_{secrets.token_hex(4)}",
        url=body.url,
        secret=MARK + base64.b64encode(secrets.token_bytes(32)).decode(),
        events=tuple(each for each in WEBHOOK_EVENTS if each in body.events),
        key_id=principal.key_id or "",
        every=allows(principal.scopes, Scope.READ_ALL),
        by=principal.name,
        created_at=datetime.now(UTC),
    )
    await store_webhook(service.runtime.database, webhook)
    response.headers["location"] = f"/api/webhooks/{webhook.webhook_id}"
    return CreatedWebhook(**dict(_document(webhook)), secret=webhook.secret)


@router.delete("/{webhook_id}", status_code=204, responses=responses(401, 403, 404, 422, 429, 503))
async def remove_webhook(webhook_id: WebhookId, service: TheService, principal: Runner) -> Response:
    """Remove a webhook with its messages. Nothing more is sent to it."""
    found = await _found(service, principal, webhook_id)
    await service.runtime.database.delete_record(WEBHOOK, found.webhook_id)
    return Response(status_code=204)


@router.get("/{webhook_id}/deliveries", responses=responses(401, 403, 404, 422, 429, 503))
async def list_deliveries(
    webhook_id: WebhookId,
    service: TheService,
    principal: Runner,
    limit: Annotated[int, Query(ge=1, le=500, description="Messages to return.")] = 50,
) -> DeliveriesList:
    """The newest messages to a webhook, with the outcome of each. Only admins see why there was no answer."""
    found = await _found(service, principal, webhook_id)
    sent = await service.runtime.database.deliveries(found.webhook_id, limit)
    if not allows(principal.scopes, Scope.ADMIN):  # the errors of connections say which ports are open in this network
        sent = [each.evolve(error="there was no answer") if each.error and each.code is None else each for each in sent]
    shown = (DeliveryDocument.model_validate(each.model_dump(exclude={"webhook_id"})) for each in sent)
    return DeliveriesList(deliveries=tuple(shown))


async def _own(service: Service, principal: Principal) -> list[Webhook]:
    every = allows(principal.scopes, Scope.ADMIN)
    found = await all_webhooks(service.runtime.database)
    return [each for each in found if every or each.key_id == principal.key_id]


async def _found(service: Service, principal: Principal, webhook_id: str) -> Webhook:
    for each in await _own(service, principal):
        if each.webhook_id == webhook_id:
            return each
    raise no_such(f"there is no webhook {webhook_id}", "See GET /api/webhooks.")


def _document(webhook: Webhook) -> WebhookDocument:
    return WebhookDocument.model_validate(webhook.model_dump(exclude={"secret", "key_id"}))


def _check_url(url: str, principal: Principal, *, local: bool) -> None:
    """Raise Problem for an address that messages cannot go to (422), or only those of an admin (403).

    Names are resolved when a message is sent.
    """
    try:
        host = checked_url(url).host or ""
    except ToolError as error:
        raise invalid(error.failure.message, "Send an http or https URL without a user name.") from error
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return
    if not is_reachable(host, local=local):
        raise invalid(f"{URL(url).host} is not a public address", "Use an address on the internet.")
    if not is_reachable(host, local=False):
        require(principal, Scope.ADMIN)
