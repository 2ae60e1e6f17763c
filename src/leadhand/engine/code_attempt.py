"""Attempts that Python code of a flow carries out.

A coroutine runs on the loop of the engine, and a function that blocks on a thread. The calls of a coroutine are those
of any worker: within its allowance and its rights, and recorded in the log. When the code runs again, calls that were
finished are answered from there.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from leadhand.core.commands import FlowError
from leadhand.core.conversation import AssistantMessage, Message, SystemMessage, UserMessage
from leadhand.core.errors import Failure, FailureClass, ToolError
from leadhand.core.state import ModelTurn
from leadhand.core.text import is_blank
from leadhand.core.tool import CallState, Source
from leadhand.core.value import Json, Unfit, compact_json, is_object, one_line, plain_json, thawed
from leadhand.core.words.failures import NOT_ACCEPTED
from leadhand.core.work_order import OpenCall
from leadhand.core.work_result import ResultData, WorkResult, summary_of
from leadhand.core.worker import output_schema
from leadhand.engine.contained import contained, watched
from leadhand.engine.conversation import Conversation, is_final, ordered_call
from leadhand.engine.conversation_turn import Turn
from leadhand.engine.endings import GaveUp, Parked, gave_up, malformed, too_many_turns
from leadhand.engine.gate import OF_A_SECRET, schema_problems
from leadhand.engine.log import RunLog
from leadhand.engine.system_errors import is_passing
from leadhand.engine.threads import CLEARING_UP_S, Ended, Threads, line_of
from leadhand.engine.tool_returns import described
from leadhand.engine.turns import Turns
from leadhand.flows.progress_lines import lines_before
from leadhand.ports import ModelError, Work

_T = TypeVar("_T")

FIX = "fix the code, then resume or retry the run"


class CodeAttempt:
    """One attempt at a step of a worker with ``loop="code"``; functions that block run on the ``threads``."""

    def __init__(self, work: Work, log: RunLog, turns: Turns, threads: Threads) -> None:
        self._work, self._log, self._turns, self._threads = work, log, turns, threads

    async def carry_out(self) -> WorkResult:
        """Return the result of the code. Raises :class:`~leadhand.engine.endings.Parked` if it has to wait."""
        name, made = self._work.step.name, list[ModelTurn | CallState]()
        for call in self._work.calls:
            if isinstance(call, ModelTurn):
                made.append(call)
            elif is_final(self._work, call):  # another one is made again
                made.append(call._replace(raw=await self._log.unpack(call.raw)))
        desk = AttemptDesk(self._work, self._log, self._turns, made)
        running = asyncio.ensure_future(self._value(desk))
        try:
            await asyncio.wait({running, desk.parked}, return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                raise Parked(tuple(desk.held))
            return self._result(desk, running.result())
        except (ModelError, ToolError, FlowError) as error:
            failure = error.failure
        except GaveUp as error:
            failure = gave_up(str(error))
        except Unfit as error:
            message = f"the code of {name} returned what does not fit: {one_line(error)}"
            failure = Failure.of(message, "wrong_result", FailureClass.INVALID, FIX)
        except Parked:
            raise
        except Exception as error:  # the code is user code: any exception becomes the failure of this attempt
            words = str(error) if isinstance(error, Ended) else described(error)
            message = f"the code of {name} raised {words}{line_of(error)}"
            failure = Failure.of(message, "exception", FailureClass.INVALID, FIX)
            if isinstance(error, OSError) and is_passing(error):
                kind = "timeout" if isinstance(error, TimeoutError) else "connection"
                failure = Failure.of(message, kind, FailureClass.TRANSIENT)
        finally:
            running.cancel()
            await desk.close()
            await asyncio.gather(running, return_exceptions=True)
        return WorkResult.failed(name, failure)

    async def _value(self, desk: AttemptDesk) -> Json:
        """Run the code, and return its result as JSON. Raises Unfit for what JSON cannot represent."""
        assert self._work.code is not None
        made = self._work.code(desk)
        if inspect.iscoroutine(made):
            note = partial(self._log.note, self._work.attempt.attempt)
            returned = await contained(watched(made, note))
        else:
            returned = await self._threads.run(made)
        return plain_json(returned.model_dump(mode="json") if isinstance(returned, BaseModel) else returned)

    def _result(self, desk: AttemptDesk, value: Json) -> WorkResult:
        """Return a result: text, if the worker has no output, else data. Raises Unfit for data that does not match."""
        name, output = self._work.step.name, self._work.shape
        if output is not None and (problems := schema_problems(output, value)):
            raise Unfit("; ".join(problems))
        is_text = output is None and isinstance(value, str) and not is_blank(value)
        text = str(value) if is_text else summary_of(value) if output is None else self._work.step.worker
        value, used = None if is_text else value, [call for call in desk.made if call.ok]
        if problems := self._work.problems(value, text, used):
            failure = Failure.of("; ".join(problems), "bad_thought", FailureClass.INVALID, NOT_ACCEPTED)
            return WorkResult.failed(name, failure)
        sources: dict[str, Source] = {source.url: source for call in used for source in call.sources}
        sample = any(each.sample for each in (*used, *self._work.needs.values()))
        return WorkResult(
            task_name=name,
            ok=True,
            data=ResultData(summary=text, sources=tuple(sources.values()), sample=sample),
            used=tuple(call.call_id for call in used),
            value=self._work.accepted(value, text, used),
        )


class AttemptDesk:
    """What the code works with in one attempt; see :class:`~leadhand.flows.desk.Desk`."""

    def __init__(self, work: Work, log: RunLog, turns: Turns, finished: Sequence[ModelTurn | CallState]) -> None:
        self._work, self._log, self._turns = work, log, turns
        self._replies = [call for call in finished if isinstance(call, ModelTurn)]
        self._results = {call.call_id: call for call in finished if isinstance(call, CallState)}
        """Finished calls of earlier attempts that the code has not made in this one yet, as the replies are."""
        self._model_calls = {call.call_id for call in self._replies}
        self._asked = 0
        self._equal = Counter[int]()
        self._open: set[asyncio.Task[Any]] = set()
        self._waiting = 0
        self._is_over = False
        self._loop = asyncio.get_running_loop()
        self.parked: asyncio.Future[None] = self._loop.create_future()
        """Set when all calls under way have to wait for a person."""
        self.held: list[OpenCall] = []
        self.made: list[CallState] = []

    @property
    def brief(self) -> Mapping[str, Any]:
        return thawed(self._work.brief)

    async def lines(self) -> Sequence[Mapping[str, Any]]:
        return lines_before(self._work.step.step_id, await self._log.entries())

    def emit(self, message: str) -> None:
        # Before a call that was finished, it is in the log already. The code may be on a thread of its own making.
        if not (self._replies or self._results or self._is_over):
            self._loop.call_soon_threadsafe(self._log.note, self._work.attempt.attempt, message)

    async def ask(self, prompt: str | Mapping[str, Any], output: Any = None) -> Any:
        schema = output_schema(output)
        asked: dict[str, Json] = {"prompt": plain_json(prompt if isinstance(prompt, str) else dict(prompt))}
        if schema is not None:
            asked["output"] = schema
        text = compact_json(asked["prompt"]) if not isinstance(asked["prompt"], str) else asked["prompt"]
        messages: list[Message] = [UserMessage(text=text)]
        if self._work.instructions:
            messages.insert(0, SystemMessage(text=self._work.instructions))
        rejected = list[Json]()
        while True:
            turn = await self._awaited(self._reply(asked, tuple(messages), schema))
            answer, problems = _read(turn, schema, output)
            if not problems:
                return answer
            logged = self._log.redacted_value(turn.value)
            if logged != turn.value:  # what is said about it names no part of a secret
                problems = _read(turn._replace(value=logged), schema, output)[1] or [OF_A_SECRET]
            if len(rejected) >= self._work.definition.limits.max_repairs:
                raise ModelError(malformed("; ".join(problems)))
            said = turn.message.text if logged is None else json.dumps(logged, ensure_ascii=False)
            how = "" if schema is None else "; answer with one JSON object, and nothing else"
            why = f"That cannot be used: {'; '.join(problems)}. Write the whole answer again, with corrections{how}."
            rejected.append({"answer": said, "why": why})
            asked = {**asked, "rejected": [*rejected]}
            messages += [AssistantMessage(text=said), UserMessage(text=why)]

    async def _reply(self, asked: Json, messages: tuple[Message, ...], schema: Mapping[str, Any] | None) -> ModelTurn:
        self._asked += 1
        packed, step, most = self._log.pack(asked)[0], self._work.step.step_id, self._work.worker.max_turns
        known = next((call for call in self._replies if call.asked == packed), None)
        if known is not None:
            self._replies.remove(known)
            return known
        if most is not None and self._asked > most:
            raise ModelError(too_many_turns(f"no result after {most} model calls"))
        number = next(each for each in count(1) if f"{step}/t{each}" not in self._model_calls)
        self._model_calls.add(f"{step}/t{number}")
        reply = await self._turns.asked(number, messages, schema, asked)
        return ModelTurn(f"{step}/t{number}", reply.message, reply.value)

    async def call(self, tool: str, /, **args: Json) -> CallState:
        # The id says what is called, and how often it was before, so that no approval covers another call.
        written = json.dumps([tool, args], sort_keys=True, default=str).encode()
        first = int(hashlib.sha256(written).hexdigest()[:12], 16)
        self._equal[first] += 1
        turn = Turn(number=self._equal[first], message=ordered_call(tool, args), first=first)
        known = self._results.pop(self._turns.rules.call_id(turn, 0), None)
        if known is not None:
            turn.done[0] = known
        await self._awaited(self._turns.call(Conversation(self._work, [turn])))
        result = turn.done[0]
        self.made.append(result)
        if (failure := result.failure) is not None:
            raise ToolError(
                failure.message,
                type=failure.type,
                class_=failure.class_,
                next_action=failure.next_action,
                retry_after_s=failure.retry_after_s,
            )
        return result

    async def _awaited(self, call: Coroutine[Any, Any, _T]) -> _T:
        """Await a call. One that has to wait for a person never returns: the attempt is parked."""
        task = asyncio.current_task()
        if self._is_over or task is None:
            call.close()
            raise RuntimeError(f"the attempt at {self._work.step.step_id} is over: no more calls can be made")
        self._open.add(task)
        try:
            return await call
        except Parked as parked:
            self.held += parked.open_calls
            self._waiting += 1
            self._loop.call_soon(self._park)
            return await self._loop.create_future()
        finally:
            self._open.discard(task)
            self._loop.call_soon(self._park)

    def _park(self) -> None:
        if 0 < self._waiting == len(self._open) and not self.parked.done():
            self.parked.set_result(None)

    async def close(self) -> None:
        """Stop the calls under way. Later ones are refused, since code may ignore that it was cancelled."""
        self._is_over = True
        self.parked.cancel()
        for task in self._open:
            task.cancel()
        if self._open:
            await asyncio.wait(self._open, timeout=CLEARING_UP_S)


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
