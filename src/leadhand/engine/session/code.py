"""Attempts that Python code of a flow carries out.

A coroutine runs on the loop of the engine, and a function that blocks on a thread. The calls of a coroutine are those
of any worker: within its allowance and its rights, and recorded in the log. When the code runs again, calls that were
finished are answered from there.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from copy import deepcopy
from functools import partial
from itertools import count
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from leadhand.core.conversation import AssistantMessage, Message, SystemMessage, UserMessage
from leadhand.core.errors import Failure, FailureClass, FlowError, ToolError
from leadhand.core.events import AttemptReturned
from leadhand.core.ids import model_call_id, place_of
from leadhand.core.state import ModelTurn
from leadhand.core.text import REDACTED, is_blank
from leadhand.core.tool import CallState
from leadhand.core.value import Json, Unfit, compact_json, is_object, one_line, plain_json
from leadhand.core.words.failures import NOT_ACCEPTED
from leadhand.core.work_order import OpenCall
from leadhand.core.work_result import summary_of
from leadhand.core.worker import output_schema
from leadhand.engine.gate import malformed, schema_problems
from leadhand.engine.session.answers import completed, failed, too_many_turns, write_again
from leadhand.engine.session.attempt import Attempt, Parked
from leadhand.engine.session.conversation import is_final, ordered_turn
from leadhand.engine.threads import CLEARING_UP_S, contained, failure_of, watched
from leadhand.flows.progress_lines import progress_lines
from leadhand.ports import ModelError

_T = TypeVar("_T")

FIX = "fix the code, then retry the run"


class CodeSession(Attempt):
    """An attempt that code carries out: it is the :class:`~leadhand.flows.flow.Desk` of the code."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        # Finished calls of earlier attempts that the code has not made in this one yet; others are made again.
        lineage = self._work.lineage
        self._replies = [call for call in lineage.calls if isinstance(call, ModelTurn)]
        self._results = {call.call_id: call for call in lineage.evidence if is_final(self._work, call)}
        self._numbers = {place_of(call.call_id)[0] for call in self._replies}
        self._count = 0
        self._equal = Counter[int]()
        self._made: list[CallState] = []
        self._open: set[asyncio.Task[Any]] = set()
        self._held: list[tuple[OpenCall, ...]] = []
        """The calls for which each task that cannot go on waits."""
        self._is_over = False
        self._loop = asyncio.get_running_loop()
        self._parked: asyncio.Future[None] = self._loop.create_future()
        """Set when all open calls have to wait for a person."""

    async def carry_out(self) -> AttemptReturned:
        """Return the end of the attempt. Raises Parked if it has to wait."""
        running = asyncio.ensure_future(self._returned())
        try:
            await asyncio.wait({running, self._parked}, return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                raise Parked(tuple(call for calls in self._held for call in calls))
        finally:  # open calls are stopped, and later ones refused: code may ignore that it was cancelled
            self._is_over = True
            running.cancel()
            self._parked.cancel()
            for task in self._open:
                task.cancel()
            if self._open:
                await asyncio.wait(self._open, timeout=CLEARING_UP_S)
            await asyncio.gather(running, return_exceptions=True)
        name = self._work.step.name
        try:
            return self._result(running.result())
        except (ModelError, ToolError, FlowError) as error:
            failure = error.failure
        except Unfit as error:
            message = f"the code of {name} returned what does not fit: {one_line(error)}"
            failure = Failure.of(message, "wrong_result", FailureClass.INVALID, FIX)
        except Exception as error:  # the code is user code: any exception becomes the failure of this attempt
            failure = failure_of(error, f"the code of {name}", FIX)
        return failed(self._work, failure)

    async def _returned(self) -> Any:
        """Run the code, and return what it returns."""
        code = self._work.details.code
        assert code is not None
        made = code(self)
        if callable(made):
            return await self._tools.threads.run(made)
        return await contained(watched(made, partial(self._log.note, self._work.attempt.attempt)))

    def _result(self, returned: Any) -> AttemptReturned:
        """Return a result: text, if the worker has no output, else data. Raises Unfit for data that does not match."""
        work, output = self._work, self._work.shape
        value = plain_json(returned.model_dump(mode="json") if isinstance(returned, BaseModel) else returned)
        if output is not None and (problems := schema_problems(output, value)):
            raise Unfit("; ".join(problems))
        is_text = output is None and isinstance(value, str) and not is_blank(value)
        text = str(value) if is_text else summary_of(value) if output is None else work.step.worker
        value = None if is_text else value
        if problems := work.problems(value, text, self._made):
            failure = Failure.of("; ".join(problems), "bad_thought", FailureClass.INVALID, NOT_ACCEPTED)
            return failed(work, failure)
        return completed(work, self._made, text, work.accepted(value, text, self._made))

    # --- what the code works with ------------------------------------------------------------------------------------

    @property
    def brief(self) -> Mapping[str, Any]:
        return deepcopy(self._work.brief)

    async def lines(self) -> Sequence[Mapping[str, Any]]:
        return [*progress_lines(await self._log.entries(), self._work.step.step_id)]

    def emit(self, message: str) -> None:
        # Before a call that was finished, it is in the log already. The code may be on a thread of its own making.
        if not (self._replies or self._results or self._is_over):
            self._loop.call_soon_threadsafe(self._log.note, self._work.attempt.attempt, message)

    async def ask(self, prompt: str | Mapping[str, Any], output: Any = None) -> Any:
        schema, problem = output_schema(output), ""
        asked: dict[str, Json] = {"prompt": plain_json(prompt if isinstance(prompt, str) else dict(prompt))}
        messages: list[Message] = [SystemMessage(text=self._work.instructions)] if self._work.instructions else []
        messages.append(UserMessage(text=prompt if isinstance(prompt, str) else compact_json(asked["prompt"])))
        if schema is None:
            return (await self._awaited(self._turn(asked, messages, None))).message.text.strip()
        asked["output"] = schema
        for _ in range(self._work.definition.limits.max_repairs + 1):
            turn = await self._awaited(self._turn(asked, messages, schema))
            try:
                return _read(turn.value, schema, output)
            except (Unfit, ValidationError) as error:
                problem = one_line(error)
            said = turn.message.text if turn.value is None else json.dumps(turn.value, ensure_ascii=False)
            messages += [AssistantMessage(text=said), UserMessage(text=write_again(problem, as_json=True))]
        raise ModelError(malformed(problem))

    async def _turn(self, asked: Json, messages: Sequence[Message], schema: Mapping[str, Any] | None) -> ModelTurn:
        self._count += 1
        packed, most = self._log.pack(asked)[0], self._work.worker.max_turns
        for known in self._replies:
            if known.asked == packed:
                self._replies.remove(known)
                return known
        if most is not None and self._count > most:
            raise ModelError(too_many_turns(f"no result after {most} model calls"))
        number = next(each for each in count(1) if each not in self._numbers)
        self._numbers.add(number)
        on_text = self._on_text if self._work.step.final and schema is None else None
        reply = await self._reply(number, tuple(messages), schema, on_text=on_text, asked=asked)
        call_id = model_call_id(self._work.key, self._work.attempt.conversation, number)
        return ModelTurn(call_id, reply.message, reply.value)

    async def call(self, tool: str, /, **args: Json) -> CallState:
        clean = self._log.secrets.sealing().payload(args)
        args = args if REDACTED in json.dumps(clean, default=str) else clean  # what the environment has is in no table
        # The id says what is called, and how often it was before, so that no approval covers another call.
        written = json.dumps([tool, args], sort_keys=True, default=str).encode()
        first = int(hashlib.sha256(written).hexdigest()[:12], 16)
        self._equal[first] += 1
        turn = ordered_turn(self._work, tool, args, self._equal[first], first)
        known = self._results.pop(turn.call_id(0), None)
        if known is not None:
            turn.done[0] = known._replace(raw=await self._log.unpack(known.raw))
        await self._awaited(self._call(turn))
        result = turn.done[0]
        if result.failure is not None:
            error = ToolError(result.failure.message)
            error.failure = result.failure
            raise error
        self._made.append(result)
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
            self._held.append(parked.open_calls)
            self._loop.call_soon(self._park)
            return await self._loop.create_future()
        finally:
            self._open.discard(task)
            self._loop.call_soon(self._park)

    def _park(self) -> None:
        if 0 < len(self._held) == len(self._open) and not self._parked.done():
            self._parked.set_result(None)


def _read(value: Json, schema: dict[str, Any], output: Any) -> Any:
    """Return the answer of a model as the code wants it. Raises Unfit or ValidationError."""
    if not is_object(value):
        raise Unfit("the answer is not one JSON object that matches the schema")
    if problems := schema_problems(schema, value):
        raise Unfit("; ".join(problems))
    return output.model_validate(value) if isinstance(output, type) and issubclass(output, BaseModel) else value
