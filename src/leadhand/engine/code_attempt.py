"""Attempts that Python code of a flow carries out.

The code runs on a thread with an event loop of its own, so code that blocks, hangs or ends its process costs its own
step only. Its calls are made on the loop of the engine, like those of any worker: within its allowance and its rights,
and recorded in the log. When the code runs again, calls that were finished are answered from there.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import inspect
import json
from collections.abc import Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from leadhand.core.commands import FlowError
from leadhand.core.conversation import AssistantMessage, Message, SystemMessage, UserMessage
from leadhand.core.errors import Failure, FailureClass, ToolError
from leadhand.core.state import ModelTurn
from leadhand.core.text import is_blank
from leadhand.core.tool import CallState, Source
from leadhand.core.value import (
    Json,
    Unfit,
    compact_json,
    is_object,
    list_of,
    object_of,
    one_line,
    plain_json,
    shown,
    text_of,
    thawed,
)
from leadhand.core.words.failures import NOT_ACCEPTED
from leadhand.core.work_order import OpenCall
from leadhand.core.work_result import ResultData, WorkResult
from leadhand.core.worker import output_schema
from leadhand.engine.conversation import Conversation, is_final, ordered_call
from leadhand.engine.conversation_turn import Turn
from leadhand.engine.endings import GaveUp, Parked, gave_up, malformed, too_many_turns
from leadhand.engine.gate import OF_A_SECRET, schema_problems
from leadhand.engine.log import RunLog
from leadhand.engine.system_errors import is_passing
from leadhand.engine.threads import CLEARING_UP_S, Ended, Threads, line_of
from leadhand.engine.tool_returns import described
from leadhand.engine.turns import Turns
from leadhand.flows.desk import Code
from leadhand.flows.progress_lines import lines_before
from leadhand.ports import ModelError, Work
from leadhand.ports.models import ModelReply

_T = TypeVar("_T")

LONGEST_SUMMARY = 300
"""Characters of data that a function returned, as JSON, that stand for it as text."""
FIX = "fix the code, then resume or retry the run"
CODE_THREADS = 256
"""Maximum steps that code carries out at once; it waits for its calls most of the time."""
threads = Threads(CODE_THREADS, "leadhand-code")


class CodeAttempt:
    """One attempt at a step of a worker with ``loop="code"``."""

    def __init__(self, work: Work, log: RunLog, turns: Turns) -> None:
        assert work.code is not None
        self._work = work
        self._code: Code = work.code
        self._log = log
        self._turns = turns

    async def carry_out(self) -> WorkResult:
        """Return the result of the code. Raises :class:`~leadhand.engine.turns.Parked` if it has to wait."""
        name = self._work.step.name
        made = await _finished_calls(self._work, self._log)
        desk = CodeDesk(self._work, self._log, self._turns, made)
        try:
            value = await self._run(desk)
            return self._result(desk, value)
        except Parked:
            raise
        except (ModelError, ToolError, FlowError) as error:
            failure = error.failure
        except GaveUp as error:
            failure = gave_up(str(error))
        except Unfit as error:
            failure = self._wrong(one_line(error))
        except Exception as error:  # the code is user code: any exception becomes the failure of this attempt
            words = str(error) if isinstance(error, Ended) else described(error)
            message = f"the code of {name} raised {words}{line_of(error)}"
            failure = Failure.of(message, "exception", FailureClass.INVALID, FIX)
            if isinstance(error, OSError) and is_passing(error):
                kind = "timeout" if isinstance(error, TimeoutError) else "connection"
                failure = Failure.of(message, kind, FailureClass.TRANSIENT)
        return WorkResult.failed(name, failure)

    async def _run(self, desk: CodeDesk) -> Any:
        running = asyncio.ensure_future(threads.run(lambda: asyncio.run(desk.run(self._code))))
        try:
            await asyncio.wait({running, desk.over}, return_when=asyncio.FIRST_COMPLETED)
            return running.result() if running.done() else desk.over.result()
        finally:
            await desk.close()
            await asyncio.wait({running}, timeout=CLEARING_UP_S)
            running.cancel()  # code that ignores its cancellation is abandoned: its desk is closed
            await asyncio.gather(running, return_exceptions=True)

    def _result(self, desk: CodeDesk, value: Json) -> WorkResult:
        name, output = self._work.step.name, self._work.shape
        is_data = self._work.step.kind == "do" and (not isinstance(value, str) or is_blank(value))
        text = value if output is None else self._work.step.worker
        text = compact_json(value)[:LONGEST_SUMMARY] if is_data else text
        if not isinstance(text, str) or is_blank(text):
            return WorkResult.failed(name, self._wrong(f"{shown(value)} is not text, and the worker has no output"))
        if output is not None and (problems := schema_problems(output, value)):
            return WorkResult.failed(name, self._wrong("; ".join(problems)))
        value = None if output is None and not is_data else value
        used = [call for call in desk.made if call.ok]
        if problems := self._work.problems(value, text, used):
            return WorkResult.failed(
                name, Failure.of("; ".join(problems), "bad_thought", FailureClass.INVALID, NOT_ACCEPTED)
            )
        sources: dict[str, Source] = {source.url: source for call in used for source in call.sources}
        sample = any(each.sample for each in (*used, *self._work.needs.values()))
        return WorkResult(
            task_name=name,
            ok=True,
            data=ResultData(summary=text, sources=tuple(sources.values()), sample=sample),
            used=tuple(call.call_id for call in used),
            value=self._work.accepted(value, text, used),
        )

    def _wrong(self, why: str) -> Failure:
        message = f"the code of {self._work.step.name} returned what does not fit: {why}"
        return Failure.of(message, "wrong_result", FailureClass.INVALID, FIX)


async def _finished_calls(work: Work, log: RunLog) -> list[ModelTurn | CallState]:
    """Return the finished calls of the lineage, in full. Those that failed, but not for good, are made again."""
    found: list[ModelTurn | CallState] = []
    for call in work.calls:
        if isinstance(call, ModelTurn):
            found.append(call)
        elif is_final(work, call):
            found.append(call._replace(raw=await log.unpack(call.raw)))
    return found


def asked_messages(instructions: str, asked: Mapping[str, Json]) -> tuple[Message, ...]:
    """Return the messages of what code asks a model: the ``prompt``, and the ``rejected`` answers with the reasons."""
    prompt = asked["prompt"]
    messages: list[Message] = [SystemMessage(text=instructions)] if instructions else []
    messages.append(UserMessage(text=prompt if isinstance(prompt, str) else compact_json(prompt)))
    for each in map(object_of, list_of(asked.get("rejected"))):
        messages += [AssistantMessage(text=text_of(each.get("answer"))), UserMessage(text=text_of(each.get("why")))]
    return tuple(messages)


class CodeDesk:
    """What the code works with, on its own loop; see :class:`~leadhand.flows.desk.Desk`.

    Methods without "on the engine's loop" in their docstring run on the loop of the code.
    """

    def __init__(self, work: Work, log: RunLog, turns: Turns, finished: list[ModelTurn | CallState]) -> None:
        self._work = work
        self._log = log
        self._turns = turns
        self._finished = finished
        """Finished calls of earlier attempts that the code has not made in this one yet."""
        self._numbers = {_number(call.call_id) for call in finished if isinstance(call, ModelTurn)}
        self._place = 0
        self._replies = 0
        self._differs = False
        self._engine = asyncio.get_running_loop()
        self._own: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None
        self._calls: set[asyncio.Task[Any]] = set()
        self._held: list[OpenCall] = []
        self._holding = 0
        self._closed = False
        self._over: asyncio.Future[Any] = self._engine.create_future()
        self._made: list[CallState] = []

    @property
    def over(self) -> asyncio.Future[Any]:
        """Set when the attempt has to end although the code has not."""
        return self._over

    @property
    def made(self) -> tuple[CallState, ...]:
        return tuple(self._made)

    @property
    def name(self) -> str:
        return self._work.step.step_id

    @property
    def brief(self) -> Mapping[str, Any]:
        return thawed(self._work.brief)

    @property
    def feedback(self) -> str:
        return self._work.attempt.feedback

    async def lines(self) -> Sequence[Mapping[str, Any]]:
        return lines_before(self.name, await self._in_engine(self._log.entries()))

    async def run(self, code: Code) -> Json:
        """Run the code, and return its result as JSON. Raises Unfit for what JSON cannot represent."""
        task = asyncio.current_task()
        assert task is not None
        self._own = asyncio.get_running_loop(), task
        if self._closed:
            raise RuntimeError(f"the attempt at {self.name} is over")
        returned = await code(self)
        return plain_json(returned.model_dump(mode="json") if isinstance(returned, BaseModel) else returned)

    # --- models ------------------------------------------------------------------------------------------------------

    async def ask(self, prompt: str | Mapping[str, Any], output: Any = None) -> Any:
        schema = output_schema(output)
        asked: dict[str, Json] = {"prompt": plain_json(prompt if isinstance(prompt, str) else dict(prompt))}
        if schema is not None:
            asked["output"] = schema
        while True:
            turn = await self._turn(asked, asked_messages(self._work.instructions, asked), schema)
            answer, problems = _read(turn, schema, output)
            if not problems:
                return answer
            logged = turn._replace(value=self._log.redacted_value(turn.value))
            if logged.value != turn.value:  # name no part of a secret
                turn, problems = logged, _read(logged, schema, output)[1] or [OF_A_SECRET]
            rejected = list_of(asked.get("rejected"))
            if len(rejected) >= self._work.definition.limits.max_repairs:
                raise ModelError(malformed("; ".join(problems)))
            said = turn.message.text if turn.value is None else json.dumps(turn.value, ensure_ascii=False)
            how = "" if schema is None else "; answer with one JSON object, and nothing else"
            why = f"That cannot be used: {'; '.join(problems)}. Write the whole answer again, with corrections{how}."
            asked = {**asked, "rejected": [*rejected, {"answer": said, "why": why}]}

    async def _turn(self, asked: Json, messages: tuple[Message, ...], schema: Mapping[str, Any] | None) -> ModelTurn:
        self._place = number = self._place + 1
        self._replies += 1
        packed = self._log.pack(asked)[0]
        known = [call for call in self._finished if isinstance(call, ModelTurn) and call.asked == packed]
        if known:
            self._finished.remove(known[0])
            return known[0]
        if number in self._numbers:
            number = max(*self._numbers, self._place) + 1
            self._note_difference()
        self._numbers.add(number)
        if self._work.worker.max_turns is not None and self._replies > self._work.worker.max_turns:
            message = f"no result after {self._work.worker.max_turns} model calls"
            raise ModelError(too_many_turns(message))
        reply: ModelReply = await self._in_engine(self._turns.asked(number, messages, schema, asked))
        return ModelTurn(f"{self.name}/t{number}", reply.message, reply.value)

    # --- tools -------------------------------------------------------------------------------------------------------

    async def call(self, tool: str, /, **args: Json) -> CallState:
        self._place += 1
        known, turn = self._known_call(tool, args), self._turn_of(tool, args)
        if known is not None:
            turn.done[0] = known
        result = known if known is not None and not self._turns.rules.asks(known) else None
        result = result or await self._in_engine(self._called(turn))
        self._made.append(result)
        if result.failure is not None:
            failure = result.failure
            raise ToolError(
                failure.message,
                type=failure.type,
                class_=failure.class_,
                next_action=failure.next_action,
                retry_after_s=failure.retry_after_s,
            )
        return result

    def _turn_of(self, tool: str, args: dict[str, Json]) -> Turn:
        """Return a turn with one call. Its id says what is called, so that no approval covers another call."""
        written = json.dumps([tool, args], sort_keys=True, default=str).encode()
        first = int(hashlib.sha256(written).hexdigest()[:12], 16)
        return Turn(number=self._place, message=ordered_call(tool, args), first=first)

    def _known_call(self, tool: str, args: dict[str, Json]) -> CallState | None:
        """Return the result of a call that was finished before: the one at this place, else an equal one."""
        results = [call for call in self._finished if isinstance(call, CallState)]
        turn = self._turn_of(tool, args)
        call_id = f"{self.name}/t{turn.number}/c{turn.first}"
        same = [call for call in results if call.call_id == call_id]
        same += [call for call in results if (call.tool, call.args) == (tool, args)]
        if same:
            self._finished.remove(same[0])
            return same[0]
        if any(call.call_id.startswith(f"{self.name}/t{turn.number}/c") for call in results):
            self._note_difference()
        return None

    async def _called(self, turn: Turn) -> CallState:
        """Make a call, on the engine's loop; if it has to wait, it never returns, and the attempt is parked."""
        try:
            await self._turns.call(Conversation(self._work, [turn]))
        except Parked as parked:
            self._held += parked.open_calls
            self._holding += 1
            self._rest()
            await asyncio.Event().wait()
        return turn.done[0]

    # --- notes -------------------------------------------------------------------------------------------------------

    def emit(self, message: str) -> None:
        if not self._finished and not self._closed:  # else it was in the log before a call that was finished
            self._note(message)

    def _note_difference(self) -> None:
        if not self._differs:
            self._differs = True
            name = self._work.step.name
            self._note(f"{name} makes other calls than in its earlier attempt, so they are made again")

    def _note(self, message: object) -> None:
        self._engine.call_soon_threadsafe(self._log.note, self._work.attempt.attempt, message)

    # --- between the two loops ---------------------------------------------------------------------------------------

    async def _in_engine(self, call: Coroutine[Any, Any, _T]) -> _T:
        """Make a call on the engine's loop, and wait for it here."""
        if self._closed:
            call.close()
            raise RuntimeError(f"the attempt at {self.name} is over: no more calls can be made")
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._tracked(call), self._engine))

    async def _tracked(self, call: Coroutine[Any, Any, _T]) -> _T:
        """Await a call, on the engine's loop."""
        task = asyncio.current_task()
        assert task is not None
        if self._closed:
            call.close()
            raise asyncio.CancelledError
        self._calls.add(task)
        try:
            return await call
        finally:
            self._calls.discard(task)
            self._rest()

    def _rest(self) -> None:
        """Park the attempt if every call under way has to wait, once the code had a turn to begin others."""
        if self._holding and self._holding == len(self._calls) and self._own is not None:
            with contextlib.suppress(RuntimeError):  # the code has ended
                # Calls that the code began in this turn are among `_calls` one round of the engine's loop later.
                park = partial(self._engine.call_soon, self._park)
                self._own[0].call_soon_threadsafe(self._engine.call_soon_threadsafe, park)

    def _park(self) -> None:
        if self._holding == len(self._calls) and not self.over.done():
            self.over.set_exception(Parked(tuple(self._held)))

    async def close(self) -> None:
        """Stop the code and its calls, on the engine's loop. Later calls are refused."""
        self._closed = True
        if self._own is not None:
            loop, task = self._own
            with contextlib.suppress(RuntimeError):  # the code has ended
                loop.call_soon_threadsafe(task.cancel)
        calls = list(self._calls)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        if self.over.done():
            self.over.exception()  # read, so that asyncio is silent
        self.over.cancel()


def _read(turn: ModelTurn, schema: Mapping[str, Any] | None, output: Any) -> tuple[Any, list[str]]:
    """Return the answer of a model as the code wants it, and what is wrong with it."""
    if schema is None:
        text = turn.message.text.strip()
        return text, ["the answer is empty"] if is_blank(text) else []
    if not is_object(turn.value):
        return None, ["the answer is not one JSON object that matches the schema"]
    if problems := schema_problems(dict(schema), turn.value):
        return None, problems
    if not (inspect.isclass(output) and issubclass(output, BaseModel)):
        return turn.value, []
    try:
        return output.model_validate(turn.value), []
    except ValidationError as error:
        return None, [one_line(error)]


def _number(call_id: str) -> int:
    """Return the number in the id of a model call."""
    return int(call_id.rpartition("/t")[2])
