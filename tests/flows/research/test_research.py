"""Research runs with a scripted model: the whole loop, its limits, and everything that can fail in it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from refusals import refused

from flows.judges import briefs, judge
from leadhand import Leadhand, RunStatus, ToolError, ToolReturn, tool
from leadhand.core.errors import UsageError
from leadhand.core.work_result import ClaimVerdict
from leadhand.flows.research.flow import research as research_flow
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import calls, calls_all, fails

from .runs import (
    CONTRADICTED,
    PASSAGES,
    QUESTION,
    SHOWN,
    SOUND,
    WRONG,
    both,
    lead,
    model,
    research,
    search,
    subagent,
    task,
    told,
)

AWAY = fails("invalid", "bad_request", "away")
SIZE = SOUND.partition(" The")[0]


def researched(home: Path, *steps: Any) -> tuple[Any, Any]:
    """Have one subagent reply with these steps, and return the model and the answer."""
    scripted = model(lead=lead(calls("subagent_run", **task("size")), "No."), size=lead(*steps))
    return scripted, research(home, scripted)


def test_a_lead_plans_dispatches_reads_and_answers_with_citations(home: Path) -> None:
    todos = [{"id": 1, "content": "find the costs", "status": "in_progress"}]
    done = [{"id": "1", "content": "find the costs", "status": "completed", "priority": "high"}]
    steps = [
        calls("todo_list_write", todos=todos),
        both,
        calls_all(("filesystem_tree", {}), ("todo_list_read", {})),
        calls("filesystem_read", path="memory/costs.md"),
        calls("todo_list_write", todos=done),
        SOUND,
    ]
    scripted = model(lead=lead(*steps))
    answer = research(home, scripted)

    assert answer.status is RunStatus.SUCCEEDED, answer.document
    assert answer.text == SHOWN
    assert [each.url for each in answer.sources] == ["https://example.org/a", "https://example.org/b"]
    assert answer.document["todos"] == done
    assert sorted(each["path"] for each in answer.document["artifacts"]) == ["memory/costs.md", "memory/size.md"]
    plan, *results, tree, listed, file, _ = told(scripted)
    assert plan["isError"] is False
    assert [each["artifact_path"] for each in results] == ["memory/size.md", "memory/costs.md"]
    assert not any("passages" in each for each in results)
    assert [each["path"] for each in tree["message"]] == ["memory/costs.md", "memory/size.md"]
    assert listed["message"] == [{**todos[0], "id": "1"}]
    assert file["message"] == f"# costs\n\n{PASSAGES['bbbbbbbb.1']} [bbbbbbbb.1]"
    offered = {
        worker: {tool.name for tool in each.tools}
        for worker in ("lead", "subagent")
        for each in scripted.requests
        if each.worker == worker
    }
    assert offered["lead"] == {
        *("todo_list_read", "todo_list_write", "filesystem_read", "filesystem_tree", "subagent_run"),
        "parallel_tool_call",
    }
    assert offered["subagent"] == {"web_search", "search", "filesystem_write", "parallel_tool_call", "give_up"}


@pytest.mark.parametrize("said", ["Hello!", "It costs 18,000 euros."])
def test_an_answer_without_research_is_delivered_and_nobody_judges_it(home: Path, said: str) -> None:
    scripted = model(lead=said)
    answer = research(home, scripted, check="judge")

    assert (answer.status, answer.text, answer.gaps) == (RunStatus.SUCCEEDED, said, ())
    assert len(scripted.requests) == 1
    assert (answer.evidence.judged_by, answer.evidence.not_checked) == (None, 1)


def test_the_end_by_turns_names_the_last_error_and_the_flag(home: Path) -> None:
    broken = fails("unavailable", "quota", "no credit")
    answer = research(home, model(lead=lead(both), subagent=broken), max_turns=1)

    assert answer.status is RunStatus.FAILED
    (found,) = (gap for gap in answer.gaps if gap.class_ == "exhausted")
    assert "no credit" in found.reason
    assert "max_turns" in found.next_action


def test_the_writer_is_told_which_parts_were_not_answered_and_why(home: Path) -> None:
    stopped = fails("exhausted", "allowance", "used up")
    three = [task(name) for name in ("size", "costs", "owner")]
    inner = [{"tool": "subagent_run", "args": each} for each in three]
    scripted = model(
        lead=lead(calls("parallel_tool_call", calls=inner), AWAY),
        costs=stopped,
        owner=calls("give_up", reason="no source"),
        writer=SOUND.partition(" The")[0],
    )
    research(home, scripted)
    (given,) = briefs(scripted, "writer")
    missing = {each["task"]: each["reason"] for each in given["missing"]}
    assert (missing["costs"], "no source" in missing["owner"]) == ("used up", True)


@pytest.mark.slow
def test_a_subagent_that_fails_and_one_that_hangs_reach_the_lead_as_errors_and_run_once(home: Path) -> None:
    async def hang(request: ModelRequest) -> Any:
        await asyncio.sleep(3_600)

    def three(request: ModelRequest) -> Any:
        inner = [{"tool": "subagent_run", "args": task(name)} for name in ("size", "broken", "slow")]
        return calls("parallel_tool_call", calls=inner)

    scripted = model(lead=lead(three, SIZE), broken=AWAY, slow=hang)
    answer = research(home, scripted, attempt_timeout=1)

    assert answer.status is RunStatus.PARTIAL
    size, failed, slow = told(scripted)
    assert size["summary"] == f"{PASSAGES['aaaaaaaa.1']} [aaaaaaaa.1]"
    assert failed["isError"] is slow["isError"] is True
    assert "away" in failed["message"]
    assert "1 s" in slow["message"]
    assert {gap.name for gap in answer.gaps} == {"broken", "slow"}


def test_a_failed_task_that_the_lead_gave_again_is_no_gap(home: Path) -> None:
    again = calls("subagent_run", **task("size", "Which size, in kW?"))
    steps = iter([AWAY])
    scripted = model(
        lead=lead(calls("subagent_run", **task("size")), again, SIZE), size=lambda _: next(steps, subagent)
    )
    assert research(home, scripted).status is RunStatus.SUCCEEDED


def test_the_same_task_is_not_researched_twice(home: Path) -> None:
    steps = [
        calls("subagent_run", **task("size")),
        calls("subagent_run", **task("size again", "which SIZE")),
        SIZE,
    ]
    scripted = model(lead=lead(*steps))
    answer = research(home, scripted)

    assert answer.status is RunStatus.SUCCEEDED
    assert len([each for each in scripted.requests if each.worker == "subagent"]) == 3
    _, second = told(scripted)
    assert second["isError"] is True
    assert "(size)" in second["message"]


def test_two_hundred_todos_are_kept_in_their_order_and_two_of_one_id_are_refused(home: Path) -> None:
    todos = [{"id": str(n), "content": f"part {n}", "status": "pending"} for n in range(200)]
    double = calls("todo_list_write", todos=[todos[0], todos[0]])
    scripted = model(lead=lead(calls("todo_list_write", todos=todos), calls("todo_list_read"), double, "Done."))
    answer = research(home, scripted)

    assert [each["id"] for each in answer.document["todos"]] == [each["id"] for each in todos]
    _, read, refused = told(scripted)
    assert read["message"] == todos
    assert refused["isError"] is True
    assert "'0'" in refused["message"]


@pytest.mark.parametrize(
    ("path", "size"),
    [
        *(("../secrets.md", 1), ("memory/../../x.md", 1), ("/etc/passwd", 1), ("a\\b.md", 1), ("memory/", 1)),
        ("long.md", 1_000_001),
    ],
)
def test_a_file_outside_of_memory_and_one_that_is_too_large_are_refused(home: Path, path: str, size: int) -> None:
    scripted, answer = researched(
        home, calls("filesystem_write", path=path, content="x" * size), {"summary": "nothing"}
    )

    assert answer.document["artifacts"] == []
    assert told(scripted, "subagent")[0]["isError"] is True


def test_two_spellings_of_a_name_in_any_script_are_one_file(home: Path) -> None:
    paths = ("Wärme/日本.md", "Wa\u0308rme/日本.md")
    named = calls_all(*(("filesystem_write", {"path": path, "content": path}) for path in paths))
    _, answer = researched(home, named, {"summary": "nothing"})

    assert {each["path"] for each in answer.document["artifacts"]} == {"memory/Wärme/日本.md"}
    assert [each["version"] for each in answer.document["artifacts"]] == [1, 2]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (f"{SIZE} It lasts 20 years [deadbeef.1].", f"{SIZE} It lasts 20 years."),
        (SIZE.replace("aaaaaaaa.1]", "deadbeef.1, aaaaaaaa.1]"), SIZE),
    ],
    ids=["alone", "beside one that exists"],
)
def test_a_passage_that_no_tool_returned_is_left_out_of_a_result_that_names_others(
    home: Path, said: str, kept: str
) -> None:
    steps = lead(calls("search", query="size"), {"summary": said})
    scripted = model(lead=lead(calls("subagent_run", **task("size")), SIZE), size=steps)
    research(home, scripted)
    assert told(scripted)[0]["summary"] == kept
    assert [each.worker for each in scripted.requests] == ["lead", "subagent", "subagent", "lead"]


@pytest.mark.parametrize(("paths", "artifact"), [(["costs.md"], "memory/costs.md"), ([], None)])
def test_the_file_of_a_subagent_is_one_that_it_wrote_whatever_it_names(
    home: Path, paths: list[str], artifact: str | None
) -> None:
    wrote = [calls("filesystem_write", path=each, content="x") for each in paths]
    scripted, _ = researched(home, *wrote, {"summary": "x", "artifact_path": "c.md"})
    assert told(scripted)[0].get("artifact_path") == artifact


@pytest.mark.parametrize("fence", ["```markdown\n{}\n```", "~~~md\n{}\n~~~\n"])
def test_an_answer_in_a_fence_of_markdown_is_taken_out_of_it(home: Path, fence: str) -> None:
    answer = research(home, model(lead=lead(both, fence.format(SOUND))))
    assert (answer.status, answer.text) == (RunStatus.SUCCEEDED, SHOWN)
    assert len(answer.sources) == 2


@pytest.mark.parametrize(
    ("said", "detail"),
    [({"detail": ["a", {"b": 1}]}, ["a", {"b": 1}]), ({"sources": ["https://example.org"], "detail": "more"}, "more")],
    ids=["detail as data", "a field that nobody asked for"],
)
def test_a_result_of_another_form_is_used_as_it_is(home: Path, said: dict[str, Any], detail: Any) -> None:
    scripted, _ = researched(home, {"summary": "x", **said})
    assert told(scripted)[0] == {"summary": "x", "detail": detail}
    assert [each.worker for each in scripted.requests] == ["lead", "subagent", "lead"]


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ({"summary": 7}, "summary"),
        ('{"summary": "x",\n "detail": }', "not one JSON object"),
        ({"summary": "It costs 5 euros [deadbeef.1]."}, "deadbeef.1"),
    ],
    ids=["a field of another type", "no JSON", "a passage that no tool returned"],
)
def test_a_subagent_is_told_what_is_wrong_with_its_answer(home: Path, said: Any, named: str) -> None:
    scripted, _ = researched(home, said, {"summary": "x"})
    last = next(each for each in reversed(scripted.requests) if each.worker == "subagent").messages[-1]
    assert named in getattr(last, "text", "")


def test_an_expected_output_is_checked_and_reaches_the_lead_as_data(home: Path) -> None:
    schema = {"type": "object", "properties": {"euros": {"type": "integer"}}, "required": ["euros"]}
    given = calls("subagent_run", **task("costs", expected_output=schema))

    def found(request: ModelRequest) -> Any:
        replies = [{"summary": "much", "detail": "much"}, {"summary": "18,000 euros", "detail": {"euros": 18_000}}]
        return replies[min(len(replies) - 1, sum(message.role == "assistant" for message in request.messages))]

    scripted = model(lead=lead(given, "No."), costs=found)
    research(home, scripted)
    assert told(scripted)[0]["detail"] == {"euros": 18_000}


# --- what the lead gets wrong ---------------------------------------------------------------------------------------


def test_a_lead_that_never_stops_is_ended_and_the_answer_is_written_from_what_was_found(home: Path) -> None:
    def restless(request: ModelRequest) -> Any:
        turn = sum(message.role == "assistant" for message in request.messages)
        return both(request) if turn == 0 else calls("filesystem_tree", max_depth=turn)

    scripted = model(lead=restless, writer=SOUND)
    answer = research(home, scripted, max_turns=3)

    assert (answer.status, answer.text) == (RunStatus.PARTIAL, SHOWN)
    (gap,) = answer.gaps
    assert gap.class_ == "exhausted"
    assert "max_turns" in gap.next_action


def test_without_a_writer_the_findings_are_listed(home: Path) -> None:
    answer = research(home, model(lead=lead(both, AWAY), writer=AWAY))

    assert answer.status is RunStatus.PARTIAL
    assert f"## costs\n\n{PASSAGES['bbbbbbbb.1']} [2]" in answer.text
    assert [gap.class_ for gap in answer.gaps] == ["invalid", "invalid"]


def test_more_subagents_than_allowed_are_refused_and_the_answer_says_so(home: Path) -> None:
    def many(request: ModelRequest) -> Any:
        inner = [{"tool": "subagent_run", "args": task(f"size {n}")} for n in range(5)]
        return calls("parallel_tool_call", calls=inner)

    scripted = model(lead=lead(many, SIZE))
    answer = research(home, scripted, max_subagents=3)

    assert [bool(each.get("isError")) for each in told(scripted)] == [False] * 3 + [True] * 2
    assert answer.status is RunStatus.PARTIAL
    (gap,) = answer.gaps
    assert gap.class_ == "exhausted"
    assert "max_subagents to 6" in gap.next_action


@pytest.mark.parametrize(("check", "most"), [("exact", 6), ("judge", 7)])
def test_a_run_out_of_requests_answers_from_what_was_found_and_judges_it(home: Path, check: str, most: int) -> None:
    written = f"{PASSAGES['bbbbbbbb.1']} [bbbbbbbb.1]"
    scripted = model(lead=lead(calls("subagent_run", **task("costs")), SOUND), writer=written, judge=judge())
    answer = research(home, scripted, max_requests=most, check=check)
    assert (answer.status, answer.text) == (RunStatus.PARTIAL, written.replace("bbbbbbbb.1", "1"))
    (gap,) = answer.gaps
    assert gap.class_ == "exhausted"
    assert "max_requests" in gap.next_action
    assert (answer.evidence.confirmed > 0) is (check == "judge")


# --- what the answer rests on ----------------------------------------------------------------------------------------


def test_a_contradicted_claim_is_corrected_once(home: Path) -> None:
    scripted = model(lead=lead(both, WRONG), writer=SHOWN, judge=judge(CONTRADICTED))
    answer = research(home, scripted, check="judge")

    assert (answer.status, answer.text) == (RunStatus.SUCCEEDED, SHOWN)
    (brief,) = briefs(scripted, "writer")
    assert brief["answer"] == SHOWN.replace("needs 9 kW", "needs 25 kW")
    (problem,) = brief["problems"]
    assert (problem["words"], problem["quote"]) == (CONTRADICTED.words, CONTRADICTED.quote)
    assert [len(each["claims"]) for each in briefs(scripted, "judge")] == [2, 1]
    assert (answer.evidence.confirmed, answer.doubts) == (2, ())


def test_what_two_judgements_contradict_makes_the_run_partial_and_stays_as_it_was_written(home: Path) -> None:
    wrong = SHOWN.replace("needs 9 kW", "needs 25 kW")
    scripted = model(lead=lead(both, WRONG), writer=wrong, judge=judge(CONTRADICTED))
    answer = research(home, scripted, check="judge")

    assert (answer.status, answer.text, answer.gaps) == (
        RunStatus.PARTIAL,
        SHOWN.replace("needs 9 kW", "needs 25 kW"),
        (),
    )
    assert len(briefs(scripted, "writer")) == 1
    (doubt,) = answer.doubts
    assert (doubt.verdict, doubt.evidence) == (ClaimVerdict.CONTRADICTED, "1")
    assert doubt.claim in answer.text


@pytest.mark.parametrize(("strict", "status"), [(False, RunStatus.SUCCEEDED), (True, RunStatus.PARTIAL)])
def test_a_passage_that_does_not_exist_is_a_doubt_beside_the_answer(
    home: Path, status: RunStatus, *, strict: bool
) -> None:
    scripted = model(lead=lead(both, f"{SOUND} It lasts 20 years [deadbeef.1]."))
    answer = research(home, scripted, strict=strict)

    assert answer.status is status
    assert answer.text == f"{SHOWN} It lasts 20 years [deadbeef.1]."
    assert [(each.verdict, each.n) for each in answer.doubts] == [(ClaimVerdict.UNCONFIRMED, 3)]
    assert {each.worker for each in scripted.requests} == {"lead", "subagent"}


def test_a_lead_whose_turns_bring_nothing_new_is_ended(home: Path) -> None:
    answer = research(home, model(lead=lead(both, calls("filesystem_tree")), writer=SOUND))
    assert (answer.status, answer.text) == (RunStatus.PARTIAL, SHOWN)
    assert len(answer.gaps) == 1


async def test_a_paused_lead_continues_at_its_turn_and_no_subagent_runs_again(home: Path) -> None:
    asked = asyncio.Event()

    async def wait(request: ModelRequest) -> Any:
        asked.set()
        await asyncio.sleep(3_600)

    first = model(lead=lead(both, wait))
    async with Leadhand(home=home, models=first, tools=[search]) as one:
        run = await one.start(QUESTION, flow="research")
        await asked.wait()
        await run.pause()
        await run.wait()
    second = model(subagent=AWAY)
    async with Leadhand(home=home, models=second, tools=[search]) as other:
        answer = await (await other.resume(run.run_id)).answer()
    assert answer.status is RunStatus.SUCCEEDED
    assert [each.worker for each in second.requests] == ["lead"]


def test_a_tool_budget_ends_the_calls_of_a_subagent(home: Path) -> None:
    def endless(request: ModelRequest) -> Any:
        turn = sum(message.role == "assistant" for message in request.messages)
        return calls("search", query=f"size {turn}") if turn < 4 else {"summary": "nothing"}

    scripted = model(lead=lead(calls("subagent_run", **task("size", tool_budget=2)), "No."), size=endless)
    research(home, scripted)
    said = told(scripted, "subagent")
    assert [bool(each.get("isError")) for each in said] == [False, False, True, True]


def test_an_unknown_tool_and_malformed_arguments_are_errors_of_their_own_calls(home: Path) -> None:
    inner = [{"tool": "delete_everything", "args": {}}, {"tool": "subagent_run", "args": {"task": {"prompt": "?"}}}]
    wrong = calls_all(("no_such_tool", {}), ("subagent_run", "{not json"), ("parallel_tool_call", {"calls": inner}))
    scripted = model(lead=lead(wrong, both, SOUND))
    answer = research(home, scripted)

    assert answer.status is RunStatus.SUCCEEDED
    unknown, malformed, first, second, *results = told(scripted)
    assert "no_such_tool" in unknown["message"]
    assert malformed["isError"] is True
    assert "delete_everything" in first["message"]
    assert "task_name" in second["message"]
    assert len(results) == 2


async def test_the_run_before_a_follow_up_reaches_the_lead(home: Path) -> None:
    scripted = model()
    async with Leadhand(home=home, models=scripted, tools=[search]) as opened:
        first = await opened.research(QUESTION)
        await (await opened.follow_up(first.run_id, "And what does it need?")).answer()
    earlier = briefs(scripted, "lead")[-1]["earlier"]
    assert (earlier["request"], earlier["answer"]) == (QUESTION, first.text)
    assert earlier["sources"] == [{"title": each.title, "url": each.url} for each in first.sources]


# --- options --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"max_turns": 0}, ["max_turns", "1"]),
        ({"max_subagents": "many"}, ["'many'", "max_subagents"]),
        ({"review": False}, ["max_turns, max_subagents"]),
    ],
)
def test_an_option_out_of_range_is_refused_with_what_it_must_be(options: dict[str, Any], named: list[str]) -> None:
    with refused(UsageError, *options, *named):
        research_flow.checked_options(options)


def test_a_subagent_sees_a_search_that_failed_and_tries_another(home: Path) -> None:
    asked: list[str] = []

    @tool(retries=1)
    async def lookup(query: str) -> ToolReturn:
        """Find sources."""
        asked.append(query)
        if query == "away":
            raise ToolError("no network", type="search_failed", class_="transient")
        return await search(query)

    def patient(request: ModelRequest) -> Any:
        turn = sum(message.role == "assistant" for message in request.messages)
        if turn == 0:
            return calls_all(("lookup", {"query": "away"}), ("lookup", {"query": "the size"}))
        return {"summary": SIZE}

    scripted = model(lead=lead(calls("subagent_run", **task("size")), SIZE), subagent=patient)
    answer = Leadhand(home=home, models=scripted, tools=[lookup]).research_sync(QUESTION)

    assert answer.status is RunStatus.SUCCEEDED, answer.gaps
    assert asked.count("away") == 2
    failed, found = told(scripted, "subagent")
    assert failed["isError"] is True
    assert "no network" in failed["message"]
    assert "isError" not in found
    assert asked.count("the size") == 1
