"""Scenes: a server in some state, the path of a page, and how to wait until the page is drawn."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from playwright.async_api import Page, expect
from server.teams import Office, repairing, team

from browser.serving import Served
from browser.survey import REQUEST, TOWNS, Survey
from leadhand.app.steering.access import Scope
from leadhand.app.steering.keys import make_key
from leadhand.server.app import Doors
from leadhand.testing.scripted_model import ScriptedModel, fails


class Scene(NamedTuple):
    """A page of ``served`` at ``path``; ``ready`` waits until the page is drawn."""

    served: Served
    path: str
    ready: Callable[[Page], Awaitable[None]]


Play = Callable[[Path], Any]
"""Set up a scene for the length of a block, in an empty home."""


def _shows(*texts: str) -> Callable[[Page], Awaitable[None]]:
    async def ready(page: Page) -> None:
        for text in texts:
            await expect(page.get_by_text(text).first).to_be_visible()

    return ready


@asynccontextmanager
async def _office(home: Path, **options: Any) -> AsyncGenerator[tuple[Served, Office]]:
    office = Office()
    given: dict[str, Any] = {"models": team(), "tools": office.tools, **options}
    try:
        async with Served(home, **given) as served:
            yield served, office
            office.gate.set()
    finally:
        office.gate.set()


class Simple(NamedTuple):
    """A scene of an office with at most one run: its page, what the page shows, and the run."""

    path: str
    texts: tuple[str, ...]
    request: str = ""
    until: tuple[str, ...] = ()
    """The statuses of the run to wait for; without any, until it is over."""
    options: dict[str, Any] = {}

    @asynccontextmanager
    async def __call__(self, home: Path) -> AsyncGenerator[Scene]:
        async with _office(home, **self.options) as (served, _):
            run_id = await served.started(self.request) if self.request else ""
            if run_id:
                await (served.until(run_id, *self.until) if self.until else served.finished(run_id))
            yield Scene(served, self.path.replace("RUN", run_id), _shows(*self.texts))


@asynccontextmanager
async def runs_full(home: Path) -> AsyncGenerator[Scene]:
    async with _office(home) as (served, _):
        over = [
            await served.started(request) for request in ("measure Paris, measure Lyon", "measure Lyon, measure Oslo")
        ]
        over.append(await served.started("measure Oslo"))
        for run_id in over:
            await served.finished(run_id)
        await served.event(await served.started("measure Nice, measure Rome"), "tool_call_returned")
        cancelled = await served.started("measure Metz, measure Rome, measure Dijon")
        await served.event(cancelled, "tool_call_returned")
        await served.post(f"/api/runs/{cancelled}/cancel", {})
        paused = await served.started("measure Brest, measure Rome")
        await served.event(paused, "tool_call_returned")
        await served.post(f"/api/runs/{paused}/pause", {"reason": "for the night"})
        await served.open_approvals(await served.started("pay Ann, measure Paris"))
        long = "measure " + ", measure ".join(f"Town-number-{n}-of-a-very-long-list" for n in range(12))
        await served.finished(await served.started(long))
        yield Scene(served, "/runs", _shows("measure Brest", "measure Town-number-0", "waits for you"))


@asynccontextmanager
async def run_live(home: Path) -> AsyncGenerator[Scene]:
    async with surveyed(home) as (served, run_id):

        async def ready(page: Page) -> None:
            workers = page.get_by_role("listbox", name="Workers").get_by_role("option")
            await expect(workers).to_have_count(len(TOWNS) + 1)  # a retried subtask keeps its line
            await expect(page.get_by_role("heading", name="Approval needed")).to_be_visible()
            earlier = page.get_by_text("Answer 1")
            await expect(earlier).to_be_visible()
            if not await page.get_by_text("Paris is the loudest").is_visible():
                await earlier.click()

        yield Scene(served, f"/runs/{run_id}?first=problems&show=problems,tools", ready)


@asynccontextmanager
async def surveyed(home: Path) -> AsyncGenerator[tuple[Served, str]]:
    """The server and the run of a survey that is being retried."""
    survey = Survey()
    try:
        async with Served(home, models=survey.models, tools=survey.tools) as served:
            run_id = await served.started(REQUEST)
            (approval,) = await served.open_approvals(run_id)
            reason = "not before all towns are known"
            await served.post(f"/api/approvals/{approval['approval_id']}", {"decision": "deny", "reason": reason})
            await served.finished(run_id)
            survey.reach_the_south()
            await served.post(f"/api/runs/{run_id}/retry", {})
            await survey.halfway.wait()
            await served.open_approvals(run_id)
            yield served, run_id
            survey.release()
    finally:
        survey.release()


@asynccontextmanager
async def run_answered(home: Path) -> AsyncGenerator[Scene]:
    survey = Survey()
    survey.release()
    async with Served(home, models=survey.models, tools=survey.tools, approve="auto") as served:
        run_id = await served.started(REQUEST)
        await served.finished(run_id)
        yield Scene(served, f"/runs/{run_id}", _shows("Sources", "Missing ("))


@asynccontextmanager
async def approvals(home: Path) -> AsyncGenerator[Scene]:
    async with _office(home, approval_timeout=3_600.0) as (served, _):
        for request in ("pay Ann", "wire Bob, measure Paris", "pay Marie-Christine-de-la-Tour-d’Auvergne"):
            await served.open_approvals(await served.started(request))
        yield Scene(served, "/approvals", _shows("Marie-Christine", "wire"))


@asynccontextmanager
async def login(home: Path) -> AsyncGenerator[Scene]:
    async with _office(home, doors=Doors(key_needed=True)) as (served, _):
        await make_key(served.runtime.database, "ann", (Scope.READ,))
        yield Scene(served, "/runs", _shows("API key"))


REFUSED = fails("unavailable", "http_401", "the provider refused the key: it was revoked")
SCENES: dict[str, Play] = {
    "runs-empty": Simple("/runs", ("No runs yet",)),
    "runs-full": runs_full,
    "run-live": run_live,
    "run-asking": Simple(
        "/runs/RUN", ("2 approvals needed", "wire"), "pay Ann, wire Bob, measure Paris, measure Oslo", ("waiting",)
    ),
    "run-failed": Simple(
        "/runs/RUN", ("the provider refused the key",), "measure Paris", options={"models": ScriptedModel(plan=REFUSED)}
    ),
    "run-answered": run_answered,
    "run-repaired": Simple(
        "/runs/RUN?tab=order", ("Review: retry, once more",), "measure Paris, measure Nice", ("succeeded",),
        {"models": repairing("wo-001.1")},
    ),
    "run-event": Simple("/runs/RUN?seq=3", ("Event 3",), "measure Paris, measure Oslo"),
    "approvals": approvals,
    "tools": Simple("/tools", ("Measure the noise at a place.",)),
    "tool": Simple("/tools/directions_tool", ("Run tool",), options={"tools": None}),
    "login": login,
    "no-such-run": Simple("/runs/run_nowhere", ("Run not found",)),
    "no-such-page": Simple("/nowhere/at/all", ("Page not found",)),
}  # fmt: skip
