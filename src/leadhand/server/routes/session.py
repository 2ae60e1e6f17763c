"""Browser sessions: a user logs in with a key and gets a cookie that scripts cannot read."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from pydantic import Field

from leadhand import __version__
from leadhand.app.steering.access import UNBOUNDED, Scope, allows
from leadhand.server.access import COOKIE, SECURE_COOKIE, SESSION_S, Principal
from leadhand.server.contract import Route
from leadhand.server.problems import Problem, responses
from leadhand.server.routes.dependencies import TheAccess
from leadhand.server.schemas import SessionDocument
from leadhand.server.start_request import Body

router = APIRouter(route_class=Route, prefix="/api/session", tags=["session"])


class KeyBody(Body):
    key: str = Field(description="An API key.", examples=["lh_…"], max_length=500)


@router.get("", responses=responses(503))
async def get_session(request: Request, access: TheAccess) -> SessionDocument:
    """The caller's name, scopes and limits. Needs no key."""
    try:
        principal = await access.who(request)
    except Problem:
        principal = None
    return _session(access, principal)


@router.post("", responses=responses(401, 413, 422, 429, 503))
async def open_session(request: Request, body: KeyBody, access: TheAccess, response: Response) -> SessionDocument:
    """Log in with a key. The session lasts 12 hours and ends early if the key is revoked or expires."""
    key, token = await access.open_session(body.key, request)
    # A client that forges this header without TLS gets a cookie that its own browser does not send back.
    secure = "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))
    response.set_cookie(
        SECURE_COOKIE if secure else COOKIE,
        token,
        max_age=int(SESSION_S),
        secure=secure,
        httponly=True,
        samesite="strict",
    )
    return _session(access, Principal(name=key.name, scopes=key.scopes, key_id=key.key_id, ceilings=key.ceilings))


@router.delete("", status_code=204, responses=responses(503))
async def end_session(request: Request, access: TheAccess) -> Response:
    """Log out: delete the session."""
    await access.end_session(request)
    response = Response(status_code=204)
    for name in (SECURE_COOKIE, COOKIE):
        response.delete_cookie(name, secure=name is SECURE_COOKIE, httponly=True, samesite="strict")
    return response


def _session(access: TheAccess, principal: Principal | None) -> SessionDocument:
    scopes = () if principal is None else tuple(each for each in Scope if allows(principal.scopes, each))
    return SessionDocument(
        authenticated=principal is not None,
        needed=access.needed,
        name=None if principal is None else principal.name,
        scopes=scopes,
        ceilings=UNBOUNDED if principal is None else principal.ceilings,
        version=__version__,
    )
