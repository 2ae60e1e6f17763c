"""The moves of the game: one thing that may happen next in a history, chosen by ``pick``; legal ones, and late ones."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import cache
from random import Random
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from core.histories import TOOLS, History, Pick, definition, failure
from leadhand.core import decide as do
from leadhand.core import events as ev
from leadhand.core.conversation import AssistantMessage
from leadhand.core.errors import FailureClass
from leadhand.core.limits import Money, Usage
from leadhand.core.run import AttemptStatus, RunStatus
from leadhand.core.state import AttemptState
from leadhand.core.work_result import CHECKS, Check, ResultData
from leadhand.flows.answering import CORRECTS
from leadhand.flows.work_order.roles import RoleName
from leadhand.verify.judge import CONFIRM, JUDGE

RESERVED = Money(requests=1, tokens=1_000, nanousd=100)
USAGES: tuple[Usage | None, ...] = (
    None,
    Usage(input_tokens=0, output_tokens=0, nanousd=0),
    Usage(input_tokens=400, output_tokens=100, nanousd=50),
    Usage(input_tokens=800, output_tokens=200),
    Usage(input_tokens=900, output_tokens=100, nanousd=100),
)
TOO_MUCH = Usage(requests=3, input_tokens=5_000, output_tokens=5_000, nanousd=900)


# --- what a lead may say ---------------------------------------------------------------------------------------------


def proposal(pick: Pick, needs: list[Any]) -> dict[str, Any]:
    """A subtask that a lead proposes: mostly sound, sometimes with an unknown tool or without its argument."""
    tool = pick([None, None, "look", "look", "look", "look", "write", "send"] * 3 + ["fly"])
    args = pick([{"n": 1}] * 4 + [{"n": 2}] * 3 + [{}]) if tool == "look" else {}
    wanted = [key for key in needs if pick([False, False, True])]
    if wanted and tool == "look" and pick([False, True]):
        args = {"n": {"$result": {"subtask": str(wanted[0]), "path": "/raw/n"}}}
    return {"name": pick(["a", "b", "a"]), "tool": tool, "args": args, "needs": wanted}


def proposed_plan(pick: Pick) -> Any:
    """What a lead answers when it is asked to plan; sometimes nonsense."""
    if pick([False] * 9 + [True]):
        return pick([None, [], {"goal": ""}, {"goal": "it", "subtasks": "none"}])
    if pick([False] * 9 + [True]):
        return pick(
            [{"question": "where?"}, {"question": "where?"}, {"answer": "it is 4"}, {"answer": "a", "more": True}]
        )
    count = pick([0, 1, 2, 2, 3, 3, 4, 5])
    subtasks = [proposal(pick, list(range(pick([index] * 9 + [count])))) for index in range(count)]
    cannot = [{"what": "fly", "reason": "there is no tool for it"}] if pick([False, False, True]) else []
    return {"goal": "it", "subtasks": subtasks, "cannot": cannot}


def write(history: History, pick: Pick) -> None:
    """A model writes a part of its plan: the next one, or again from the start."""
    planning = [attempt for attempt in history.live if history.worker(attempt) == RoleName.PLAN]
    if planning:
        attempt = pick(planning)
        if attempt.status is AttemptStatus.SCHEDULED:
            history.starts(attempt)
        index = pick([len(attempt.written)] * 4 + [0])
        history.write(ev.ElementWritten(attempt=attempt.attempt, index=index, value=proposal(pick, pick([[], [0]]))))


def as_written(pick: Pick, attempt: AttemptState) -> Any:
    """A plan as it was written so far, with something after it; or in another order."""
    subtasks: list[Any] = [value for _, value in attempt.written]
    subtasks = pick([subtasks, subtasks, subtasks[1:], subtasks[::-1]])
    return {"goal": "it", "subtasks": [*subtasks, proposal(pick, [])]}


def proposed_review(pick: Pick, history: History, covers: tuple[str, ...]) -> Any:
    """What a lead answers when it is asked to review: any verdicts, now and then one too few."""
    known = subtasks(history)
    results = [each.data for each in history.state.steps.values() if each.order and each.ok]
    summaries = "; ".join(data.summary for data in results if data is not None)
    verdicts: list[dict[str, Any]] = []
    for key in covers:
        verdict = pick(["accept"] * 8 + ["retry"] * 4 + ["replan"] * 3 + ["drop"] * 2 + ["none"])
        if verdict == "none":
            continue
        judged: dict[str, Any] = {"subtask": key, "verdict": verdict, "reason": "so it seems"}
        if verdict == "replan" and pick([True, True, False]):
            judged["replacement"] = proposal(pick, known)
        verdicts.append(judged)
    return {
        "verdicts": verdicts,
        "complete": pick([True, False]),
        "missing": [proposal(pick, known)] if pick([False, False, True]) else [],
        "cannot": [{"what": "swim", "reason": "too deep"}] if pick([False, False, False, True]) else [],
        "answer": pick([None, None, "all is well", summaries]),
    }


def proposed_verdicts(pick: Pick, brief: dict[str, Any]) -> Any:
    """What a judge answers: any verdicts with any reasons, now and then nonsense."""
    if pick([False] * 9 + [True]):
        return pick([None, {}, {"verdicts": {"x": "confirmed", "1": "splendid"}, "doubts": [{}], "missing": [None]}])
    verdicts: dict[str, str] = {}
    doubts: list[dict[str, Any]] = []
    for claim in brief.get("claims", ()):
        n, text = claim["n"], claim["text"]
        verdicts[str(n)] = pick(["confirmed", "derived", "own_words", "unconfirmed"] + ["contradicted"] * 4)
        proof = pick([{"evidence": key, "quote": "1"} for key in brief["evidence"]] + [{"action": True}, {}])
        doubts.append({"claim": n, "part": pick([text, text, "unsaid"]), "why": "so it seems", **proof})
    missing = [{"part": "swimming", "request": pick(["look", "unasked"])}] if pick([False, False, True]) else []
    return {"verdicts": verdicts, "doubts": doubts, "missing": missing}


def subtasks(history: History) -> list[str]:
    """The keys of all subtasks so far."""
    return [key for key, each in history.state.steps.items() if each.step.subtask is not None]


# --- what may happen -------------------------------------------------------------------------------------------------


def some(history: History, pick: Pick, *statuses: AttemptStatus) -> AttemptState | None:
    found = history.attempts(*statuses)
    return pick(found) if found else None


def start(history: History, pick: Pick) -> None:
    attempt = some(history, pick, AttemptStatus.SCHEDULED)
    if attempt is not None:
        history.starts(attempt)


def think(history: History, pick: Pick) -> None:
    """A thought is thought: well, or in any way a model may err."""
    thoughts = [attempt for attempt in history.live if history.worker(attempt) != RoleName.WORK]
    if not thoughts:
        return
    attempt = pick(thoughts)
    worker = history.worker(attempt)
    given = history.state.steps[attempt.attempt.rpartition("/a")[0]].step
    covers = tuple(given.input.get("covers", ()))
    value, text = None, pick([None, None, "an answer", "it cites [7]", " "])
    if CORRECTS in given.input:
        text = pick([history.brief(attempt).get("answer", "an answer"), "another answer"])
    elif worker == RoleName.PLAN:
        value = as_written(pick, attempt) if attempt.written and pick([True, True, False]) else proposed_plan(pick)
    elif worker == RoleName.REVIEW:
        value = proposed_review(pick, history, covers)
    elif worker == JUDGE:
        value = proposed_verdicts(pick, history.brief(attempt))
    elif worker == CONFIRM:
        value = {"missing": pick([[], [{"n": 1, "reason": "so it is"}], [{"n": 9, "reason": "so it seems"}]])}
    history.thinks(attempt, value, text)


def think_well(history: History, pick: Pick) -> None:
    """A thought is thought as it should be, so that histories get somewhere."""
    thoughts = [attempt for attempt in history.live if history.worker(attempt) != RoleName.WORK]
    if thoughts:
        attempt = pick(thoughts)
        history.thinks(attempt, history.thought(attempt))


def work(history: History, pick: Pick) -> None:
    """A subtask is carried out as it should be."""
    working = [attempt for attempt in history.live if history.worker(attempt) == RoleName.WORK]
    if working:
        history.works(pick(working))


def fail(history: History, pick: Pick) -> None:
    """An attempt fails, in any class there is; one that works more often than one that thinks."""
    working = [attempt for attempt in history.live if history.worker(attempt) == RoleName.WORK]
    attempt = pick(working or history.live) if history.live else None
    if attempt is not None and (working or pick([True, False, False])):
        history.fails(attempt, pick(list(FailureClass)), pick(["made_up", "unproven", "timeout"]))


def claim(history: History, pick: Pick) -> None:
    """A worker says that it is done, whatever it did; the log knows better."""
    attempt = some(history, pick, AttemptStatus.RUNNING)
    if attempt is not None:
        data = ResultData(summary="done, I swear")
        used = pick([(), ("wo-001.0/t0/c0",), ("wo-009.0/t1/c0",)])
        history.returns(attempt, data=data, used=used)


def ask_model(history: History, pick: Pick) -> None:
    """A model is asked, within the budget; it answers now, later or never."""
    attempt = some(history, pick, AttemptStatus.RUNNING)
    if attempt is None:
        return
    call_id = history.asks_model(attempt, RESERVED)
    if call_id is not None and pick([True, True, False]):
        history.model_answers(attempt.attempt, call_id, pick(USAGES), text="hm", fails=pick([False, False, True]))


def model_answers(history: History, pick: Pick) -> None:
    """A model answers that was asked before."""
    open_calls = [*history.state.reserved]
    if open_calls:
        attempt, call_id = pick(open_calls)
        history.model_answers(attempt, call_id, pick(USAGES), text="hm")


def model_overspends(history: History, pick: Pick) -> None:
    """A provider counts more than was reserved: it is counted all the same."""
    open_calls = [*history.state.reserved]
    if open_calls:
        attempt, call_id = pick(open_calls)
        history.model_answers(attempt, call_id, TOO_MUCH, text="hm")


def call_tool(history: History, pick: Pick) -> None:
    """A tool is called; it answers, fails or is not heard of again."""
    attempt = some(history, pick, AttemptStatus.RUNNING)
    if attempt is not None:
        history.calls_tool(attempt, pick(TOOLS), ok=pick([True, True, False, None]), position=pick([0, 1, 2]))


def park(history: History, pick: Pick) -> None:
    attempt = some(history, pick, AttemptStatus.RUNNING)
    if attempt is not None:
        history.parks(attempt, pick([("approval",), ("asks",), ("approval", "asks"), ("effect",)]))


def answer(history: History, pick: Pick) -> None:
    attempt = some(history, pick, AttemptStatus.PARKED)
    if attempt is not None:
        history.answers_all(attempt, ok=pick([True, False]))


def reply(history: History, pick: Pick) -> None:
    """Somebody answers a question: one that is open, was answered already, is an approval, or was never asked."""
    asked = [*history.state.questions, *history.state.questions, *history.state.approvals, "question-9"]
    history.write(ev.QuestionAnswered(by="me", question_id=pick(asked), text=pick(["here", "there"])))


def lose(history: History, pick: Pick) -> None:
    """A process is given up for dead."""
    attempt = some(history, pick, AttemptStatus.SCHEDULED, AttemptStatus.RUNNING)
    if attempt is not None:
        history.command(do.Lose(attempt=attempt.attempt, failure=failure("lost", "process_died")))


def late(history: History, pick: Pick) -> None:
    """A process given up for dead is not dead, and says what it did."""
    if not history.late:
        return
    attempt = pick(history.late)
    event: ev.AnyEvent = pick(
        [
            ev.AttemptStarted(attempt=attempt, host="host-0"),
            ev.ToolCallBegan(attempt=attempt, call_id="x/t0/c0", tool="look", args={}),
            ev.ToolCallReturned(attempt=attempt, call_id="x/t0/c0", tool="look", ok=True),
            ev.ModelCallReturned(
                attempt=attempt, call_id="x/t1", model="fake", message=AssistantMessage(text="hm"), usage=TOO_MUCH
            ),
            ev.AttemptReturned(attempt=attempt, data=ResultData(summary="at last")),
            ev.AttemptReturned(attempt=attempt, failure=failure("transient")),
        ]
    )
    history.write(event)


def person(history: History, pick: Pick) -> None:
    """Somebody wants it paused or resumed."""
    history.write(
        pick(
            [
                ev.RunRequested(what="pause", by="me"),
                ev.RunRequested(what="resume", by="me"),
                ev.RunRequested(what="resume", by="me"),
            ]
        )
    )


def wish(history: History, pick: Pick) -> None:
    """Somebody wants a subtask done again, left out, or gives its result: one that there is, or is not."""
    key = pick([*subtasks(history), "wo-001.7"])
    history.write(
        pick(
            [
                ev.StepRequested(what="retry", by="me"),
                ev.StepRequested(what="retry", by="me", steps=(key,)),
                ev.StepRequested(what="retry", by="me", steps=(key,), args={"n": 2}),
                ev.StepRequested(what="skip", by="me", steps=(key,)),
                ev.StepRequested(what="supply", by="me", steps=(key,), summary="I know", raw={"n": 3}),
            ]
        )
    )


def cancel(history: History, pick: Pick) -> None:
    if pick([False] * 19 + [True]):
        history.write(ev.RunRequested(what="cancel", by="me"))


def take_over(history: History, pick: Pick) -> None:
    if history.state.finished is None:
        history.taken_over()


def time_passes(history: History, pick: Pick) -> None:
    history.now += timedelta(seconds=pick([0.1, 1, 10]))


def decide_all(history: History, pick: Pick) -> None:
    history.decide_all()


MOVES: dict[Callable[[History, Pick], None], int] = {
    decide_all: 6,
    think: 6,
    write: 4,
    work: 5,
    think_well: 2,
    start: 2,
    fail: 2,
    claim: 1,
    ask_model: 1,
    model_answers: 1,
    call_tool: 1,
    park: 1,
    answer: 1,
    reply: 1,
    lose: 1,
    late: 1,
    person: 1,
    wish: 1,
    cancel: 1,
    take_over: 1,
    time_passes: 1,
}
"""Every move that keeps what was promised to the budget, with how often it is made."""


def walk(seed: int, steps: int, *, to_the_end: bool = False, check: Check = "judge", **more: Any) -> History:
    """A history of about so many random moves that change something, the same for the same seed."""
    random = Random(seed)
    history = History(definition(check, **more))
    moves, weights = list(MOVES), list(MOVES.values())
    for _ in range(4 * steps):
        before, then = len(history.log), history.now
        if history.state.finished is not None or history.stuck or not steps:
            break
        move = random.choices(moves, weights)[0]
        move(history, random.choice)
        steps -= len(history.log) > before
        if (len(history.log), history.now) != (before, then):
            history.moves.add(move)
    if to_the_end and history.state.finished is None:
        history.finish()
    return history


def histories(*, most_steps: int = 40, to_the_end: bool = False) -> st.SearchStrategy[History]:
    """Histories of runs, some of them under way, some over.

    A search makes each of them anew. The fixed examples of all tests are the same ones, which are made only once.
    """
    if not settings().derandomize:
        return _walked(most_steps, to_the_end)
    return st.integers(0, 2 * settings().max_examples - 1).map(lambda n: _kept(n, most_steps, to_the_end).copy())


def _walked(most_steps: int, to_the_end: bool) -> st.SearchStrategy[History]:
    return st.builds(
        walk,
        st.integers(0, 10_000_000),
        st.integers(0, most_steps),
        to_the_end=st.just(value=True) if to_the_end else st.booleans(),
        max_steps=st.integers(1, 4),
        batch_size=st.sampled_from([None, None, 1, 2]),
        check=st.sampled_from(["judge", *CHECKS]),
        strict=st.booleans(),
    )


@cache
def _kept(number: int, most_steps: int, to_the_end: bool) -> History:
    random = Random(f"history {number}")
    return walk(
        random.randint(0, 10_000_000),
        random.randint(0, most_steps) if number else 0,
        to_the_end=random.choice([to_the_end, True]),
        max_steps=random.randint(1, 4),
        batch_size=random.choice([None, None, 1, 2]),
        check=random.choice(["judge", *CHECKS]),
        strict=random.choice([True, False]),
    )


def is_over(history: History) -> bool:
    return history.state.finished is not None or history.state.status is RunStatus.PAUSED
