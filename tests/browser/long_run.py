"""A run of 1,000 workers and 10,000 events, written into a store as by a run that was paused."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from leadhand.core.conversation import AssistantMessage, ToolCall
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.events import (
    AnyEvent,
    AttemptReturned,
    AttemptScheduled,
    AttemptStarted,
    ModelCallBegan,
    ModelCallReturned,
    OrderIssued,
    RunFinished,
    RunStarted,
    RunStatusSet,
    StepIssued,
    StepSettled,
    ToolCallBegan,
    ToolCallReturned,
)
from leadhand.core.ids import step_of
from leadhand.core.limits import Limits, Usage
from leadhand.core.run import Gap, ModelChoice, RunDefinition, RunStatus
from leadhand.core.tool import Source
from leadhand.core.work_order import Step, Subtask, WorkOrder
from leadhand.core.work_result import ResultData
from leadhand.flows.work_order.roles import RoleName
from leadhand.stores.opening import open_store

RUN = "run_thousand"
REQUEST = "Measure the noise at a thousand crossings of the city"
WORKERS = 1_000
EVENTS = 10_000
FAILED = [n for n in range(WORKERS) if n % 50 == 7]
RETRIED = [n for n in range(WORKERS) if n % 50 == 31]
LOST = Failure.model_validate({"message": "the line is dead", "type": "timeout", "class": FailureClass.TRANSIENT})
BROKEN = Failure.model_validate(
    {"message": "the microphone is broken", "type": "broken", "class": FailureClass.UNAVAILABLE}
)


async def write_long_run(home: Path, *, workers: int = WORKERS, ended: bool = False) -> None:
    """Write the run into the database of a home: paused while its last workers are running, or ``ended``."""
    home.mkdir(parents=True, exist_ok=True)
    store = await open_store(str(home / "leadhand.db"))
    definition = RunDefinition(
        request=REQUEST, flow="work-order", models=ModelChoice(default="scripted"), limits=Limits(max_workers=100)
    )
    await store.create(RUN, RunStarted(definition=definition))
    subtasks = tuple(
        Subtask(name=f"crossing_{n}", tool="measure", args={"place": f"crossing {n}"}) for n in range(workers)
    )
    order = WorkOrder(work_order_id="wo-001", goal="the noise everywhere", subtasks=subtasks)
    events: list[AnyEvent] = [OrderIssued(order=order)]
    events += [event for n in range(workers) for event in events_of(n)]
    if not ended:
        events = events[: EVENTS - 2]  # the last workers are running
    for first in range(0, len(events), 500):
        await store.append(RUN, events[first : first + 500])
    await store.append(RUN, [_end(workers) if ended else RunStatusSet(status=RunStatus.PAUSED, reason="for the night")])
    await store.release(RUN, 1)
    await store.aclose()


def _end(workers: int) -> RunFinished:
    rows = "\n".join(f"| crossing {n} | {40 + n % 30} dB |" for n in range(workers) if n not in FAILED)
    gaps = tuple(
        Gap(
            work_order_id="wo-001", subtask_index=n, step=f"wo-001.{n}", name=f"crossing_{n}",
            class_=BROKEN.class_, reason=BROKEN.message,
        )
        for n in FAILED
        if n < workers
    )  # fmt: skip
    answer = f"Noise at {workers} crossings:\n\n| Crossing | Noise |\n|---|---:|\n{rows}\n"
    return RunFinished(status=RunStatus.PARTIAL, answer=answer, gaps=gaps)


def events_of(n: int) -> list[AnyEvent]:
    """Return the events of one worker: 10, or 16 of a worker with two attempts."""
    key = f"wo-001.{n}"
    begun: list[AnyEvent] = [StepIssued(step=Step(step_id=key, worker=RoleName.WORK))]
    if n in FAILED:
        return begun + attempt(n, 1, BROKEN, final=True)
    if n in RETRIED:
        again = AttemptScheduled(attempt=f"{key}/a2", continues=f"{key}/a1", not_before=datetime.now(UTC))
        return [*begun, *attempt(n, 1, LOST, final=False), again, *attempt(n, 2, None, final=True)]
    return begun + attempt(n, 1, None, final=True)


def attempt(n: int, number: int, failure: Failure | None, *, final: bool) -> list[AnyEvent]:
    """Return the events of one attempt: the model requests a call, the call is made, the model reports on it."""
    key = f"wo-001.{n}"
    id_, args = f"{key}/a{number}", {"place": f"crossing {n}"}
    call, first, second = f"{key}/t0/c0", f"{key}/t0", f"{key}/t1"
    request = AssistantMessage(tool_calls=(ToolCall(id="call_0", name="measure", arguments=args, raw=""),))
    report = f"crossing {n}: {40 + n % 30} dB"
    source = Source(title=f"meter {n}", url=f"https://example.org/meters/{n}")
    usage = Usage(requests=1, input_tokens=180, output_tokens=20, nanousd=40_000)
    data, used = (ResultData(summary=report, sources=(source,)), (call,)) if failure is None else (None, ())
    return [
        AttemptStarted(attempt=id_, host="gone"),
        ModelCallBegan(attempt=id_, call_id=first, model="scripted"),
        ModelCallReturned(attempt=id_, call_id=first, model="scripted", message=request, usage=usage, duration_ms=400),
        ToolCallBegan(attempt=id_, call_id=call, tool="measure", args=args),
        ToolCallReturned(
            attempt=id_,
            call_id=call,
            tool="measure",
            ok=failure is None,
            summary=report if failure is None else None,
            raw={"dB": 40 + n % 30} if failure is None else None,
            sources=(source,) if failure is None else (),
            failure=failure,
        ),
        ModelCallBegan(attempt=id_, call_id=second, model="scripted"),
        ModelCallReturned(
            attempt=id_, call_id=second, model="scripted", message=AssistantMessage(text=report), usage=usage
        ),
        AttemptReturned(attempt=id_, data=data, failure=failure, used=used),
        StepSettled(step=step_of(id_), attempt=id_, ok=failure is None, final=final, failure=failure),
    ]
