"""Golden runs of the built-in flows with a scripted model: their events and their documents, which change on purpose.

``UPDATE_GOLDEN=1 uv run pytest -n 0 tests/golden_runs`` writes the files of this folder again.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from flows.judges import Wrong, judge
from flows.report import reports
from flows.research import runs as researching
from golden import check_golden, normalized
from leads import leadhand_of

from leadhand import FailureClass, Limits, ToolError, ToolReturn, tool
from leadhand.app.project.manifest import load_project
from leadhand.testing.scripted_model import ScriptedModel, calls, gives, plans, reviews, says, subtask

HERE = Path(__file__).parent
WIDTH = 140
VOLATILE = {r'"e-\d+"': '"e-N"', r'("last_seq": )\d+': r"\1N"}
REQUEST = "How loud is it in Paris, Oslo and Rome?"
REVISE = {"verdict": "NEEDS_REVISION", "findings": [{"claim": 5, "problem": "once is enough"}]}
TWICE = f"{reports.SOUND} {reports.PASSAGES['bbbbbbbb.1']} [p2]"
ORCHESTRATOR = "---\nname: orchestrator\ntools: [measure]\ntoolsets: [dynamic_workers]\n---\nMake a worker.\n"


@tool(retries=0)
async def measure(place: str) -> ToolReturn:
    """Measure the noise at a place."""
    if place == "Oslo":
        raise ToolError("the microphone is broken", type="broken", class_=FailureClass.UNAVAILABLE)
    return ToolReturn(summary=f"{place}: 40 dB", raw={"place": place, "dB": 40})


def work_order(_: Path) -> tuple[ScriptedModel, dict[str, Any]]:
    """Three look-ups, of which one fails and is repaired by a second order."""
    first = [subtask(f"measure_{place.lower()}", "measure", place=place) for place in ("Paris", "Oslo", "Rome")]
    instead = {"wo-001.1": subtask("measure_bergen", "measure", place="Bergen")}
    answer = "Paris: 40 dB. Bergen, near Oslo: 40 dB. Rome: 40 dB."
    judged = [reviews(accept=["wo-001.0", "wo-001.2"], replan=instead), reviews(accept=["wo-002.0"], answer=answer)]
    scripted = ScriptedModel(plan=[plans(*first)], review=judged, compose=says(answer))
    return scripted, {"flow": "work-order", "tools": [measure]}


def judged(_: Path) -> tuple[ScriptedModel, dict[str, Any]]:
    """An answer that leaves out a part, which is ordered, and contradicts a result, which is corrected at the end."""
    texts = "Paris: 50 dB.", "Paris: 50 dB. Rome: 40 dB."
    scripted = ScriptedModel(plan=[plans(subtask("measure_paris", "measure", place="Paris"))])
    judging = judge(Wrong("50 dB", "wo-001.0", "40 dB"), missing=({"part": "Rome", "request": "Rome"},))
    scripted.on(lambda request: request.worker == "judge", always=judging)
    written = (reviews(accept=[f"wo-00{n}.0"], answer=text) for n, text in enumerate(texts, start=1))
    scripted.on(lambda request: request.worker == "review", *written)
    replies = (gives({"missing": [{"n": 1, "reason": "not measured"}]}), gives({"missing": []}))
    scripted.on(lambda request: request.worker == "confirm", *replies)
    scripted.on(lambda request: request.worker == "work", calls("measure", place="Rome"), says("Rome: 40 dB."))
    scripted.on(lambda request: request.worker == "compose", *(says(text.replace("50", "40")) for text in texts))
    return scripted, {"flow": "work-order", "tools": [measure], "check": "judge"}


def report(_: Path) -> tuple[ScriptedModel, dict[str, Any]]:
    """Two researchers, a draft, one revision."""
    scripted = reports.model(review_1=REVISE, writer=reports.in_turn(TWICE, reports.SOUND))
    return scripted, {"flow": "report", "tools": [reports.search]}


def research(_: Path) -> tuple[ScriptedModel, dict[str, Any]]:
    """A lead, two subagents, and a file of each."""
    return researching.model(), {"flow": "research", "tools": [researching.search]}


def solo(folder: Path) -> tuple[ScriptedModel, dict[str, Any]]:
    """A worker of a project that makes another worker and calls it."""
    (folder / "orchestrator.worker").write_text(ORCHESTRATOR)
    (folder / "leadhand.toml").write_text('worker_files = ["orchestrator.worker"]\ngenerated_workers_dir = "made"\n')
    scripted = ScriptedModel()
    poet = {"name": "poet", "instructions": "Write verse.", "description": "Writes."}
    made = calls("worker_create", **poet), calls("worker_call", worker="poet", input="Write."), says("A verse.")
    scripted.on(lambda request: request.worker == "orchestrator", *made)
    scripted.on(lambda request: request.worker == "poet", says("A verse."))
    project = {"project": load_project(folder), "tools": [measure], "approve": "auto"}
    return scripted, {"flow": "solo", "options": {"worker": "orchestrator"}, **project}


def in_lines(value: Any, indent: str = "") -> str:
    """Return JSON in which what fits in a line is on one."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(indent + flat) < WIDTH or not isinstance(value, dict | list):
        return flat
    inner = f"{indent}  "
    if isinstance(value, list):
        return f"[\n{inner}" + f",\n{inner}".join(in_lines(each, inner) for each in value) + f"\n{indent}]"
    members = (f"{json.dumps(name)}: {in_lines(each, inner)}" for name, each in value.items())
    return f"{{\n{inner}" + f",\n{inner}".join(members) + f"\n{indent}}}"


@pytest.mark.parametrize("script", [work_order, judged, report, research, solo])
async def test_a_run_is_the_golden_one(script: Any, tmp_path: Path) -> None:
    scripted, settings = script(tmp_path)
    flow, options = settings.pop("flow"), settings.pop("options", {})
    settings = {"check": "exact", **settings}
    lead = leadhand_of(models=scripted, home=tmp_path / "home", limits=Limits(max_workers=1), **settings)
    async with lead:
        run = await lead.start(REQUEST, flow=flow, **options)
        answer = await run.answer()
        events = [entry async for entry in run]
    scripted.assert_done()
    subjects: dict[str, list[str]] = {}
    for entry in events:
        subjects.setdefault(entry.event.subject or "run", []).append(entry.event.type)
    lines = [f"{subject}: {' '.join(types)}" for subject, types in subjects.items()]
    name = script.__name__.replace("_", "-")
    check_golden(HERE / f"{name}.events.txt", "\n".join(lines))
    volatile = {re.escape(str(tmp_path)): "FOLDER", **VOLATILE}
    check_golden(HERE / f"{name}.document.json", normalized(in_lines(answer.document), volatile))
