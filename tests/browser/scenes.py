"""Scenes: a server in some state, the path of a page, and how to wait until the page is drawn."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from playwright.async_api import Page, expect
from server.teams import Office, repairing, team

from browser.notes import PATH, Notebook, noise_notes
from browser.serving import Served
from browser.survey import REQUEST, TOWNS, Survey
from leadhand.app.steering.access import Scope
from leadhand.app.steering.keys import make_key
from leadhand.server.app import Doors
from leadhand.testing.scripted_model import ScriptedModel, fails, gives, judges, reviews, says


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


@asynccontextmanager
async def runs_empty(home: Path) -> AsyncGenerator[Scene]:
    async with _office(home) as (served, _):
        yield Scene(served, "/runs", _shows("No runs yet"))


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
async def run_asking(home: Path) -> AsyncGenerator[Scene]:
    async with _office(home) as (served, _):
        run_id = await served.started("pay Ann, wire Bob, measure Paris, measure Oslo")
        await served.open_approvals(run_id, 2)
        await served.until(run_id, "waiting")
        yield Scene(served, f"/runs/{run_id}", _shows("2 approvals needed", "wire"))


@asynccontextmanager
async def run_questioned(home: Path) -> AsyncGenerator[Scene]:
    async with _office(home, models=team(plan=gives({"question": "Which Springfield do you mean?"}))) as (served, _):
        run_id = await served.started("measure Springfield")
        await served.until(run_id, "waiting")
        yield Scene(served, f"/runs/{run_id}", _shows("Your answer"))


@asynccontextmanager
async def run_doubted(home: Path) -> AsyncGenerator[Scene]:
    doubt = {"part": "30 dB", "why": "It was measured.", "evidence": "wo-001.0", "quote": "40 dB"}
    guess = {"part": "quiet", "why": "No result says so.", "verdict": "unconfirmed"}
    answer = "Paris is at 30 dB.\n\nThat is quiet."
    review, corrected = reviews(accept=["wo-001.0"], answer=answer), lambda _: says(answer)
    models = team(review=review, correct=corrected, judge=judges(doubt, guess))
    async with _office(home, check="judge", models=models) as (served, _):
        run_id = await served.started("measure Paris")
        await served.finished(run_id)
        yield Scene(served, f"/runs/{run_id}", _shows("It was measured."))


@asynccontextmanager
async def run_failed(home: Path) -> AsyncGenerator[Scene]:
    refused = fails("unavailable", "http_401", "the provider refused the key: it was revoked")
    async with _office(home, models=ScriptedModel(plan=refused)) as (served, _):
        run_id = await served.started("measure Paris")
        await served.finished(run_id)
        yield Scene(served, f"/runs/{run_id}", _shows("the provider refused the key"))


@asynccontextmanager
async def run_answered(home: Path) -> AsyncGenerator[Scene]:
    survey = Survey()
    survey.release()
    async with Served(home, models=survey.models, tools=survey.tools, approve="auto") as served:
        run_id = await served.started(REQUEST)
        await served.finished(run_id)
        yield Scene(served, f"/runs/{run_id}", _shows("Sources", "Missing ("))


@asynccontextmanager
async def run_repaired(home: Path) -> AsyncGenerator[Scene]:
    async with _office(home, models=repairing("wo-001.1")) as (served, _):
        run_id = await served.started("measure Paris, measure Nice")
        await served.until(run_id, "succeeded")
        yield Scene(served, f"/runs/{run_id}?tab=order", _shows("Review: retry, once more"))


@asynccontextmanager
async def run_event(home: Path) -> AsyncGenerator[Scene]:
    async with _office(home) as (served, _):
        run_id = await served.started("measure Paris, measure Oslo")
        await served.finished(run_id)
        seq = (await served.event(run_id, "tool_call_returned"))["seq"]
        yield Scene(served, f"/runs/{run_id}?seq={seq}", _shows(f"Event {seq}", '"tool_call_returned"'))


@asynccontextmanager
async def run_todos(home: Path) -> AsyncGenerator[Scene]:
    async with notes_live(home) as (served, run_id):
        yield Scene(served, f"/runs/{run_id}?tab=todos", _shows("Compare the towns"))


@asynccontextmanager
async def run_artifacts(home: Path) -> AsyncGenerator[Scene]:
    async with notes_live(home) as (served, run_id):
        yield Scene(served, f"/runs/{run_id}?tab=artifacts", _shows(PATH))


@asynccontextmanager
async def notes_live(home: Path) -> AsyncGenerator[tuple[Served, str]]:
    """A run of the notes flow that waits in the middle."""
    notebook = Notebook()
    async with Served(home, models=notebook.models, tools=notebook.tools, flows=[noise_notes]) as served:
        run_id = await served.started("Noise at night", flow="notes")
        await served.event(run_id, "artifact_written")
        yield served, run_id
        notebook.gate.set()


@asynccontextmanager
async def approvals(home: Path) -> AsyncGenerator[Scene]:
    async with _office(home, approval_timeout=3_600.0) as (served, _):
        for request in ("pay Ann", "wire Bob, measure Paris", "pay Marie-Christine-de-la-Tour-d’Auvergne"):
            await served.open_approvals(await served.started(request))
        yield Scene(served, "/approvals", _shows("Marie-Christine", "wire"))


@asynccontextmanager
async def approvals_empty(home: Path) -> AsyncGenerator[Scene]:
    async with _office(home) as (served, _):
        yield Scene(served, "/approvals", _shows("No open approvals."))


@asynccontextmanager
async def tools(home: Path) -> AsyncGenerator[Scene]:
    async with _office(home) as (served, _):
        await served.finished(await served.started("measure Oslo"))
        yield Scene(served, "/tools", _shows("Measure the noise at a place."))


@asynccontextmanager
async def tool(home: Path) -> AsyncGenerator[Scene]:
    async with _office(home, tools=None) as (served, _):
        yield Scene(served, "/tools/directions_tool", _shows("Run tool"))


@asynccontextmanager
async def system(home: Path) -> AsyncGenerator[Scene]:
    async with _office(home) as (served, _):
        await served.finished(await served.started("measure Paris"))
        await served.event(await served.started("measure Rome"), "tool_call_began")
        yield Scene(served, "/system", _shows("sqlite"))


@asynccontextmanager
async def login(home: Path) -> AsyncGenerator[Scene]:
    async with _office(home, doors=Doors(key_needed=True)) as (served, _):
        await make_key(served.runtime.database, "ann", (Scope.READ,))
        yield Scene(served, "/runs", _shows("API key"))


@asynccontextmanager
async def no_such_run(home: Path) -> AsyncGenerator[Scene]:
    async with _office(home) as (served, _):
        yield Scene(served, "/runs/run_nowhere", _shows("Run not found"))


@asynccontextmanager
async def no_such_page(home: Path) -> AsyncGenerator[Scene]:
    async with _office(home) as (served, _):
        yield Scene(served, "/nowhere/at/all", _shows("Page not found"))


SCENES: dict[str, Play] = {
    "runs-empty": runs_empty,
    "runs-full": runs_full,
    "run-live": run_live,
    "run-asking": run_asking,
    "run-questioned": run_questioned,
    "run-doubted": run_doubted,
    "run-failed": run_failed,
    "run-answered": run_answered,
    "run-repaired": run_repaired,
    "run-event": run_event,
    "run-todos": run_todos,
    "run-artifacts": run_artifacts,
    "approvals": approvals,
    "approvals-empty": approvals_empty,
    "tools": tools,
    "tool": tool,
    "system": system,
    "login": login,
    "no-such-run": no_such_run,
    "no-such-page": no_such_page,
}
