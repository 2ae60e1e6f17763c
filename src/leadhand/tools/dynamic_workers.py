"""The toolset ``dynamic_workers``: make a worker during a run, and call workers.

A worker that is made has at most the rights of its maker, for this run only. Its file stays in the project, under
``generated_workers_dir``, so that a person can read it, and promote it for later runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import ValidationError

from leadhand.core.errors import FailureClass, ToolError, UsageError
from leadhand.core.text import did_you_mean, is_blank
from leadhand.core.tool import DYNAMIC_WORKERS, DefineWorker, Delegate, ToolReturn
from leadhand.core.value import Json, compact_json, one_line, shown
from leadhand.core.worker import WORKER_NAME, Worker
from leadhand.engine.gate import input_of
from leadhand.ports import Caller, ToolContext, Workshop
from leadhand.tools.decorator import tool
from leadhand.tools.services import unavailable
from leadhand.tools.tool import Tool

MOST_ATTACHMENTS = 20
LONGEST_ATTACHMENT = 200_000
"""Characters of one attachment, at most."""


@tool(effect="idempotent", approval="ask", timeout=30, toolset=DYNAMIC_WORKERS)
async def worker_create(
    name: str,
    instructions: str,
    description: str,
    model: str | None = None,
    tools: list[str] | None = None,
    *,
    context: ToolContext,
) -> ToolReturn:
    """Make a worker for this run, or a new version of one that you made. Call it with worker_call, also in this reply.

    Returns its name, with a number if others have the same.

    Args:
        name: Letters, digits, - and _; the name by which you call it.
        instructions: What it has to do with each input, and what its answer has to contain.
        description: What it is for, in one sentence.
        model: The model that it uses; usually none, for that of the run.
        tools: The tools that it may use, at most yours; by default yours, without those that make and call workers.
    """
    caller = context.caller()
    worker = _made(caller, name, instructions, description, model, tools)
    about, taken = _about(caller, context.run_id), caller.reserved | (caller.workers.keys() - caller.made)
    worker, file = await _configured(context.workshop).write(context.run_id, worker, about, taken)
    return ToolReturn(
        raw=worker.name,
        summary=f"{worker.name} is ready; its file is {file}",
        asks=(
            DefineWorker(
                name=worker.name,
                instructions=worker.instructions,
                description=worker.description,
                model=worker.model,
                tools=worker.tools,
            ),
        ),
    )


worker_create.check = lambda args, caller: _made(caller, **args)


def _about(caller: Caller, run_id: str) -> str:
    return f"Made by {caller.name} in {run_id}, step {caller.key}."


def _made(
    caller: Caller,
    name: str,
    instructions: str,
    description: str,
    model: str | None = None,
    tools: Sequence[str] | None = None,
) -> Worker:
    """Return the worker that a caller makes. Raises ToolError for one that it may not make."""
    allowed = [each.name for each in caller.tools if each.toolset != DYNAMIC_WORKERS]
    for wanted in tools or ():
        if wanted not in allowed:
            mine = wanted in (each.name for each in caller.tools)
            why = "workers that are made may not make or call others" if mine else "you have no such tool"
            raise _bad(f"the worker cannot have {wanted!r}: {why}", f"choose from: {_listed(allowed)}")
    if name in caller.reserved:
        raise _bad(f"the name {name!r} is taken by a worker of the project or of the flow", "choose another name")
    if not re.fullmatch(WORKER_NAME, name):
        raise _bad(f"{shown(name)} is not a name for a worker", "begin with a letter; use letters, digits, - and _")
    if is_blank(instructions):
        raise _bad("instructions is empty", "say what the worker has to do")
    try:
        return Worker(
            name=name,
            description=description,
            instructions=instructions.replace("\r\n", "\n").replace("\r", "\n").strip(),
            model=model,
            tools=tuple(dict.fromkeys(allowed if tools is None else tools)),
        ).evolve(**caller.limits)
    except ValidationError as error:
        raise _bad(one_line(error), "correct this argument") from error


@tool(effect="pure", timeout=60, toolset=DYNAMIC_WORKERS)
async def worker_call(
    worker: str, input: str, attachments: list[str] | None = None, *, context: ToolContext
) -> ToolReturn:
    """Have a worker do a task, and get its answer. Several calls in one reply run in parallel.

    Args:
        worker: Its name: one that you made, or one of the project.
        input: The task, with everything that the worker has to know. If it has an input schema, JSON that matches it.
        attachments: Paths of files that it is given: artifacts of this run, or files of the project.
    """
    caller = context.caller()
    known = caller.workers
    if worker not in caller.made:  # the caller's own was given another name, if another maker had taken that one
        worker = next((each for each in caller.made if re.fullmatch(rf"{re.escape(worker)}-\d+", each)), worker)
    if worker not in known:
        raise _bad(f"there is no worker {worker!r}.{did_you_mean(worker, known)}", f"choose from: {_listed(known)}")
    if is_blank(input):
        raise _bad("input is empty", "say what the worker has to do")
    schema = known[worker].input
    task, problems = input_of(schema, input)
    if problems:
        raise _bad(f"the input does not fit {worker}: {'; '.join(problems)}", f"it has to match {compact_json(schema)}")
    paths = attachments or []
    if len(paths) > MOST_ATTACHMENTS:
        raise _bad(f"{len(paths)} attachments are too many", f"pass at most {MOST_ATTACHMENTS}")
    given: dict[str, Json] = {"input": task}
    if paths:
        given["attachments"] = [{"path": path, "text": await _text(path, context)} for path in dict.fromkeys(paths)]
    return ToolReturn(asks=(Delegate(worker=worker, title=worker, input=given),))


class DynamicWorkersToolset:
    """The tools of this toolset: ``Leadhand(tools=[my_tool, *DynamicWorkersToolset().tools], …)``."""

    name = DYNAMIC_WORKERS
    tools: tuple[Tool[..., Any], ...] = (worker_create, worker_call)


async def _text(path: str, context: ToolContext) -> str:
    """Return an attachment as text: an artifact of the run, else a file of the project."""
    try:
        content = (
            await context.files.read(path)
            if path in context.files.entries
            else await _configured(context.workshop).attachment(path)
        )
        text = content.decode()
    except UnicodeDecodeError as error:
        raise _bad(f"the attachment {path} is not text", "attach text files in UTF-8") from error
    except UsageError as error:
        raise _bad(error.what, error.how) from error
    if len(text) > LONGEST_ATTACHMENT:
        message = f"the attachment {path} has {len(text):,} characters"
        raise _bad(message, f"attach files of at most {LONGEST_ATTACHMENT:,} characters")
    return text


def _configured(workshop: Workshop | None) -> Workshop:
    if workshop is None:
        how = 'set generated_workers_dir = "generated" in leadhand.toml'
        raise unavailable("this project has no directory for workers that are made during runs", "not_configured", how)
    return workshop


def _bad(message: str, how: str) -> ToolError:
    return ToolError(f"{message}; {how}", type="bad_arguments", class_=FailureClass.INVALID)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
