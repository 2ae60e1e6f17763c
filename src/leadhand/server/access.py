"""Who may do what: keys, browser sessions, and the person at this machine.

On loopback nobody needs a key: whoever can reach it is the user of the machine. Elsewhere, and with ``--require-key``,
everything but the health checks and the console's own files wants one: as ``Authorization: Bearer lh_…``, or as the
session that a browser was given for it. A session is a random token; its digest is kept in the store's cache, so that
it outlives the server, ends by itself, and ends with its key.
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

from leadhand.app.keys import find_key
from leadhand.domain.access import ApiKey, Scope, allows
from leadhand.ports import ContextStore, KeyStore
from leadhand.server.guard import from_elsewhere
from leadhand.server.problems import Problem
from leadhand.server.rates import Rates

COOKIE = "leadhand_session"
SECURE_COOKIE = "__Host-leadhand_session"
SESSION_S = 12 * 3_600.0
NOTED_EVERY = timedelta(minutes=1)
"""That a key was used is written down at most this often."""
HOW_TO_GET_IN = "Send a key as Authorization: Bearer lh_…; leadhand keys create NAME makes one."


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who is asking: by the name that the log will show. ``key_id`` is None for the user of this machine."""

    name: str
    scopes: tuple[Scope, ...]
    key_id: str | None = None


class Access:
    """Tells who is asking. ``needed``: nobody gets in without a key. ``user`` is the user of this machine."""

    def __init__(self, store: ContextStore, keys: KeyStore, rates: Rates, *, needed: bool, user: str) -> None:
        self.needed = needed
        self.rates = rates
        self._store = store
        self._keys = keys
        self._user = Principal(name=user, scopes=(Scope.ADMIN,))
        self._noted: dict[str, datetime] = {}

    async def who(self, request: Request) -> Principal | None:
        """Who is asking; None: somebody without a key where one is needed, and a page of another site always is.

        Raises Problem (401) for a key or session that is not, or no longer, good: who shows one means to be known.
        """
        scheme, _, presented = request.headers.get("authorization", "").partition(" ")
        if scheme:
            key = await find_key(self._keys, presented.strip()) if scheme.lower() == "bearer" else None
            if key is None:
                raise _unauthorized("this key is not known, or was revoked")
            return await self._noticed(key)
        token = request.cookies.get(SECURE_COOKIE) or request.cookies.get(COOKIE)
        if token and not from_elsewhere(request.headers):  # a session is for our own pages; others show a key
            key = await self._of_session(token)
            if key is not None:
                return await self._noticed(key)
        return None if self.needed or from_elsewhere(request.headers) else self._user

    async def still(self, principal: Principal) -> bool:
        """Whether a key that was good still is."""
        if principal.key_id is None:
            return True
        return any(key.key_id == principal.key_id and key.revoked_at is None for key in await self._keys.keys())

    async def open_session(self, presented: str) -> tuple[ApiKey, str]:
        """A session for a key, and the token that the browser keeps. Raises Problem (401)."""
        key = await find_key(self._keys, presented.strip())
        if key is None:
            raise _unauthorized("this key is not known, or was revoked")
        token = secrets.token_urlsafe(32)
        await self._store.cache(_session(token), key.digest, SESSION_S)
        return key, token

    async def end_session(self, request: Request) -> None:
        """Forget a browser's session, if it has one."""
        for name in (SECURE_COOKIE, COOKIE):
            if token := request.cookies.get(name):
                await self._store.cache(_session(token), None, 0.0)

    async def _of_session(self, token: str) -> ApiKey | None:
        digest = await self._store.cached(_session(token))
        key = await self._keys.key_of(digest) if isinstance(digest, str) else None
        return key if key is not None and key.revoked_at is None else None

    async def _noticed(self, key: ApiKey) -> Principal:
        now = datetime.now(UTC)
        if now - self._noted.get(key.key_id, datetime.min.replace(tzinfo=UTC)) > NOTED_EVERY:
            self._noted[key.key_id] = now
            await self._keys.used_key(key.key_id, now)
        return Principal(name=key.name, scopes=key.scopes, key_id=key.key_id)


def _session(token: str) -> str:
    return f"session:{hashlib.sha256(token.encode()).hexdigest()}"


def _unauthorized(what: str) -> Problem:
    return Problem(HTTPStatus.UNAUTHORIZED, "unauthorized", what, HOW_TO_GET_IN, headers={"www-authenticate": "Bearer"})


_bearer = HTTPBearer(auto_error=False, description="An API key: leadhand keys create NAME")
_cookie = APIKeyCookie(name=COOKIE, auto_error=False, description="A browser's session: POST /api/session")


def require(principal: Principal, scope: Scope) -> None:
    """Raise Problem (403) when somebody may not do this."""
    if allows(principal.scopes, scope):
        return
    granted = ", ".join(each.value for each in principal.scopes) or "nothing"
    raise Problem(
        HTTPStatus.FORBIDDEN,
        "forbidden",
        f"the key {principal.name} may {granted}, and this needs {scope.value}",
        f"Make one that may: leadhand keys create NAME --scope {scope.value}",
    )


def allowed(scope: Scope) -> Callable[..., Awaitable[Principal]]:
    """A dependency: whoever asks must be allowed this; it gives who it is, and keeps them within their rate.

    Raises Problem: 401 without a key, 403 for one that may not, 429 beyond the rate.
    """

    async def check(
        request: Request,
        _key: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
        _session: Annotated[str | None, Security(_cookie)],
    ) -> Principal:
        access: Access = request.app.state.access
        principal = await access.who(request)
        if principal is None:
            raise _unauthorized("a key is needed here")
        request.state.principal = principal.name
        await access.rates.check(principal.key_id)
        require(principal, scope)
        return principal

    return check
