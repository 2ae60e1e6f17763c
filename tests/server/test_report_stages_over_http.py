"""The stages of the report flow over HTTP: what is set for them is the default of the reports started from then on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from server.conftest import OpenDoor
from server.doors import Door, door

from leadhand.domain.events import RunStarted
from leadhand.domain.run import RunDefinition
from leadhand.report import Agent, AgentResult, Task, Verdict

CHECKER = {"name": "report.fact-checker", "instructions": "Check every date."}


async def agents(api: Door) -> dict[str, dict[str, Any]]:
    """The stages of the report flow, by name."""
    listed = (await api.get("/api/agents")).json()["agents"]
    return {each["name"]: each for each in listed if each["flow"] == "report"}


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


def roles(run: RunDefinition) -> list[str]:
    """The stages of a run, in order."""
    return [role.name for role in run.roles]


async def test_flows_are_listed_with_the_schema_of_their_options(api: Door) -> None:
    flows = {each["name"]: each for each in (await api.get("/api/flows")).json()["flows"]}

    assert {"work-order", "report"} <= flows.keys()
    assert flows["report"]["description"]
    assert flows["report"]["options"]["properties"]["max_revisions"]["maximum"] == 10
    assert flows["report"]["options"]["properties"].keys() == {"max_revisions", "review", "agents"}
    assert flows["work-order"]["version"] >= 1


async def test_an_option_that_is_refused_is_named_as_a_field_of_the_body(api: Door) -> None:
    body = {"request": "Heat pumps", "flow": "report", "options": {"max_revisions": 11}}
    refused = (await api.post("/api/runs", body)).json()
    unknown = (await api.post("/api/runs", {**body, "options": {"mood": "good"}})).json()

    assert [each["where"] for each in refused["errors"]] == ["body.options.max_revisions"]
    assert [each["where"] for each in unknown["errors"]] == ["body.options.mood"]
    assert refused["errors"][0]["what"] == refused["detail"]


async def test_a_stage_that_is_refused_is_named_by_its_index_in_the_request(api: Door) -> None:
    await api.post("/api/agents", CHECKER)

    odd = {"name": "Chief editor", "instructions": "Judge the style."}
    body = {"request": "Heat pumps", "flow": "report", "options": {"agents": [odd]}}
    refused = (await api.post("/api/runs", body)).json()
    assert [each["where"] for each in refused["errors"]] == ["body.options.agents.0.name"]
    body["options"] = {"agents": [{"name": "researcher", "modle": "strict"}]}
    refused = (await api.post("/api/runs", body)).json()
    assert "researcher (option agents.0) of the flow report has no field 'modle'" in refused["detail"]
    assert "Did you mean model?" in refused["how"]


async def test_the_stages_are_listed_in_order_beside_the_roles_of_work_orders(api: Door) -> None:
    names = [each["name"] for each in (await api.get("/api/agents")).json()["agents"]]
    stages = await agents(api)

    assert names[:4] == ["lead", "worker", "reviewer", "composer"]
    assert list(stages) == ["report.planner", "report.researcher", "report.writer", "report.reviewer"]
    writer = stages["report.writer"]
    assert writer["instructions"] == writer["ships"]["instructions"] != ""
    assert (writer["added"], writer["off"], writer["changed"]) == (False, False, None)


async def test_a_stage_that_was_added_is_part_of_new_reports_until_it_is_removed(api: Door) -> None:
    added = await api.post("/api/agents", CHECKER)
    assert (added.status_code, added.headers["location"]) == (201, "/api/agents/report.fact-checker")
    assert (await api.post("/api/agents", CHECKER)).status_code == 409

    moved = await api.http.put(
        "/api/agents/report.fact-checker", json={"instructions": "Check.", "after": "reviewer", "max_requests": 3}
    )
    assert moved.status_code == 200, moved.text
    assert list(await agents(api))[-2:] == ["report.reviewer", "report.fact-checker"]
    shown = (await agents(api))["report.fact-checker"]
    assert (shown["added"], shown["after"], shown["gives"], shown["max_requests"]) == (
        True,
        "reviewer",
        ["feedback"],
        3,
    )
    run = await report(api)
    assert roles(run) == ["planner", "researcher", "writer", "reviewer", "fact-checker"]
    assert "Check." in run.roles[-1].instructions

    assert (await api.http.delete("/api/agents/report.fact-checker")).status_code == 204
    assert (await api.http.delete("/api/agents/report.fact-checker")).status_code == 404
    assert roles(await report(api)) == ["planner", "researcher", "writer", "reviewer"]


async def test_the_review_is_off_until_it_is_on_again_or_a_run_asks_for_it(api: Door) -> None:
    off = await api.http.put("/api/agents/report.reviewer", json={"off": True, "instructions": "Be strict."})
    assert off.json()["off"] is True
    assert list(await agents(api))[-1] == "report.reviewer"

    assert roles(await report(api)) == ["planner", "researcher", "writer"]
    asked = await report(api, review=True)
    assert roles(asked)[-1] == "reviewer"
    assert "Be strict." in asked.roles[-1].instructions
    assert roles(await report(api, agents=[{"name": "reviewer", "off": False}]))[-1] == "reviewer"

    assert (await api.http.delete("/api/agents/report.reviewer")).status_code == 204
    assert roles(await report(api))[-1] == "reviewer"


async def test_a_run_overrides_the_fields_that_it_gives(api: Door) -> None:
    await api.post("/api/agents", {**CHECKER, "after": "reviewer", "budget": 0.5})
    await api.http.put("/api/agents/report.writer", json={"instructions": "Write plainly."})

    run = await report(api, agents=["writer", {"name": "fact-checker", "before": "reviewer", "instructions": "Dates."}])
    assert roles(run) == ["planner", "researcher", "writer", "fact-checker", "reviewer"]
    (checker,) = [each for each in run.options["agents"] if each["name"] == "fact-checker"]
    assert (checker["budget"], checker["after"], checker["instructions"]) == (0.5, None, "Dates.")
    assert "Write plainly." in run.roles[2].instructions
    assert "fact-checker" not in roles(await report(api, agents=[{"name": "fact-checker", "off": True}]))


async def test_the_roles_of_work_orders_do_not_change_reports(api: Door) -> None:
    await api.http.put("/api/agents/reviewer", json={"model": "strict", "instructions": "Be kind."})

    run = await report(api)
    assert run.models.roles == {}
    assert "Be kind." not in [role.instructions for role in run.roles]


@pytest.mark.parametrize(
    ("body", "status", "what"),
    [
        ({"name": "report.fact-checker", "after": "writer"}, 422, "there is no stage fact-checker"),
        ({**CHECKER, "after": "editor"}, 422, "stands after 'editor', and there is no such stage"),
        ({**CHECKER, "name": "report.Fact checker"}, 422, "the stage cannot be used"),
        ({**CHECKER, "tools": ["steal"]}, 422, "there is no tool 'steal'"),
        ({**CHECKER, "gives": ["plan"]}, 422, "cannot give plan"),
        ({"name": "report.writer", "off": True}, 422, "the stage writer cannot be switched off"),
        ({"name": "composer", "off": True}, 422, "off is not a setting of the role composer"),
        ({**CHECKER, "name": "fact-checker"}, 404, "there is no role 'fact-checker'"),
    ],
)
async def test_a_stage_that_does_not_fit_is_refused(api: Door, body: Any, status: int, what: str) -> None:
    refused = await api.post("/api/agents", body)

    assert refused.status_code == status, refused.text
    assert what in refused.json()["detail"]
    assert list(await agents(api))[-1] == "report.reviewer"


async def test_a_stage_on_which_the_place_of_another_depends_is_not_removed(api: Door) -> None:
    await api.post("/api/agents", CHECKER)
    await api.post("/api/agents", {"name": "report.editor", "instructions": "Shorten.", "after": "fact-checker"})

    refused = await api.http.delete("/api/agents/report.fact-checker")
    assert refused.status_code == 409
    assert "editor" in refused.json()["detail"]
    assert (await api.http.delete("/api/agents/report.editor")).status_code == 204
    assert (await api.http.delete("/api/agents/report.fact-checker")).status_code == 204


async def test_what_is_set_for_stages_is_kept_when_the_server_is_started_again(open_door: OpenDoor) -> None:
    await (await open_door()).post("/api/agents", {**CHECKER, "tools": ["measure"]})

    kept = (await agents(await open_door()))["report.fact-checker"]
    assert (kept["instructions"], kept["tools"]) == ("Check every date.", ["measure"])


class Checker(Agent):
    """Ask for one revision."""

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
            assert (await api.post("/api/runs", {**body, "options": options})).status_code == 422
        started = await api.post("/api/runs", {**body, "options": {"agents": ["checker"]}})
        assert started.status_code == 202
        task = (await api.over(started.json()["run_id"]))["task"]
    assert [each["problem"] for each in task["drafts"][0]["findings"] if each["by"] == "checker"] == ["say more"]
    assert [each["verdict"] for each in task["drafts"]] == ["NEEDS_REVISION", "APPROVED"]
    assert not (tmp_path / "ran").exists()


class PlainWriter(Agent):
    """Write the findings down as they are."""

    name = "plain-writer"
    gives = ("draft",)

    async def run(self, task: Task) -> AgentResult:
        lines = [f"{each['statement']} [p1]" for item in task.research for each in item["findings"]]
        return AgentResult(updates={"draft": "# Findings\n\n" + "\n\n".join(lines)})


async def test_a_class_of_the_server_is_added_as_a_stage_or_replaces_one(home: Path) -> None:
    async with door(home, offline=True, agents=[Checker, PlainWriter]) as api:
        classes = {each["name"]: each for each in (await api.get("/api/agents")).json()["classes"]}
        assert list(classes) == ["checker", "plain-writer"]
        assert classes["plain-writer"]["description"] == "Write the findings down as they are."
        assert classes["plain-writer"]["source"].endswith("test_report_stages_over_http.py:PlainWriter")
        assert (classes["plain-writer"]["gives"], classes["checker"]["after"]) == (["draft"], None)

        added = await api.post("/api/agents", {"name": "report.check", "agent": "checker", "after": "reviewer"})
        assert added.status_code == 201, added.text
        assert (added.json()["agent"], added.json()["role"]) == ("checker", "Ask for one revision.")
        assert (await api.http.put("/api/agents/report.writer", json={"agent": "plain-writer"})).status_code == 200
        assert (await agents(api))["report.writer"]["role"] == "Write the findings down as they are."

        run = await report(api)
        assert roles(run) == ["planner", "researcher", "writer", "reviewer", "check"]
        assert [role.code.rpartition(":")[2] for role in run.roles if role.code] == ["PlainWriter", "Checker"]

        assert (await api.http.delete("/api/agents/report.writer")).status_code == 204
        assert [role.name for role in (await report(api)).roles if role.code] == ["check"]


async def test_a_name_that_is_no_class_of_the_server_imports_nothing(home: Path, tmp_path: Path) -> None:
    evil = tmp_path / "evil.py"
    evil.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    async with door(home, offline=True, agents=[Checker]) as api:
        for named in (str(evil)[-90:], "evil:Checker", "os.system", "chekcer"):
            body = {"name": "report.check", "agent": named}
            refused = await api.post("/api/agents", body)
            assert refused.status_code == 422, refused.text
            assert [each["where"] for each in refused.json()["errors"]] == ["body.agent"]
        assert "Did you mean checker?" in refused.json()["how"]
        assert "report.check" not in await agents(api)
    assert not (tmp_path / "ran").exists()


async def test_a_stage_whose_class_the_server_no_longer_has_is_shown_and_can_be_removed(home: Path) -> None:
    async with door(home, offline=True, agents=[Checker]) as api:
        assert (await api.post("/api/agents", {"name": "report.check", "agent": "checker"})).status_code == 201
    async with door(home, offline=True) as api:
        assert (await agents(api))["report.check"]["role"] == "This server has no class checker."
        refused = await api.post("/api/runs", {"request": "Heat pumps in old houses", "flow": "report"})
        assert refused.status_code == 422
        assert "checker" in refused.json()["detail"]
        assert (await api.http.delete("/api/agents/report.check")).status_code == 204
        assert "report.check" not in await agents(api)
