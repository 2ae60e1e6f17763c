"""Create, list and revoke API keys."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import Field

from leadhand.app.export.document import Document
from leadhand.app.steering.access import KeyCeilings, KeyDocument, Scope, allows
from leadhand.app.steering.keys import LONGEST_NAME, USUAL_SCOPES, all_keys, make_key, named_key, revoke
from leadhand.core.errors import UsageError
from leadhand.server.access import Principal
from leadhand.server.contract import Route
from leadhand.server.problems import Problem, no_such, responses
from leadhand.server.routes.dependencies import Admin, TheService
from leadhand.server.start_request import Body

router = APIRouter(route_class=Route, prefix="/api/keys", tags=["keys"])
KeyId = Annotated[str, Path(description="The key's id.", examples=["1a2b3c4d"], max_length=100)]
Count = Annotated[int, Field(ge=1, le=10_000)]
Dollars = Annotated[float | None, Field(ge=0, le=1_000_000)]


class NewKey(Body):
    """A key to create. A limit that is missing or null is as the server has it."""

    name: str = Field(description="Who or what will use the key.", min_length=1, max_length=LONGEST_NAME)
    scopes: list[Annotated[Scope, Field(strict=False)]] = Field(
        list(USUAL_SCOPES), description="What its holder may do.", min_length=1
    )
    budget: Dollars = Field(None, description="Spending limit of each run, in US dollars.")
    budget_per_day: Dollars = Field(None, description="Spending limit of all its runs on one day (UTC).")
    budget_total: Dollars = Field(None, description="Spending limit of all its runs together.")
    max_runs: Count | None = Field(None, description="Maximum number of its runs at once.")
    max_workers: Count | None = Field(None, description="Maximum steps of one run that run at once.")
    max_running_steps: Count | None = Field(
        None, description="Maximum steps of all its runs that run at once, on all hosts."
    )

    def ceilings(self, principal: Principal) -> KeyCeilings:
        """Return the limits of the key, at most those of the principal. Raises Problem (403)."""
        own = principal.ceilings
        if any(
            each is not None for each in (own.budget_per_day, own.budget_total, own.max_runs, own.max_running_steps)
        ):
            what = f"the key {principal.name} has a limit for all its runs together, which a new key would not share"
            raise _forbidden(what, "Create the key with another one, or on the server: leadhand keys create NAME")
        wanted = KeyCeilings.model_validate(self.model_dump(include={*KeyCeilings.model_fields}))
        if not any(allows((scope,), Scope.RUN) for scope in self.scopes):
            return wanted
        most = {"budget": own.budget, "max_workers": own.max_workers}
        asked = {"budget": wanted.budget, "max_workers": wanted.max_workers}
        for name, limit in most.items():
            if limit is not None and (asked[name] or 0) > limit:
                raise _forbidden(f"{name} is above that of the key {principal.name}", f"Send {limit:g} or less.")
        return wanted.evolve(**{name: most[name] if each is None else each for name, each in asked.items()})


class CreatedKey(KeyDocument):
    """A new key. The secret is shown here only."""

    key: str


class KeysList(Document):
    keys: tuple[KeyDocument, ...]


@router.get("", responses=responses(401, 403, 429, 503))
async def list_keys(service: TheService, _: Admin) -> KeysList:
    """All API keys, newest first, including revoked ones."""
    return KeysList(keys=tuple(key.shown for key in await all_keys(service.runtime.database)))


@router.post("", status_code=201, responses=responses(401, 403, 409, 413, 422, 429, 503))
async def create_key(body: NewKey, service: TheService, principal: Admin, response: Response) -> CreatedKey:
    """Create an API key. Only this response contains its secret. No key grants more than the caller's."""
    ceilings, store = body.ceilings(principal), service.runtime.database
    if any(key.name == " ".join(body.name.split()) and key.revoked_at is None for key in await all_keys(store)):
        raise UsageError(f"a key named {body.name} exists", "Choose another name, or revoke that key first.")
    key, secret = await make_key(store, body.name, body.scopes, ceilings)
    response.headers["location"] = f"/api/keys/{key.key_id}"
    return CreatedKey.model_validate({**dict(key.shown), "key": secret})


@router.delete("/{key_id}", responses=responses(401, 403, 404, 422, 429, 503))
async def revoke_key(key_id: KeyId, service: TheService, _: Admin) -> KeyDocument:
    """Revoke an API key: it grants no access from now on, and its sessions and streams end."""
    store = service.runtime.database
    try:
        found = await named_key(store, key_id)
    except UsageError as error:
        raise no_such(error.what, "See GET /api/keys.") from error
    if found.key_id != key_id:  # a part of an id is for people at a terminal
        raise no_such(f"there is no key {key_id}", "See GET /api/keys.")
    return (await revoke(store, found)).shown


def _forbidden(what: str, how: str) -> Problem:
    return Problem(HTTPStatus.FORBIDDEN, "forbidden", what, how)
