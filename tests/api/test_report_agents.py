"""Stages of reports that Python classes carry out."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from flows.judges import briefs
from flows.report.reports import lead, model
from processes import start_async

import leadhand
from leadhand import ConfigurationError, Leadhand, Run, RunStatus, UsageError
from leadhand.app.project.flows import FlowRegistry
from leadhand.app.project.source_files import workers_and_agents
from leadhand.core import events as ev
from leadhand.report import Agent, AgentResult, Task, Verdict

TOPIC = "Heat pumps in old houses"


class FactChecker(Agent):
    """Check the facts."""

    seen: list[str] = []

    def __init__(self) -> None:
        self.count = 0

    async def run(self, task: Task) -> AgentResult:
        self.count += 1
        assert self.count == 1, "an instance was used twice"
        assert task.topic == TOPIC
        assert task.draft
        before = [(each.agent, each.message) for each in task.events]
        assert before[0][0] == "planner"
        assert before[-1][0] in ("writer", "reviewer", "fact-checker")
        assert (("fact-checker", "checking draft 1") in before) is (task.revisions > 0)
        self.emit(f"checking draft {task.revisions + 1}")
        if task.revisions:
            return AgentResult(verdict=Verdict.APPROVED)
        return AgentResult(verdict=Verdict.NEEDS_REVISION, findings=["say more"])


async def reported(home: Path, *agents: Any, **options: Any) -> tuple[Run, dict[str, Any], list[str]]:
    async with Leadhand(model="offline", workers=agents, home=home) as lead:
        given = {"agents": list(lead.agents), **options}
        run = await lead.start(TOPIC, flow="report", **given)
        await run.answer()
        entries = await (await lead.runtime()).store.read(run.run_id)
        notes = [each.event.message for each in entries if isinstance(each.event, ev.NoteEmitted)]
        return run, await run.document(), notes


async def test_a_stage_that_asks_for_a_revision_gets_one_and_every_attempt_an_instance_of_its_own(home: Path):
    run, document, notes = await reported(home, FactChecker, review=False)
    assert [note for note in notes if note.startswith("checking")] == ["checking draft 1", "checking draft 2"]
    assert document["task"]["revisions"] == 1
    assert [each["name"] for each in document["task"]["stages"]] == ["planner", "researcher", "writer", "fact-checker"]
    worker = run.state.worker("fact-checker")
    assert worker is not None
    assert (worker.loop, worker.instructions) == ("code", "Check the facts.")
    assert worker.code == f"{__file__}:FactChecker"
    assert worker.fingerprint == workers_and_agents([FactChecker])[1]["fact-checker"].fingerprint != ""
    (stage,) = run.state.definition.options["agents"]
    assert (stage["agent"], stage["after"]) == ("fact-checker", None)


class Polisher(Agent):
    after = "reviewer"
    gives = ("draft",)

    async def run(self, task: Task) -> AgentResult:
        return AgentResult(updates={"draft": f"{task.draft}\n\nPolished."})


class Crashing(Agent):
    async def run(self, task: Task) -> AgentResult:
        raise ZeroDivisionError("by zero")


class Failing(Agent):
    async def run(self, task: Task) -> AgentResult:
        return AgentResult(ok=False, error="closed on Sundays")


class Wrong(Agent):
    async def run(self, task: Task) -> Any:
        return {"verdict": "APPROVED"}


class Misspelt(Agent):
    async def run(self, task: Task) -> AgentResult:
        return AgentResult(updates={"drafts": "x"})  # pyright: ignore[reportArgumentType]


async def test_what_a_stage_updates_is_in_the_report(home: Path):
    _, document, _ = await reported(home, Polisher)
    assert "Polished." in document["task"]["final_report"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent", "kind", "said"),
    [
        (Crashing, "exception", "ZeroDivisionError: by zero (test_report_agents.py:"),
        (Failing, "agent_error", "closed on Sundays"),
        (Wrong, "wrong_result", "AgentResult"),
        (Misspelt, "exception", "AgentResult"),
    ],
)
async def test_a_stage_that_fails_costs_itself_and_the_report_says_so(home: Path, agent: Any, kind: str, said: str):
    (name,) = workers_and_agents([agent])[1]
    run, document, _ = await reported(home, agent, agents=[{"name": name, "after": "writer"}])
    failed = next(each for each in run.state.steps.values() if each.step.worker == name)
    assert failed.failure is not None
    assert failed.failure.type == kind
    assert said in failed.failure.message
    assert document["status"] == "partial"
    assert document["task"]["final_report"]
    assert any(said in gap["reason"] for gap in document["gaps"])


class Mended(Agent):
    """A stage that fails until its code is mended."""

    is_mended = False
    ran: list[bool] = []

    async def run(self, task: Task) -> AgentResult:
        self.ran.append(self.is_mended)
        if not self.is_mended:
            raise ZeroDivisionError("by zero")
        return AgentResult(verdict=Verdict.APPROVED)


async def test_a_stage_that_failed_is_retried_once_its_code_is_mended(home: Path, monkeypatch: pytest.MonkeyPatch):
    async with Leadhand(model="offline", workers=[Mended], home=home) as lead:
        run = await lead.start(TOPIC, flow="report", agents=list(lead.agents), review=False)
        assert (await run.answer()).status is RunStatus.PARTIAL
        actions = [each["action"] for each in (await run.document())["outcome"]["actions"]]
        assert "retry" in actions
        before, tried = len(run.state.steps), len(Mended.ran)
        monkeypatch.setattr(Mended, "is_mended", True)
        await run.retry()
        await run.answer()
        assert (len(run.state.steps), Mended.ran[tried:]) == (before, [True])
        assert run.state.steps["mended.1"].ok


async def test_a_class_replaces_a_built_in_stage(home: Path):
    class Strict(Agent):
        name = "reviewer"

        async def run(self, task: Task) -> AgentResult:
            return AgentResult(verdict=Verdict.APPROVED)

    run, document, _ = await reported(home, Strict)
    assert [each["name"] for each in document["task"]["stages"]].count("reviewer") == 1
    reviews = [each for each in run.state.steps.values() if each.step.worker == "reviewer"]
    assert {each.value["feedback"]["verdict"] for each in reviews} == {"APPROVED"}


async def test_a_class_replaces_the_writer_and_its_drafts_are_checked_like_those_of_a_model(home: Path):
    class Own(Agent):
        name = "writer"

        async def run(self, task: Task) -> AgentResult:
            assert task.plan is not None
            found = [each for each in task.research if each.findings]
            sections = [f"## {each.heading}\n\n{each.findings[0].statement} [p1]" for each in found]
            return AgentResult(updates={"draft": "\n\n".join([f"# {task.plan.title}", *sections, "No [p99]."])})

    _, document, _ = await reported(home, Own)
    (draft,) = document["task"]["drafts"]
    assert [each["text"] for each in draft["claims"] if each["verdict"] == "unconfirmed"] == ["No [p99]."]
    assert [each["part"] for each in document["evidence"]["doubts"]] == ["No [p99]."]
    assert document["status"] == "succeeded"


async def test_what_a_stage_changes_in_its_own_copy_of_the_task_is_recorded(home: Path):
    class Ending(Agent):
        after = "reviewer"
        gives = ("final_report",)

        async def run(self, task: Task) -> AgentResult:
            task.final_report = f"{task.draft}\n\nThe end."
            return AgentResult()

    run, document, _ = await reported(home, Ending)
    (ending,) = (each for each in run.state.steps.values() if each.step.worker == "ending")
    assert "draft" not in ending.value
    assert ending.value["final_report"].endswith("The end.")
    assert "The end." in document["answer"]


async def test_a_stage_that_judges_can_change_the_draft_too(home: Path):
    class Correcting(Agent):
        async def run(self, task: Task) -> AgentResult:
            task.draft = f"{task.draft}\n\nThe end."
            return AgentResult(verdict=Verdict.APPROVED)

    _, document, _ = await reported(home, Correcting)
    assert document["status"] == "succeeded"
    assert "The end." in document["answer"]


class Planning(Agent):
    name = "planner"

    async def run(self, task: Task) -> AgentResult:
        sections = [{"heading": "Size", "question": "Which size?"}]
        return AgentResult(updates={"plan": {"title": "Heat pumps", "sections": sections}})


class Vague(Planning):
    async def run(self, task: Task) -> AgentResult:
        return AgentResult(updates={"plan": "First the size, then the costs."})


async def test_a_class_plans_and_the_research_of_a_class_can_be_text(home: Path):
    class Searching(Agent):
        name = "researcher"

        async def run(self, task: Task) -> AgentResult:
            assert task.plan is not None
            return AgentResult(updates={"research": f"{task.plan.title}: It needs 9 kW."})

    scripted = model(writer="It needs 9 kW [p1].")
    answer = await lead(home, scripted, agents=[Planning, Searching]).run(
        TOPIC, flow="report", agents=["planner", "researcher"]
    )
    (brief,) = briefs(scripted, "draft-1")
    assert brief["title"] == answer.document["task"]["plan"]["title"] == "Heat pumps"
    assert brief["passages"]["p1"]["text"].endswith("It needs 9 kW.")
    assert answer.status is RunStatus.SUCCEEDED


async def test_a_plan_and_research_of_classes_can_be_text(home: Path):
    class Searching(Agent):
        name = "researcher"

        async def run(self, task: Task) -> AgentResult:
            return AgentResult(updates={"research": f"{task.plan} It needs 9 kW."})

    scripted = model(writer="It needs 9 kW [p1].")
    answer = await lead(home, scripted, agents=[Vague, Searching]).run(
        TOPIC, flow="report", agents=["planner", "researcher"]
    )
    (brief,) = briefs(scripted, "draft-1")
    assert brief["plan"] == answer.document["task"]["plan"] == "First the size, then the costs."
    assert brief["passages"]["p1"]["text"].endswith("It needs 9 kW.")
    assert answer.status is RunStatus.SUCCEEDED


async def test_a_plan_of_a_class_that_has_no_sections_ends_the_run_with_what_is_wrong(home: Path):
    answer = await lead(home, model(), agents=[Vague]).run(TOPIC, flow="report", agents=["planner"])
    assert answer.status is RunStatus.FAILED
    assert answer.failure is not None
    assert answer.failure.type == "no_plan"
    assert "title and sections" in answer.failure.message


async def test_what_a_draft_can_cite_keeps_its_name_whatever_a_later_stage_researches(home: Path):
    class Replacing(Agent):
        async def run(self, task: Task) -> AgentResult:
            if task.revisions:
                return AgentResult(verdict=Verdict.APPROVED)
            assert [each.name for each in task.passages.values()] == ["p1", "p2"]
            updates: dict[Any, Any] = {"research": "The cellar is dry."}
            return AgentResult(updates=updates, verdict=Verdict.NEEDS_REVISION, findings=["mention the cellar"])

    scripted = model(draft_2="It needs 9 kW [p1]. The cellar is dry [p3].")
    answer = await lead(home, scripted, agents=[Replacing]).run(
        TOPIC, flow="report", agents=["replacing"], review=False
    )
    (brief,) = briefs(scripted, "draft-2")
    assert {name: each["text"] for name, each in brief["passages"].items()}["p3"] == "The cellar is dry."
    assert answer.text == "It needs 9 kW [1]. The cellar is dry [2]."
    assert [each.title for each in answer.sources] == ["Source a", "replacing"]


class Approving(Agent):
    async def run(self, task: Task) -> AgentResult:
        return AgentResult(verdict=Verdict.APPROVED)


@pytest.mark.parametrize("agent", [Approving, Crashing])
async def test_the_verdict_of_a_class_decides_about_a_draft_of_a_model(home: Path, agent: type[Agent]):
    (name,) = workers_and_agents([agent])[1]
    answer = await lead(home, model(), agents=[agent]).run(
        TOPIC, flow="report", review=False, agents=[{"name": name, "after": "writer"}]
    )
    task = answer.document["task"]
    assert len(task["drafts"]) == 1
    assert task["feedback"]["verdict"] == ("APPROVED" if agent is Approving else None)
    assert answer.status is (RunStatus.SUCCEEDED if agent is Approving else RunStatus.PARTIAL)
    assert [gap.class_ for gap in answer.gaps] == ([] if agent is Approving else ["invalid"])


async def test_an_instance_keeps_its_settings_and_no_state_of_an_earlier_attempt(home: Path):
    class Counting(Agent):
        def __init__(self, word: str) -> None:
            self.words = [word]

        async def run(self, task: Task) -> AgentResult:
            self.words.append("used")
            self.emit(" ".join(self.words))
            verdict = Verdict.APPROVED if task.revisions else Verdict.NEEDS_REVISION
            return AgentResult(verdict=verdict, findings=() if task.revisions else ["more"])

    _, _, notes = await reported(home, Counting("mine"), review=False)
    assert [note for note in notes if "mine" in note] == ["mine used"] * 2


@pytest.mark.parametrize(
    ("agents", "said"),
    [
        ([object], "object.*leadhand.report.Agent"),
        ([Agent], "run"),
        ([type("Sync", (Agent,), {"run": lambda self, task: None})], "Sync.*run"),
        ([type("Odd", (Crashing,), {"name": "Not A Name"})], "Odd.*Stage.name"),
        ([type("Needy", (Crashing,), {"__init__": lambda self, key: None})], "Needy.*key"),
        ([Crashing, Crashing], "crashing"),
        ("checks.py", "workers.* str"),
    ],
)
def test_what_cannot_be_an_agent_is_refused_at_once(agents: Any, said: str):
    with pytest.raises(UsageError, match=f"(?s){said}"):
        Leadhand(model="offline", workers=agents)


async def test_only_agents_of_the_process_are_used_and_no_name_is_imported(home: Path, tmp_path: Path):
    evil = tmp_path / "evil.py"
    evil.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    async with Leadhand(model="offline", workers=[FactChecker], home=home) as lead:
        for named in (str(evil), f"{evil}:Evil", "os:system", "evil", "fact-cheker"):
            with pytest.raises(UsageError, match=named) as refused:
                await lead.start(TOPIC, flow="report", agents=[{"name": "extra", "agent": named}])
        assert "fact-checker" in refused.value.how
    assert not (tmp_path / "ran").exists()
    assert "evil" not in sys.modules


async def test_an_agent_can_be_tested_without_a_run():
    class Asking(Agent):
        async def run(self, task: Task) -> AgentResult:
            self.emit("asking")
            return AgentResult(updates={"draft": await self.ask(task.draft or "")})

    with pytest.raises(RuntimeError, match=r"Asking\.ask"):
        await Asking().run(Task(draft="x"))


async def test_a_run_is_continued_with_its_class_only(home: Path):
    run, _, _ = await reported(home, Polisher)
    definition = run.state.definition
    with pytest.raises(ConfigurationError, match="'polisher'") as lacking:
        FlowRegistry().check_code(definition)
    assert f"--agent {__file__}:Polisher" in lacking.value.how
    FlowRegistry((), workers_and_agents([Polisher])[1]).check_code(definition)


# --- a process is killed in the middle of a stage --------------------------------------------------------------------

CHILD = """
import asyncio, os, signal, sys
from leadhand import Leadhand
from leadhand.core.worker import Worker
from leadhand.flows.seam.pending import Details
from leadhand.flows.seam.function import FunctionFlow
from leadhand.testing.scripted_model import ScriptedModel, says

