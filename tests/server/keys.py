"""The people of a server that needs keys: who asks for what, over real HTTP."""

from __future__ import annotations

from typing import Any

import httpx2
from server.doors import OVER, Door

from leadhand.app.steering.access import KeyCeilings, Scope
from leadhand.app.steering.keys import make_key
from leadhand.server.app import Doors

LOCKED = Doors(key_needed=True)


class Keys:
    """A server that needs keys, and those of its people: each request names whose key it shows."""

    def __init__(self, door: Door, headers: dict[str, dict[str, str]]) -> None:
        self.door = door
        self._headers = headers
        self.ids: dict[str, str] = {}

    async def add(self, name: str, *scopes: Scope, **ceilings: float) -> None:
        """Make another key, with ceilings of its own."""
        store = self.door.runtime.database
        key, secret = await make_key(store, name, scopes, KeyCeilings.model_validate(ceilings))
        self._headers[name] = {"authorization": f"Bearer {secret}"}
        self.ids[name] = key.key_id

    def header(self, who: str) -> dict[str, str]:
        return self._headers[who]

    async def post(self, who: str, path: str, body: Any) -> httpx2.Response:
        return await self.door.post(path, body, headers=self._headers[who])

    async def get(self, who: str, path: str) -> httpx2.Response:
        return await self.door.get(path, headers=self._headers[who])

    async def started(self, who: str, request: str, **more: Any) -> str:
        response = await self.post(who, "/api/runs", {"request": request, **more})
        assert response.status_code == 202, response.text
        return response.json()["run_id"]

    async def rests(self, run_id: str, *statuses: str) -> dict[str, Any]:
        """The run's document, once it has one of these statuses and nobody drives it any more."""

        async def look() -> dict[str, Any]:
            return (await self.get("admin", f"/api/runs/{run_id}")).json()

        def rests(run: dict[str, Any]) -> bool:
            return run["owner"] is None and run["status"] in (*statuses, *OVER)

        run = await self.door.seen(look, rests)
        assert run["status"] in statuses, run["answer"]
        return run

    async def asked(self, run_id: str) -> list[dict[str, Any]]:
        """The open questions of a run, once it waits for their answers."""
        await self.rests(run_id, "waiting")
        return await self.open(run_id)

    async def open(self, run_id: str) -> list[dict[str, Any]]:
        return (await self.get("admin", f"/api/approvals?run_id={run_id}")).json()["approvals"]

    async def answer(self, card: dict[str, Any], decision: str, **more: Any) -> None:
        response = await self.post("approver", f"/api/approvals/{card['approval_id']}", {"decision": decision, **more})
        assert response.status_code == 200, response.text

    async def events(self, run_id: str) -> list[dict[str, Any]]:
        return (await self.get("admin", f"/api/runs/{run_id}/events?limit=1000")).json()["events"]

    async def seq(self, run_id: str, kind: str) -> int:
        """The number of a run's last event of a kind."""
        return [event["seq"] for event in await self.events(run_id) if event["type"] == kind][-1]


async def keys_of(door: Door) -> Keys:
    return Keys(
        door,
        {
            "runner": await door.key("runner", Scope.RUN),
            "approver": await door.key("approver", Scope.READ_ALL, Scope.APPROVE),
            "both": await door.key("both", Scope.RUN, Scope.APPROVE),
            "admin": await door.key("admin", Scope.ADMIN),
        },
    )
