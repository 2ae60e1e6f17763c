"""One event of every type with every field filled in: what the golden log is made of.

``python tests/stores/store_samples.py > tests/stores/golden/log.jsonl`` writes it anew.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from leadhand.core import events
from leadhand.core.approval import Approval, Question
from leadhand.core.artifact import Blob
from leadhand.core.conversation import AssistantMessage, Opaque, ToolCall, UserMessage
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.ids import step_of
from leadhand.core.limits import Ceiling, Limits, Money, Usage
from leadhand.core.run import CitedSource, ForkPoint, Gap, ModelChoice, RunDefinition, RunStatus
from leadhand.core.tool import (
    ApprovalPolicy,
    DefineWorker,
    Delegate,
    Effect,
    SetTodos,
    Source,
    Todo,
    ToolSpec,
    WriteArtifact,
)
from leadhand.core.work_order import OpenCall, Step, Subtask, Unsupported, WorkOrder
from leadhand.core.work_result import (
    Claim,
    ClaimVerdict,
    Doubt,
    Judgement,
    ResultData,
    Review,
    Verdict,
    VerdictKind,
)
from leadhand.core.worker import Worker

AT = datetime(2026, 11, 21, 10, 0, 0, 123_456, tzinfo=UTC)
FAILURE = Failure.model_validate(
    {
        "message": "Hotel API timeout",
        "type": "timeout",
        "class": FailureClass.TRANSIENT,
        "next_action": "try again",
        "retry_after_s": 1.5,
    }
)
TOOL = ToolSpec(
    name="weather_tool",
    description="Weather at a place",
    parameters={"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]},
    effect=Effect.IDEMPOTENT,
    timeout_s=12.5,
    retries=1,
    approval=ApprovalPolicy.AUTO,
    import_path="leadhand.tools.weather:weather",
    fingerprint="sha256:00ff",
)
WORKER = Worker(
    name="work",
    instructions="Be brief.",
    model="offline",
    output={"type": "object"},
    tools=("weather_tool",),
    loop="turns",
    counts=True,
    max_turns=4,
    max_requests=5,
    max_tokens=6_000,
    budget=0.25,
    elements="subtasks",
)
DEFINITION = RunDefinition(
    request="Travel advice for Paris: “Grüße”, 世界 🎈",
    flow="work-order",
    models=ModelChoice(default="offline", by_use={"plan": "openai_compatible:llama3.1"}),
    tools=(TOOL,),
    limits=Limits(
        max_steps=3,
        max_workers=32,
        batch_size=4,
        budget_nanousd=1_000_000_000,
        max_requests=100,
        max_tokens=100_000,
        max_output_tokens=2_000,
        timeout_s=None,
        attempt_timeout_s=300.0,
        max_turns=8,
        max_repairs=2,
        max_retries=2,
    ),
    approve=ApprovalPolicy.NEVER,
    offline=True,
    detached=True,
    held_back=Money(requests=1, tokens=4_000, nanousd=7),
    options={"max_revisions": 2},
    by="Ann",
    submission="0" * 64,
    workers=(WORKER,),
    forked_from=ForkPoint(run_id="run-0", seq=7),
)
SOURCE = Source(title="Open-Meteo", url="https://open-meteo.com/")
ORDER = WorkOrder(
    work_order_id="wo-002",
    goal="Travel advice for Paris",
    subtasks=(
        Subtask(
            name="check_weather",
            args={"location": "Paris, France", "lat": {"$result": {"subtask": "wo-001.0", "path": "/raw/lat"}}},
            tool="weather_tool",
            needs=("wo-001.0",),
            expected_output="one line",
            worker="meteorologist",
            repairs_subtask="wo-001.1",
        ),
    ),
    repairs="wo-001",
)
CEILING = Ceiling(requests=3, tokens=4_000, nanousd=5)
ASKS = (
    Delegate(
        title="Find hotels",
        worker="work",
        input={"n": 3},
        tools=("weather_tool",),
        model="offline",
        instructions="Be quick.",
    ),
    DefineWorker(name="poet", instructions="Write verse.", description="writes verse", model="offline", tools=()),
    WriteArtifact(path="notes/day-1.md", digest=f"sha256:{'0' * 64}", size=12),
    SetTodos(todos=(Todo(id="1", content="look around", status="in_progress", priority="high"),)),
)
PROPOSED = Subtask(name="find_hotels", tool="hotel_tool", args={"n": 3}, needs=(0, "wo-001.0"))
MESSAGE = AssistantMessage(
    text="Let me look.",
    tool_calls=(
        ToolCall(id="call-1", name="weather_tool", arguments={"location": "Paris"}, raw='{"location":"Paris"}'),
        ToolCall(id="call-2", name="weather_tool", arguments=None, raw="{oops"),
    ),
    opaque=Opaque(adapter="anthropic", model="m", data={"signature": "abc="}),
)
ATTEMPT = "wo-001.0/a1"

SAMPLES: tuple[events.AnyEvent, ...] = (
    events.RunStarted(definition=DEFINITION),
    events.RunClaimed(owner="host-1-abcd"),
    events.OrderIssued(order=ORDER),
    events.StepIssued(
        step=Step(
            step_id="review-wo-001.0",
            worker="review",
            title="Review the weather",
            input={"covers": ["wo-001.0"], "whole": True},
            needs=("wo-001.0",),
            parent="lead/a1",
            tools=("weather_tool",),
            model="offline",
            instructions="Be strict.",
            subtask=ORDER.subtasks[0],
            counts=True,
            final=True,
        )
    ),
    events.AttemptScheduled(
        attempt="wo-001.0/a2", continues=ATTEMPT, not_before=AT + timedelta(seconds=2), feedback="lat is missing"
    ),
    events.StepSettled(step=step_of(ATTEMPT), attempt=ATTEMPT, ok=False, final=True, failure=FAILURE),
    events.AttemptReturned(attempt=ATTEMPT, failure=FAILURE, lost=True),
    events.ResultsJudged(
        work_order_id="wo-001",
        review=Review(
            verdicts=(Verdict(subtask="wo-001.0", verdict=VerdictKind.REPLAN, reason="stale", replacement=PROPOSED),),
            complete=False,
            missing=(PROPOSED,),
            cannot=(Unsupported(what="a", reason="b"),),
            answer="Take an umbrella.",
        ),
    ),
    events.ApprovalRequested(
        approval=Approval(
            approval_id="wo-001.0/t0/c0", attempt=ATTEMPT, tool="book", args={"n": 1}, effect=Effect.ONCE, by="me"
        )
    ),
    events.ApprovalAnswered(approval_id="wo-001.0/t0/c0", approve=False, expired=True),
    events.AttemptParked(
        attempt=ATTEMPT,
        open_calls=(OpenCall(call_id="wo-001.0/t0/c0/effect", kind="effect", tool="book", args={"n": 1}),),
    ),
    events.RunStatusSet(status=RunStatus.RUNNING, by="me"),
    events.RunStatusSet(status=RunStatus.RUNNING, slept_s=90.5),
    events.RequestDecided(what="retry", steps=("wo-001.0",), args={"n": 2}, by="me"),
    events.StepSettled(step="wo-001.0", ok=True, data=ResultData(summary="it is two", raw=2), by="me"),
    events.RequestDecided(what="retry", by="me", declined="no subtask has failed"),
    events.RequestDecided(what="retry", by="me", steps=("writer",), workers={"writer": "writer.3f2a"}),
    events.RunStatusSet(status=RunStatus.PAUSED, reason="Ctrl-C"),
    events.RunStatusSet(status=RunStatus.WAITING, reason="one approval"),
    events.RunStatusSet(status=RunStatus.RUNNING),
    events.RunFinished(
        status=RunStatus.PARTIAL,
        answer="Take an umbrella.",
        sources=(CitedSource(title="Open-Meteo", url="https://open-meteo.com/", event_id="e-12"),),
        gaps=(
            Gap.model_validate(
                {
                    "work_order_id": "wo-001",
                    "subtask_index": 1,
                    "step": "wo-001.1",
                    "name": "find_hotels",
                    "class": FailureClass.UNAVAILABLE,
                    "reason": "no key",
                    "next_action": "set the key",
                }
            ),
        ),
        failure=FAILURE,
        judgement=Judgement(
            claims=(
                Claim(
                    n=1, text="Take an umbrella [1].", cites=("1",), start=0, end=21, verdict=ClaimVerdict.UNCONFIRMED
                ),
            ),
            doubts=(
                Doubt(
                    n=1,
                    claim="Take an umbrella [1].",
                    part="umbrella",
                    verdict=ClaimVerdict.UNCONFIRMED,
                    why="no rain",
                    quote="dry",
                    evidence="wo-001.0",
                ),
            ),
            judged_by="offline",
        ),
        sample=True,
    ),
    events.QuestionAsked(question=Question(id="q-1", text="Which Paris?", choices=("France", "Texas"), holds=True)),
    events.QuestionAsked(question=Question(id="t-1", kind="timer", text="", expires_at=AT, default="late")),
    events.QuestionAnswered(by="me", question_id="q-1", text="France"),
    events.QuestionAnswered(question_id="q-2", text="Oslo", expired=True),
    events.SignalSent(by="me", name="paid", value={"amount": 12.5}),
    events.AttemptStarted(attempt=ATTEMPT, host="host-1-abcd"),
    events.ModelCallBegan(
        attempt=ATTEMPT,
        call_id="wo-001.0/t0",
        model="offline",
        reserved=Money(requests=1, tokens=2_500, nanousd=10),
        kept=Money(tokens=500),
        within=(replace(CEILING, scope="wo-001.0"),),
        request=(Blob(digest=f"sha256:{'0' * 64}", size=5_000), UserMessage(text="Weather in Paris?"), MESSAGE),
        continues="wo-001.0/t0",
    ),
    events.ModelCallReturned(
        attempt=ATTEMPT,
        call_id="wo-001.0/t0",
        model="offline",
        message=MESSAGE,
        value={"goal": "g", "subtasks": []},
        failure=FAILURE,
        usage=Usage(requests=2, input_tokens=400, output_tokens=30, nanousd=8),
        finish_reason="tool_calls",
        duration_ms=812,
    ),
    events.ConversationCompacted(attempt="wo-001.0/a1", through=1, keep=4_000),
    events.ToolCallBegan(
        attempt=ATTEMPT, call_id="wo-001.0/t0/c0", tool="book", args={"place": "Chez Zoé"}, effect=Effect.ONCE
    ),
    events.ToolCallReturned(
        attempt=ATTEMPT,
        call_id="wo-001.0/t0/c0",
        tool="weather_tool",
        ok=True,
        summary="12 °C, rain",
        raw={"$blob": "sha256:00ff", "bytes": 5_000},
        sources=(SOURCE,),
        sample=True,
        asks=ASKS,
        failure=FAILURE,
        duration_ms=95,
    ),
    events.AttemptReturned(
        attempt=ATTEMPT,
        data=ResultData(summary="12 °C, rain", raw={"t": 12.0}, sources=(SOURCE,), sample=True),
        used=("wo-001.0/t0/c0",),
    ),
    events.AttemptReturned(attempt="wo-001.1/a1", failure=FAILURE, used=("x",)),
    events.AttemptParked(
        attempt=ATTEMPT, open_calls=(OpenCall(call_id="wo-001.0/t0/c0", kind="approval", tool="book", args={"n": 1}),)
    ),
    events.RunRequested(what="cancel", by="me"),
    events.RunRequested(what="pause", by="me", reason="lunch"),
    events.RunRequested(what="resume", by="me"),
    events.ApprovalAnswered(
        by="me", approval_id="wo-001.0/t0/c0", approve=True, args_hash="00ff", args={"n": 2}, reason="go on"
    ),
    events.ApprovalAnswered(
        by="me", approval_id="wo-001.0/t0/c0/effect", approve=True, reason="it went through", raw={"receipt": 7}
    ),
    events.RunChanged(
        by="me", limits=DEFINITION.limits, held_back=Money(requests=1, tokens=4_000, nanousd=7), held_back_s=30.0
    ),
    events.StepRequested(what="retry", by="me", steps=("wo-001.0",), args={"n": 2}),
    events.StepRequested(what="skip", by="me", steps=("wo-001.0",), reason="too dear"),
    events.StepRequested(what="supply", by="me", steps=("wo-001.0",), summary="it is two", raw={"n": 2}),
    events.CallAnswered(call_id="wo-001.0/t0/c1", ok=True, content="done"),
    events.WorkerDefined(attempt=ATTEMPT, worker=WORKER.evolve(name="poet"), description="writes verse"),
    events.ArtifactWritten(attempt=ATTEMPT, path="notes/day-1.md", digest=f"sha256:{'0' * 64}", size=12),
    events.TodosSet(attempt=ATTEMPT, todos=ASKS[3].todos),
    events.NoteEmitted(attempt=ATTEMPT, message="looking around"),
    events.ElementWritten(attempt="plan/a1", index=3, value={"name": "check_weather", "tool": "weather_tool"}),
    events.NoteEmitted(attempt="plan/a1", message="there is no tool weather", refused=True),
    events.RunChanged(by="me", name="nightly", tags={"team": "data"}),
    events.ToolCallReturned(
        attempt=ATTEMPT,
        call_id="wo-001.0/t0/c1",
        tool="book",
        ok=False,
        blocked_args={"place": "Chez Zoé"},
        effect=Effect.ONCE,
        failure=FAILURE,
    ),
)


def golden() -> list[str]:
    """The lines of a golden log: the columns of :data:`SAMPLES` as they are stored today."""
    from leadhand.stores.codec import encode, microseconds

    lines: list[str] = []
    for seq, event in enumerate(SAMPLES, start=1):
        type_, version, subject, body = encode(event).columns
        row = {"seq": seq, "at": microseconds(AT) + seq, "epoch": 1, "type": type_, "version": version}
        lines.append(json.dumps({**row, "subject": subject, "body": body}))
    return lines


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in golden())