home, run_id = sys.argv[1], sys.argv[2:]
calls = os.path.join(home, "calls")

coder = Worker(name="coder", loop="code", counts=True)

async def thrice(desk):
    desk.emit("begun")
    return " ".join([await desk.ask(each) for each in ("one", "two", "three")])

async def once(run):
    return await run.step(coder, key="coder-1", input={}, details=Details(code=thrice))

def answer(request):
    asked = request.messages[-1].text
    with open(calls, "a") as file:
        file.write(asked + "\\n")
    if asked == "three" and not run_id:
        os.kill(os.getpid(), signal.SIGKILL)
    return says(asked.upper())

own = FunctionFlow(once, "thrice", workers=[coder])

async def main():
    async with Leadhand(models=ScriptedModel().on(lambda _: True, always=answer), flows=[own], home=home) as lead:
        run = await (lead.resume(run_id[0]) if run_id else lead.start("x", flow="thrice"))
        if not run_id:
            print(run.run_id, flush=True)
        print((await run.answer()).text, flush=True)

asyncio.run(main())
"""


async def test_calls_that_were_finished_when_a_process_was_killed_are_not_made_again(home: Path, tmp_path: Path):
    home.mkdir()
    child = tmp_path / "child.py"
    child.write_text(CHILD)
    source = str(Path(leadhand.__file__).parents[1])

    async def life(*words: str) -> tuple[int | None, str, str]:
        process = await start_async(
            sys.executable,
            str(child),
            str(home),
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": source},
        )
        out, errors = await process.communicate()
        return process.returncode, out.decode(), errors.decode()

    code, out, errors = await life()
    assert (code, errors) == (-9, "")
    code, said, errors = await life(out.strip())
    assert (code, said.strip(), errors) == (0, "ONE TWO THREE", "")
    assert (home / "calls").read_text().split() == ["one", "two", "three", "three"]
    async with Leadhand(model="offline", home=home) as lead:
        entries = await (await lead.runtime()).store.read(out.strip())
    assert [each.event.message for each in entries if isinstance(each.event, ev.NoteEmitted)] == ["begun"]
