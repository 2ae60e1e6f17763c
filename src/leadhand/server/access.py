"""Authentication and authorization: keys, browser sessions, and the user of this machine.

On loopback no key is needed: every client is the user of the machine. On other addresses, and with ``--require-key``,
everything except the health checks and the console's own files needs a key: as ``Authorization: Bearer lh_…``, or as a
browser session opened with one. A session is a random token. Its digest is in the store's cache, so it outlives the
server, expires by itself, and ends with its key.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Annotated

from fastapi import Request, Security
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer

from leadhand.app.steering.access import UNBOUNDED, ApiKey, KeyCeilings, Scope, allows
from leadhand.app.steering.keys import all_keys, find_key, key_of, note_use
from leadhand.core.errors import no_such_run
from leadhand.server.guard import from_elsewhere
from leadhand.server.problems import Problem
from leadhand.server.rates import Rates
from leadhand.stores.sql_store import SqlContextStore

COOKIE = "leadhand_session"
SECURE_COOKIE = "__Host-leadhand_session"
SESSION_S = 12 * 3_600.0
NOTED_EVERY = timedelta(minutes=1)
"""The shortest time between two updates of a key's last use."""
HOW_TO_GET_IN = "Send a key as Authorization: Bearer lh_…; create one with: leadhand keys create NAME"


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """An authenticated client, by the name that the log shows. ``key_id`` is None for the user of this machine."""

    name: str
    scopes: tuple[Scope, ...]
    key_id: str | None = None
    ceilings: KeyCeilings = UNBOUNDED

    @property
    def reads_of(self) -> str | None:
        """The key whose runs the principal may read, as a filter of lists: None for the runs of all."""
        return None if allows(self.scopes, Scope.READ_ALL) else self.key_id or ""

    def may_read(self, key_id: str) -> bool:
        """Whether the principal may read the runs of this key."""
        return self.reads_of in (None, key_id)


class Access:
    """Authenticates clients. ``needed``: every client needs a key. ``user`` is the user of this machine."""

    def __init__(self, store: SqlContextStore, rates: Rates, *, needed: bool, user: str) -> None:
        self.needed = needed
        self.rates = rates
        self._store = store
        self.user = Principal(name=user, scopes=(Scope.ADMIN,))
        """The user of this machine."""
        self._noted: dict[str, datetime] = {}

    async def who(self, request: Request) -> Principal | None:
        """Return the authenticated principal, or None if a key is required and missing.

        Pages of other sites always need a key. Raises Problem for an invalid or revoked key or session: 401, or 429
        if this address has sent too many.
        """
        scheme, _, presented = request.headers.get("authorization", "").partition(" ")
        if scheme:
            secret = presented if scheme.lower() == "bearer" else ""
            return await self._noticed(await self._of_secret(secret, request))
        token = request.cookies.get(SECURE_COOKIE) or request.cookies.get(COOKIE)
        if token and not from_elsewhere(request.headers):  # sessions are for our own pages; other sites need a key
            key = await self._of_session(token)
            if key is not None:
                return await self._noticed(key)
        return None if self.needed or from_elsewhere(request.headers) else self.user

    async def check_run(self, principal: Principal, run_id: str, scope: Scope) -> None:
        """Check that a principal who has the scope may use it on this run: a run belongs to the key that started it.

        Raises NoSuchRun for a run that the principal may not read, Problem (403) for one that it may not steer.
        """
        if allows(principal.scopes, Scope.ADMIN):
            return
        key_id = (await self._store.run(run_id)).key_id
        if not principal.may_read(key_id):
            raise no_such_run(run_id)
        if scope is Scope.RUN and key_id != principal.key_id:
            raise Problem(
                HTTPStatus.FORBIDDEN,
                "forbidden",
                f"run {run_id} does not belong to the key {principal.name}",
                "Use the key that started it, or one with the scope admin.",
            )

    async def still(self, principal: Principal) -> bool:
        """Whether a key is still valid."""
        if principal.key_id is None:
            return True
        return any(key.key_id == principal.key_id and key.revoked_at is None for key in await all_keys(self._store))

    async def open_session(self, presented: str, request: Request) -> tuple[ApiKey, str]:
        """Open a session for a key; return the key and the browser's token. Raises Problem (401, 429)."""
        key = await self._of_secret(presented, request)
        await self.rates.check(key.key_id)  # each session is stored
        token = secrets.token_urlsafe(32)
        await self._store.cache(_session(token), key.digest, SESSION_S)
        return key, token

    async def end_session(self, request: Request) -> None:
        """End a browser's session, if it has one."""
        for name in (SECURE_COOKIE, COOKIE):
            if token := request.cookies.get(name):
                await self._store.cache(_session(token), None, 0.0)

    async def _of_secret(self, presented: str, request: Request) -> ApiKey:
        key = await find_key(self._store, presented.strip())
        if key is None:  # only wrong keys are counted: behind a proxy, all clients share an address
            await self.rates.check_wrong_key(request.client.host if request.client is not None else "unknown")
            raise _unauthorized("this key is unknown or revoked")
        return key

    async def _of_session(self, token: str) -> ApiKey | None:
        digest = await self._store.cached(_session(token))
        key = await key_of(self._store, digest) if isinstance(digest, str) else None
        return key if key is not None and key.revoked_at is None else None

    async def _noticed(self, key: ApiKey) -> Principal:
        now = datetime.now(UTC)
        if now - self._noted.get(key.key_id, datetime.min.replace(tzinfo=UTC)) > NOTED_EVERY:
            self._noted[key.key_id] = now
            await note_use(self._store, key, now)
        return Principal(name=key.name, scopes=key.scopes, key_id=key.key_id, ceilings=key.ceilings)


def _session(token: str) -> str:
    return f"session:{hashlib.sha256(token.encode()).hexdigest()}"


def _unauthorized(what: str) -> Problem:
    return Problem(HTTPStatus.UNAUTHORIZED, "unauthorized", what, HOW_TO_GET_IN, headers={"www-authenticate": "Bearer"})


_bearer = HTTPBearer(auto_error=False, description="An API key: leadhand keys create NAME")
_cookie = APIKeyCookie(name=COOKIE, auto_error=False, description="A browser's session: POST /api/session")


def require(principal: Principal, scope: Scope) -> None:
    """Raise Problem (403) if the principal lacks the scope."""
    if allows(principal.scopes, scope):
        return
    granted = ", ".join(each.value for each in principal.scopes) or "nothing"
    raise Problem(
        HTTPStatus.FORBIDDEN,
        "forbidden",
        f"the key {principal.name} has the scope {granted}; this needs {scope.value}",
        f"Create a key with that scope: leadhand keys create NAME --scope {scope.value}",
    )


def allowed(scope: Scope, *, on_run: Scope | None = None) -> Callable[..., Awaitable[Principal]]:
    """A dependency that returns the principal, who must have the scope and stay within the rate limit.

    If the path names a run, the principal must have the scope for that run, or ``on_run`` instead. Raises NoSuchRun,
    and Problem: 401 without a key, 403 without the scope, 429 above the rate limit.
    """

    async def check(
        request: Request,
        _key: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
        _session: Annotated[str | None, Security(_cookie)],
    ) -> Principal:
        access: Access = request.app.state.access
        principal = await access.who(request)
        if principal is None:
            raise _unauthorized("an API key is required")
        request.state.principal = principal.name
        require(principal, scope)
        request.state.limits = await access.rates.check(principal.key_id)
        run_id = request.path_params.get("run_id")
        if run_id is not None:
            await access.check_run(principal, run_id, on_run or scope)
        return principal

    return check
