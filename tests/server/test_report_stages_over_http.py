"""The stages of reports over HTTP: changed and added for one run, and carried out by classes of the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from server.doors import Door, door

from leadhand.core.events import RunStarted
from leadhand.core.run import RunDefinition
from leadhand.report import Agent, AgentResult, Task, Verdict


async def report(api: Door, **options: Any) -> RunDefinition:
    """The definition of a new report."""
    body = {"request": "Heat pumps in old houses", "flow": "report", "options": options}
    response = await api.post("/api/runs", body)
    assert response.status_code == 202, response.text
    run_id = response.json()["run_id"]
    await api.http.post(f"/api/runs/{run_id}/cancel")
    (first,) = await api.service.runtime.store.read(run_id, limit=1)
    assert isinstance(first.event, RunStarted)
    return first.event.definition


def workers(run: RunDefinition) -> list[str]:
    """The stages of a run, in order."""
    return [worker.name for worker in run.workers if worker.name not in (run.shape, *run.judging)]


async def test_flows_are_listed_with_the_schema_of_their_options(api: Door) -> None:
    flows = {each["name"]: each for each in (await api.get("/api/flows")).json()["flows"]}

    assert {"work-order", "report"} <= flows.keys()
    assert flows["report"]["description"]
    assert flows["report"]["options"]["properties"]["max_revisions"]["maximum"] == 10
    assert flows["report"]["options"]["properties"].keys() == {"max_revisions", "review", "agents"}


async def test_an_option_that_is_refused_is_named_as_a_field_of_the_body(api: Door) -> None:
    body = {"request": "Heat pumps", "flow": "report", "options": {"max_revisions": 11}}
    refused = (await api.post("/api/runs", body)).json()
    unknown = (await api.post("/api/runs", {**body, "options": {"mood": "good"}})).json()

    assert [each["where"] for each in refused["errors"]] == ["body.options.max_revisions"]
    assert [each["where"] for each in unknown["errors"]] == ["body.options.mood"]
    assert refused["errors"][0]["what"] == refused["detail"]


async def test_a_stage_that_is_refused_is_named_by_its_index_in_the_request(api: Door) -> None:
    odd = {"name": "Chief editor", "instructions": "Judge the style."}
    body = {"request": "Heat pumps", "flow": "report", "options": {"agents": [odd]}}
    refused = (await api.post("/api/runs", body)).json()
    assert [each["where"] for each in refused["errors"]] == ["body.options.agents.0.name"]
    body["options"] = {"agents": [{"name": "researcher", "modle": "strict"}]}
    refused = (await api.post("/api/runs", body)).json()
    assert all(each in refused["detail"] for each in ("agents.0.modle", "report"))
    assert "model?" in refused["how"]


async def test_a_run_changes_adds_and_leaves_out_stages(api: Door) -> None:
    checker = {"name": "fact-checker", "instructions": "Check every date.", "after": "researcher"}
    run = await report(api, agents=[checker, {"name": "writer", "instructions": "Write plainly."}])
    assert workers(run) == ["planner", "researcher", "fact-checker", "writer", "reviewer"]
    assert "Check every date." in run.workers[2].instructions
    assert "Write plainly." in run.workers[3].instructions
    assert workers(await report(api, review=False)) == ["planner", "researcher", "writer"]


class Checker(Agent):
    """Ask for a revision."""

    async def run(self, task: Task) -> AgentResult:
        if task.revisions:
            return AgentResult(verdict=Verdict.APPROVED)
        return AgentResult(verdict=Verdict.NEEDS_REVISION, findings=["say more"])


async def test_a_report_uses_the_classes_that_the_server_was_started_with_and_no_others(
    home: Path, tmp_path: Path
) -> None:
    evil = tmp_path / "evil.py"
    evil.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    async with door(home, offline=True, agents=[Checker]) as api:
        body: dict[str, Any] = {"request": "Heat pumps in old houses", "flow": "report"}
        for agent in (str(evil), f"{evil}:Evil", "os:system"):
            options = {"agents": [{"name": "extra", "agent": agent}]}
            assert (await api.post("/api/runs", {**body, "options": options})).status_code == 409
        started = await api.post("/api/runs", {**body, "options": {"agents": ["checker"]}})
        assert started.status_code == 202
        task = (await api.over(started.json()["run_id"]))["task"]
    assert [each["problem"] for each in task["drafts"][0]["findings"] if each["by"] == "checker"] == ["say more"]
    assert [each["verdict"] for each in task["drafts"]] == ["NEEDS_REVISION", "APPROVED"]
    assert not (tmp_path / "ran").exists()


class PlainWriter(Agent):
    """Write down the findings."""

    name = "plain-writer"
    gives = ("draft",)

    async def run(self, task: Task) -> AgentResult:
        lines = [f"{each.statement} [p1]" for item in task.research for each in item.findings]
        return AgentResult(updates={"draft": "# Findings\n\n" + "\n\n".join(lines)})


async def test_a_class_of_the_server_is_listed_and_added_as_a_stage_or_replaces_one(home: Path) -> None:
    async with door(home, offline=True, agents=[Checker, PlainWriter]) as api:
        flows = {each["name"]: each["agents"] for each in (await api.get("/api/flows")).json()["flows"]}
        assert flows.pop("report") == {"checker": Checker.__doc__, "plain-writer": PlainWriter.__doc__}
        assert not any(flows.values())

        check = {"name": "check", "agent": "checker", "after": "reviewer"}
        run = await report(api, agents=[check, {"name": "writer", "agent": "plain-writer"}])
        assert workers(run) == ["planner", "researcher", "writer", "reviewer", "check"]
        assert [worker.code.rpartition(":")[2] for worker in run.workers if worker.code] == ["PlainWriter", "Checker"]
