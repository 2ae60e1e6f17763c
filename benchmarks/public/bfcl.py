"""BFCL v4, multi-turn base, as work orders and without a model: 200 conversations, 1,142 true calls of 8 services.

A scripted lead plans each turn's true calls, one after another; a turn is a follow-up of the one before, as a person
would go on. The tools are the bound methods of the benchmark's own services, with the effect that each has, and the
settings are the default ones: every call with an effect is approved by a person, who compares it with the true calls.

``plain`` has the services in the process of the run. In ``killed`` and ``failing`` they live in another process, as
real services do. ``killed``: the process of the run is killed with SIGKILL in the middle of each conversation, before
its service has received a call, before the service has answered it, or after. ``failing``: every seventh call of the
benchmark fails once with a transient error. A person who is asked whether an interrupted call happened looks at the
service.

Effects are measured: a method that changes its service in any true call acts ``once``, the others only read.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import multiprocessing
import os
import signal
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from leadhand import Leadhand, tool
from leadhand.core.errors import FailureClass, ToolError
from leadhand.core.run import ENDED
from leadhand.core.secret import has_secret
from leadhand.runs import OpenApproval
from leadhand.testing.scripted_model import ScriptedModel
from leadhand.testing.steps import Step, all_confirmed, gives, plans, subtask

from .bfcl_tasks import Services, Task, Turn, acting, difference, direct, methods, tasks, tokens
from .doors import shown, stored
from .measuring import Measured, Sample, carried_out

VARIANTS = ("plain", "killed", "failing")
EVERY = 7
"""Which of the calls of the benchmark fails once."""
REFUSED = {"multi_turn_base_173": "passes the text 'ticket_001' for an integer"}
"""The tasks whose true calls do not fit the benchmark's own signatures, so that the plan is refused."""


class Outcome(NamedTuple):
    """What became of a task: ``why`` says what is wrong with it, "" if nothing is. ``refused``: its plan was."""

    task: str
    why: str
    refused: bool = False
    questions: int = 0
    unsure: int = 0
    kills: int = 0
    faults: int = 0


# --- the process of the run ------------------------------------------------------------------------------------------


class Line:
    """The connection of the process of a run to the services and to the person, who both live outside of it."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._turn = threading.Lock()

    def ask(self, *message: Any) -> Any:
        """Send a message, and return the answer."""
        with self._turn:
            self._connection.send(message)
            return self._connection.recv()

    def remote(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function with the signature of a method, which calls that of the service outside."""

        @functools.wraps(method)
        def call(**args: Any) -> Any:
            ok, result = self.ask("call", method.__name__, args)
            if not ok:
                raise ToolError("the service is not available", type="http_503", class_=FailureClass.TRANSIENT)
            return result

        return call


def plan(turn: Turn) -> Step:
    """Return the plan of a turn: its true calls, each after the one before, or an answer if it asks for none."""
    if not turn.calls:
        return gives({"answer": "There is nothing to do."})
    return plans(
        *(subtask(f"call {n}", call.tool, needs=[n - 1] if n else [], **call.args) for n, call in enumerate(turn.calls))
    )


async def converse(task: Task, home: Path, line: Line, services: Services, *, remote: bool) -> list[str]:
    """Have a conversation, or continue one that was interrupted, and return what the doors show of it.

    Stops at a turn that does not succeed, and reports it to the other side.
    """
    functions = {name: line.remote(method) if remote else method for name, method in methods(services).items()}
    tools = [tool(effect="once" if name in acting() else "pure")(each) for name, each in functions.items()]
    at = 0

    def person(asked: OpenApproval) -> bool:
        approval = asked.approval
        return line.ask("person", approval.kind, at, approval.asked_for, approval.tool, approval.args)

    model: Any = ScriptedModel(plan=lambda _: plan(task.turns[at]), judge=all_confirmed, lenient=True)
    async with Leadhand(models=model, tools=tools, home=home, on_approval=person) as lead:
        begun = await lead.runs(ascending=True)
        run = None
        for at, turn in enumerate(task.turns):
            if at < len(begun):
                known = begun[at]
                ended = known.status in ENDED
                run = await (lead.get(known.run_id) if ended else lead.resume(known.run_id))
            elif run is None:
                run = await lead.start(turn.request)
            else:
                run = await run.follow_up(turn.request)
            document = await run.document() if run.state.status in ENDED else (await run.answer()).document
            if document["status"] != "succeeded":
                line.ask("stopped", at, document["status"], document["failure"] or document["gaps"])
                break
        return await shown(lead)


def child(task: Task, home: Path, connection: Any, remote: bool) -> None:
    line, services = Line(connection), task.services()
    seen = asyncio.run(converse(task, home, line, services, remote=remote))
    line.ask("done", seen, None if remote else services)


# --- the services and the person -------------------------------------------------------------------------------------


