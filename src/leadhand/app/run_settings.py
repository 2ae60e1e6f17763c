"""What a single run has: labels, further instructions, fewer tools, and whether people see its plan first."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard, cast

from pydantic import BaseModel, ValidationError

from leadhand.app.arguments import (
    MODELS,
    approvals,
    check_methods,
    flag,
    flags,
    json_value,
    model_names,
    run_name,
    run_tags,
    text,
)
from leadhand.app.arguments import limits as limits_given
from leadhand.app.project.flows import FlowRegistry
from leadhand.app.settings import Settings, choice, documents_at
from leadhand.core.errors import UsageError
from leadhand.core.limits import Limits
from leadhand.core.run import WORKER_CALLS, EarlierMessage, RunDefinition, WorkerCalls
from leadhand.core.text import did_you_mean
from leadhand.core.tool import ToolSpec
from leadhand.core.value import Json, compact_json, is_object, object_of, one_line, shown
from leadhand.core.work_result import CHECKS, Check
from leadhand.core.worker import EVERY_WORKER, LONGEST_INSTRUCTIONS, WILDCARDS, Worker, output_schema, with_more
from leadhand.engine.gate import schema_flaw, schema_problems
from leadhand.flows.flow import Fits
from leadhand.flows.seam.function import FunctionFlow
from leadhand.flows.seam.function import Worker as ProgramWorker
from leadhand.flows.shaping import SHAPE, shape_role
from leadhand.ports import Models
from leadhand.tools.tool import Tool

RunTool = str | Tool[..., Any] | Callable[..., Any]
"""A tool of a run: its name, or the tool itself."""
WEB_FETCH = "leadhand.tools.web.tools:web_fetch"
RESEARCH_TOOLS = "research"
"""The toolset by which a research lead keeps its notes and delegates: part of the flow, so no run is without it."""
_TOOLS = "Pass names of tools that are registered, or the tools themselves: tools=['weather_tool']."
_INSTRUCTIONS = "Pass a text for every worker, or texts by worker: instructions={'plan': 'Prefer trains.'}."


@dataclass(frozen=True, kw_only=True)
class NewRun:
    """What one run has besides its request, its flow and the settings of its process, checked.

    None of it allows the run more than the process allows. ``instructions`` are added to those of workers, by name;
    ``"*"`` to those of every worker. ``tools`` are the names of the only tools that the run may use (None: all that are
    registered). With ``plan_only``, the run stops when its plan is complete, until a person resumes it. With
    ``approve_plan``, a person has to approve the plan first. ``output`` is the type of the answer, ``worker`` one of
    the program that carries the run out. ``detached``: it outlives its process. ``by`` starts it, ``key_id`` is the API
    key that it belongs to, ``traceparent`` the span of its caller, "" for none. ``deps`` are what its tools and workers
    find in place of those of the program (None: those). ``messages`` are those of the conversation that led to the
    request, each with a ``role`` and its ``content``, the oldest first. Raises UsageError.
    """

    name: str = ""
    tags: Mapping[str, str] | None = None
    instructions: Any = None
    tools: Any = None
    plan_only: bool = False
    approve_plan: bool = False
    output: Output = None
    worker: ProgramWorker | None = None
    detached: bool = False
    by: str = ""
    key_id: str = ""
    traceparent: str = ""
    deps: Any = None
    messages: Any = ()

    def __post_init__(self) -> None:
        flags(plan_only=self.plan_only, approve_plan=self.approve_plan)
        checked = {"name": run_name(self.name), "tags": run_tags(self.tags)}
        names = None if self.tools is None else tuple(_names(self.tools))
        checked |= {"instructions": _instructions(self.instructions), "tools": names}
        checked |= {"messages": tuple(_messages(self.messages))}
        for field, value in checked.items():
            object.__setattr__(self, field, value)

    def following(self, earlier: RunDefinition, flow: FunctionFlow) -> NewRun:
        """Return this as a follow-up: where no others are given, it has the instructions and tools of the earlier run,
        and its tags. People approve its plan, too, if they did then and the flow makes one.
        """
        return replace(
            self,
            instructions=self.instructions or earlier.instructions,
            tools=earlier.only_tools if self.tools is None else self.tools,
            tags={**earlier.tags, **(self.tags or {})},
            messages=self.messages or earlier.messages,
            approve_plan=self.approve_plan or (earlier.approve_plan and flow.plans),
        )


def check_options(flows: FlowRegistry, flow: object, options: Mapping[str, Any], elsewhere: Collection[str]) -> None:
    """Raise UsageError for options that a flow does not have; ``elsewhere`` are those of a Leadhand, for all runs."""
    name = text(flow, "the flow", "Pass its name.")
    try:
        flows.options(name, options)
    except UsageError as error:
        option = (error.field or "").removeprefix("options.")
        if option not in (*elsewhere, *Limits.model_fields) or option in flows.get(name).Options.model_fields:
            raise
        how = f"{option} is for all runs of a Leadhand. Pass it there: Leadhand({option}=…)."
        if option in Limits.model_fields:
            how = f"{option} is a limit. Pass it as one: limits=Limits({option}=…)."
        raise UsageError(error.what, how, field=error.field) from error


def _instructions(given: object) -> dict[str, str]:
    if given is None:
        return {}
    by_worker = cast("Mapping[object, object]", given) if isinstance(given, Mapping) else {EVERY_WORKER: given}
    found: dict[str, str] = {}
    for worker, said in by_worker.items():
        written = text(said, "the instructions", _INSTRUCTIONS).strip()
        if len(written) > LONGEST_INSTRUCTIONS:
            what = f"the instructions have {len(written):,} characters; the limit is {LONGEST_INSTRUCTIONS:,}"
            raise UsageError(what, "Give shorter ones, or put the material into files that tools read.")
        found |= {text(worker, "the name of a worker", _INSTRUCTIONS): written} if written else {}
    return found


def _messages(given: object) -> Iterator[EarlierMessage]:
    how = 'Pass a list such as [{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}].'
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise UsageError(f"invalid value for messages: {shown(cast('object', given))}", how)
    for each in cast("Iterable[object]", given):
        try:
            said = EarlierMessage.model_validate(each)
        except ValidationError as error:
            if isinstance(each, Mapping) and cast("Any", each).get("role") == "system":
                how = "Give the rules of a conversation as instructions=…"
            raise UsageError(f"invalid message: {shown(cast('object', each))}", how) from error
        yield said.evolve(content=text(said.content, "a message", how))


def _names(given: object) -> Iterable[str]:
    if isinstance(given, str | bytes | dict) or not isinstance(given, Iterable):
        raise UsageError(f"invalid value for tools: {shown(cast('object', given))}", _TOOLS)
    for each in cast("Iterable[object]", given):
        name: Any = each.name if isinstance(each, Tool) else getattr(each, "__name__", each)
        yield text(name, "the name of a tool", _TOOLS)


def narrowed(
    specs: Sequence[ToolSpec], wanted: Collection[str] | None, workers: Sequence[Worker], *, fetch: bool = True
) -> tuple[tuple[ToolSpec, ...], tuple[Worker, ...]]:
    """Return the tools of a run and its workers, with the ``wanted`` tools alone (None: all of them), and unless
    ``fetch`` without ``web_fetch``: the run may only search documents.

    Raises UsageError for a tool that the run would not have anyway.
    """
    kept = [tool for tool in specs if fetch or tool.import_path != WEB_FETCH]
    names = [tool.name for tool in kept]
    if unknown := [name for name in wanted or () if name not in names]:
        what = f"a run cannot use the tool {unknown[0]!r}: it is not registered for this flow"
        raise UsageError(what, f"Choose from: {', '.join(names) or 'none'}.{did_you_mean(unknown[0], names)}")
    if wanted is not None:
        kept = [tool for tool in kept if tool.name in wanted or tool.toolset == RESEARCH_TOOLS]
    allowed = WILDCARDS.union(tool.name for tool in kept)
    every = (each.evolve(tools=tuple(name for name in each.tools if name in allowed)) for each in workers)
    return tuple(kept), tuple(workers if len(kept) == len(specs) else every)


def instructed(workers: Sequence[Worker], given: Mapping[str, str]) -> tuple[Worker, ...]:
    """Return workers with the instructions that a run is ``given`` after their own.

    Raises UsageError for a worker that the run does not have.
    """
    names = [worker.name for worker in workers]
    if unknown := [name for name in given if name not in (EVERY_WORKER, *names)]:
        what = f"there are instructions for the worker {unknown[0]!r}, which this run does not have"
        raise UsageError(what, f"Its workers are: {', '.join(names)}.{did_you_mean(unknown[0], names)}")
    return tuple(
        each if each.loop == "code" else each.evolve(instructions=with_more(each.instructions, each.name, given))
        for each in workers
    )


def check_plan(flow: FunctionFlow, run: NewRun) -> None:
    """Raise UsageError if a person should see the plan of a run whose flow makes none before work begins."""
    if (run.plan_only or run.approve_plan) and not flow.plans:
        how = "Leave out --plan-only and --approve-plan (plan_only and approve_plan in Python and over HTTP)."
        raise UsageError(f"the flow {flow.name} makes no plan before it begins, so nobody can approve one", how)


def changed(
    usual: Settings,
    *,
    model: str | Mapping[str, str] | None = None,
    models: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    **others: Any,
) -> Settings:
    """Return settings with another ``model`` for all uses, or those by use; ``models`` are those for single uses.

    ``limits`` are those that change, ``others`` fields of Settings. Raises UsageError for an invalid value.
    """
    names = model_names(model)
    if "default" in names:
        others |= {"model": names.pop("default"), "models": {}}
    settings = replace(usual, limits=usual.limits.patched(limits), **others)
    names |= models or {}
    return replace(settings, models={**settings.models, **names}) if names else settings


def asked_settings(
    usual: Settings,
    *,
    model: str | Mapping[str, str] | Models | None = None,
    limits: Limits | None = None,
    documents: Path | str | None = None,
    only_documents: bool | None = None,
    check: Check | None = None,
    strict: bool | None = None,
    worker_calls: WorkerCalls | None = None,
    approve: object = None,
) -> tuple[Settings | None, Models | None]:
    """Return the settings of one run, and its adapter if the ``model`` is one. None stands for the usual value.

    The settings are None if they are the usual ones. Raises UsageError.
    """
    named, own = (model, None) if model is None or isinstance(model, str | Mapping) else (None, model)
    check_methods(own, "model", MODELS, "the name of a model, or an object with the methods of leadhand.ports.Models")
    given: dict[str, Any] = {
        "documents": None if documents is None else documents_at(documents),
        "check": choice("check", check, CHECKS),
        "worker_calls": choice("worker_calls", worker_calls, WORKER_CALLS),
        **{
            what: flag(each, what)
            for what, each in (("only_documents", only_documents), ("strict", strict))
            if each is not None
        },
    }
    given = {what: each for what, each in given.items() if each is not None} | approvals(approve)
    limits = None if limits is None else limits_given(limits)
    if named is None and not given and (limits is None or not limits.model_fields_set):
        return None, own
    wanted = changed(usual, model=named, limits=limits, **given)
    if wanted.model == "offline" and not usual.offline:
        wanted = replace(wanted, offline=True, models={})
    if usual.offline and any(each != "offline" for each in (wanted.model, *wanted.models.values())):
        how = 'Omit the model, or use a Leadhand without model="offline".'
        raise UsageError(f"this Leadhand is offline and cannot use the model {wanted.model}", how)
    return wanted, own


Output = type[Any] | Mapping[str, Any] | None
"""The type of an answer: a pydantic model, or the JSON schema of an object; None for text."""
HOW = "Pass a pydantic model, or the JSON schema of an object."


def answer_worker(output: Output, workers: Iterable[Worker]) -> Worker | None:
    """Return the worker that gives a typed answer, None without an output. ``workers`` are the others of the run.

    Raises UsageError for an output that cannot be used, and if another worker has the same name.
    """
    if output is None:
        return None
    try:
        schema = json_value(output_schema(dict(output) if isinstance(output, Mapping) else output), "the output", HOW)
    except UsageError:
        raise
    except Exception as error:  # the model is user code
        raise UsageError(f"the output has no JSON schema: {one_line(error)}", HOW) from error
    if schema.keys() == {"$ref", "$defs"}:  # of a model that refers to itself
        schema = {**object_of(schema["$defs"].get(schema["$ref"].removeprefix("#/$defs/"))), "$defs": schema["$defs"]}
    if flaw := schema_flaw(schema):
        raise UsageError(f"the output is not a usable JSON schema: {flaw}", HOW, field="output_schema")
    if any(worker.name == SHAPE for worker in workers):
        raise UsageError(f"a worker of this run is named {SHAPE}, so it cannot have an output", "Rename that worker.")
    return shape_role(schema)


def fits_of(output: Output, worker: Worker | None) -> Fits | None:
    """Return what checks a value against the output of a run, as far as this process knows it."""
    if _is_model(output):
        return partial(_misfits, output)
    return None if worker is None or worker.output is None else partial(schema_problems, worker.output)


def typed_value(output: Output, value: Json) -> Any:
    """Return a value as an instance of the pydantic model that was asked for; as it is without one."""
    return value if value is None or not _is_model(output) else output.model_validate_json(compact_json(value))


def _is_model(output: Output) -> TypeGuard[type[BaseModel]]:
    return inspect.isclass(output) and issubclass(output, BaseModel)


def _misfits(output: type[BaseModel], value: Json) -> list[str]:
    try:
        typed_value(output, value)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        return [f"{'.'.join(map(str, each['loc'])) or 'the value'}: {each['msg']}" for each in faults[:8]]
    except Exception as error:  # its validators are user code
        return [one_line(error) or type(error).__name__]
    return []


def schema_file(path: str) -> dict[str, Any]:
    """Return the JSON schema in a file. Raises UsageError for a file that cannot be read or holds no object."""
    how = 'Name a file with a JSON schema: {"type": "object", "properties": …}'
    try:
        schema = json.loads(Path(path).expanduser().read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else one_line(error)
        raise UsageError(f"cannot read the output schema {path}: {why}", how) from error
    if not is_object(schema):
        raise UsageError(f"the output schema {path} is not a JSON object", how)
    return schema