class World:
    """What is outside of the process of a run: the services, a person, and what goes wrong."""

    def __init__(self, task: Task, variant: str, home: Path) -> None:
        self.task, self.variant, self.home = task, variant, home
        self.services: Services = task.services()
        self._methods = methods(self.services)
        self._carried_out = 0
        self._acted: list[tuple[str, dict[str, Any]]] = []
        self._failed: set[int] = set()
        self._approved: set[tuple[int, str]] = set()
        self.stopped: tuple[Any, ...] = ()
        self.seen: list[str] = []
        self.counts: Counter[str] = Counter()

    def carry_out(self) -> Outcome:
        """Have the conversation to its end, with a new process whenever one was killed."""
        context = multiprocessing.get_context("fork")
        while True:
            here, there = context.Pipe()
            process = context.Process(target=child, args=(self.task, self.home, there, self.variant != "plain"))
            process.start()
            there.close()
            done = self._serve(here, process)
            process.join()
            if done:
                return self._outcome()
            if process.exitcode != -signal.SIGKILL:
                return Outcome(self.task.name, f"the process ended with {process.exitcode}")

    def _serve(self, connection: Any, process: Any) -> bool:
        """Answer the process of the run; return whether it came to its end."""
        while True:
            try:
                kind, *message = connection.recv()
            except (EOFError, ConnectionResetError):  # killed, perhaps before it has read an answer
                return False
            match kind:
                case "call":
                    self._call(connection, process, *message)
                case "person":
                    connection.send(self._person(*message))
                case "stopped":
                    self.stopped = tuple(message)
                    connection.send(None)
                case _:
                    self.seen, services = message
                    self.services = services or self.services
                    connection.send(None)
                    return True

    def _call(self, connection: Any, process: Any, name: str, args: dict[str, Any]) -> None:
        """Carry out a call for the process of the run, unless it fails now, and kill the process if it is time."""
        number = self._carried_out
        kills = self.variant == "killed" and not self.counts["kills"] and number == len(self.task.calls) // 2
        way = self.task.number % 3 if kills else None
        if way == 0:
            return self._kill(process)
        if self.variant == "failing" and (self.task.first + number) % EVERY == EVERY - 1 and number not in self._failed:
            self._failed.add(number)
            self.counts["faults"] += 1
            return connection.send((False, None))
        result = self._methods[name](**args)
        self._carried_out += 1
        if name in acting():
            self._acted.append(self._whole(name, args))
        if way == 1:
            return self._kill(process)
        connection.send((True, result))
        return self._kill(process) if way == 2 else None

    def _whole(self, name: str, args: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return a call with its defaults."""
        bound = inspect.signature(self._methods[name]).bind(**args)
        bound.apply_defaults()
        return name, bound.arguments

    def _kill(self, process: Any) -> None:
        os.kill(process.pid, signal.SIGKILL)
        self.counts["kills"] += 1

    def _person(self, kind: str, at: int, name: str, tool_name: str, args: dict[str, Any]) -> bool:
        """Answer a question: approve a true call with its arguments, once, and look up whether a call happened."""
        n = int(name.removeprefix("call "))
        true = self.task.turns[at].calls[n]
        if kind == "effect":
            self.counts["unsure"] += 1
            before = [*(call for turn in self.task.turns[:at] for call in turn.calls), *self.task.turns[at].calls[:n]]
            return len(self._acted) > sum(call.tool in acting() for call in before)
        self.counts["questions"] += 1
        return tool_name == true.tool and self._fits(args, true.args)

    def _fits(self, args: Mapping[str, Any], true: Mapping[str, Any]) -> bool:
        """Whether the arguments are the true ones. Of a secret, a person sees a reference."""
        return args.keys() == true.keys() and all(
            args[name] == value or has_secret(args[name]) for name, value in true.items()
        )

    def _outcome(self) -> Outcome:
        expected, results = direct(self.task)
        why = ""
        if self.stopped:
            why = f"turn {self.stopped[0]} ended {self.stopped[1]}: {self.stopped[2]}"
        elif not (why := difference(self.services, expected)) and self.variant != "plain":
            true = [self._whole(*call) for call in self.task.calls if call.tool in acting()]
            why = "" if self._acted == true else f"carried out {self._acted}, not {true}"
        found = {token for token in tokens(results) if any(token in text for text in (*self.seen, *stored(self.home)))}
        why = why or (f"in clear: {sorted(found)}" if found else "")
        refused = bool(self.stopped) and "malformed_answer" in str(self.stopped[2])  # the plan, so nothing of it began
        return Outcome(self.task.name, why, refused, **self.counts)


def attempt(job: tuple[str, str]) -> Outcome:
    """Carry out a task in a variant."""
    name, variant = job
    task = next(each for each in tasks() if each.name == name)
    with tempfile.TemporaryDirectory() as home:
        return World(task, variant, Path(home)).carry_out()


def measure(sample: Sample) -> Measured:
    """Carry out the tasks in each variant."""
    acting()  # once, before the processes are forked
    names = sample.of([task.name for task in tasks()], name_of=str)
    table = [("variant", "tasks", "end in the state of a direct call", "refused", "questions", "of these in doubt",
              "killed", "failed calls", "seconds")]  # fmt: skip
    missed: list[str] = []
    for variant in VARIANTS:
        outcomes, took_s = carried_out(attempt, [(name, variant) for name in names])
        refused = {each.task for each in outcomes if each.refused}
        right = sum(not each.why for each in outcomes)
        counts = [sum(getattr(each, name) for each in outcomes) for name in ("questions", "unsure", "kills", "faults")]
        table.append((variant, len(names), right, len(refused), *counts, round(took_s)))
        missed += [f"{variant} {each.task}: {each.why}" for each in outcomes if each.why and not each.refused]
        missed += [f"{variant} {name} was refused, or not" for name in refused ^ (REFUSED.keys() & set(names))]
        if variant == "killed":
            missed += [f"{each.task} was not killed" for each in outcomes if not each.kills and not each.refused]
    return Measured(table, missed)
