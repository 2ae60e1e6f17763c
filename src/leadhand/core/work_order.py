"""Work orders and steps: plans, their validation, and the units of work.

The arguments of subtasks can refer to results: ``{"$result": {"subtask": key, "path": "/raw/lat"}}``. A reference
stands anywhere in an argument, also inside of lists and objects. With a path, its value is taken from the result;
without one, or if the path leads nowhere, a worker works the argument out.
"""

import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator, Field

from .ids import subtask_key
from .value import ByName, Json, Value, is_list, is_object, list_of, unset

WORKER = "work"
"""The worker that carries out the subtasks of a work order."""
_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")


class Unresolved(ValueError):
    """A reference into a document leads nowhere."""


def references(value: Json) -> list[str]:
    """Return the subtasks to whose results a value refers."""
    return [subtask for subtask, _ in references_in(value)]


def renamed(value: Json, key: Callable[[str], str]) -> Any:
    """Return a value with other names of the subtasks to which it refers."""

    def named(subtask: str, path: str | None) -> Json:
        return {"$result": {"subtask": key(subtask), **({} if path is None else {"path": path})}}

    return _replaced(value, named) if references(value) else value


def resolved(args: Mapping[str, Json], needs: Mapping[str, Value]) -> dict[str, Json]:
    """Return arguments with the values of references, without those that a worker has to work out.

    ``needs`` are the results (:class:`~leadhand.core.work_result.ResultData`) by subtask.
    """
    documents: dict[str, Json] = {}

    def read(subtask: str, path: str | None) -> Json:
        if path is None or subtask not in needs:
            raise Unresolved(f"the result of {subtask} has to be read")
        if subtask not in documents:
            documents[subtask] = needs[subtask].model_dump(mode="json")
        return pointed(documents[subtask], path)

    values: dict[str, Json] = {}
    for name, value in args.items():
        try:
            values[name] = _replaced(value, read) if references(value) else value
        except Unresolved:
            continue
    return values


def pointed(document: Json, pointer: str) -> Json:
    """Return the value that a JSON pointer (RFC 6901) points at. Raises :class:`Unresolved` if it points nowhere."""
    if pointer and not pointer.startswith("/"):
        raise Unresolved(f"{pointer!r} is not a JSON pointer: it must begin with a slash")
    here: Any = document
    for part in pointer.split("/")[1:] if pointer else []:
        step = part.replace("~1", "/").replace("~0", "~")
        if isinstance(here, dict) and step in here:
            here = cast("dict[str, Any]", here)[step]
        elif isinstance(here, list) and _INDEX.fullmatch(step) and int(step) < len(cast("list[Any]", here)):
            here = cast("list[Any]", here)[int(step)]
        else:
            raise Unresolved(f"nothing found at {pointer}")
    return here


def _reference(value: object) -> tuple[str, str | None] | None:
    """Return the subtask and the JSON pointer of a reference; None for anything else."""
    match value:
        case {"$result": {"subtask": str() | int() as subtask, "path": str() as path}}:
            return str(subtask), path
        case {"$result": {"subtask": str() | int() as subtask}}:
            return str(subtask), None
        case _:
            return None


def references_in(value: Json) -> Iterator[tuple[str, str | None]]:
    """Yield the references in a value: the subtask, and the JSON pointer into its result."""
    if is_object(value):
        if "$result" in value and (reference := _reference(value)) is not None:
            yield reference
            return
        parts: Iterable[Json] = value.values()
    else:
        parts = list_of(value)
    for each in parts:
        if isinstance(each, dict | list):
            yield from references_in(each)


def _replaced(value: Json, read: Callable[[str, str | None], Json]) -> Json:
    if (reference := _reference(value)) is not None:
        return read(*reference)
    if is_object(value):
        return {name: _replaced(each, read) for name, each in value.items()}
    return [_replaced(each, read) for each in value] if is_list(value) else value


def _named(needs: Any) -> Any:
    """Return what a subtask needs as texts: a lead counts its subtasks."""
    if not isinstance(needs, list | tuple):
        return needs
    return [str(each) if type(each) is int else each for each in cast("Collection[Any]", needs)]


class Subtask(Value):
    """One part of a work order.

    ``tool`` must be called (None: the worker chooses) with ``args``; an argument may refer to results
    (:mod:`leadhand.core.work_order`). ``needs`` and ``repairs_subtask`` are keys; a lead that does not know the id of
    its order ``needs`` indexes and names, too. ``expected_output`` is a sentence, or the JSON schema of the ``value``
    of the result.
    """

    name: str = Field(min_length=1, max_length=200)
    args: dict[str, Any] = {}
    tool: str | None = None
    needs: Annotated[tuple[str, ...], BeforeValidator(_named, json_schema_input_type=tuple[int | str, ...])] = Field(
        default=(), exclude_if=unset
    )
    expected_output: str | dict[str, Any] | None = Field(default=None, exclude_if=unset)
    worker: str | None = Field(default=None, exclude_if=unset)
    repairs_subtask: str | None = Field(default=None, exclude_if=unset)

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """The JSON schema of its result; None if its result is text."""
        return self.expected_output if is_object(self.expected_output) else None

    @property
    def agent(self) -> str:
        """The name of its worker in events: the worker file, else ``worker_`` and the tool without ``_tool``."""
        if self.worker:
            return self.worker
        return "worker_" + (self.tool or self.name).removesuffix("_tool")


class WorkOrder(Value):
    """An immutable plan. ``keys`` are those of its subtasks, if these are not numbered in their order."""

    work_order_id: str
    goal: str
    subtasks: tuple[Subtask, ...] = Field(min_length=1)
    repairs: str | None = Field(default=None, exclude_if=unset)
    keys: tuple[str, ...] = Field(default=(), exclude_if=unset)

    @cached_property
    def subtask_keys(self) -> tuple[str, ...]:
        """The key of each subtask, in order."""
        numbers = range(len(self.subtasks))
        return self.keys or tuple(subtask_key(self.work_order_id, index) for index in numbers)

    @cached_property
    def steps(self) -> "tuple[Step, ...]":
        """The steps that carry out its subtasks, in order."""
        return tuple(map(subtask_step, self.subtask_keys, self.subtasks))


class Unsupported(Value):
    """A part of the request that no tool can do, and why."""

    what: str = Field(min_length=1, max_length=500)
    reason: str = Field(min_length=1, max_length=1_000)


def tie_problems(order: WorkOrder, known: Collection[str]) -> list[str]:
    """Return what is wrong with the ties between an order's subtasks, one sentence each: unknown needs and repairs,
    references to what is not needed, and a cycle. ``known`` are the keys of subtasks of earlier orders."""
    found: list[str] = []
    own = dict(zip(order.subtask_keys, order.subtasks, strict=True))
    for key, subtask in own.items():
        strange = (needed for needed in subtask.needs if needed not in own and needed not in known)
        found += [f"{key} ({subtask.name}) needs {needed!r}, which is not a subtask" for needed in strange]
        if subtask.repairs_subtask is not None and subtask.repairs_subtask not in known:
            found.append(f"{key} ({subtask.name}) repairs {subtask.repairs_subtask!r}, which is not a subtask")
        for name, value in subtask.args.items():
            others = (each for each in references(value) if each not in subtask.needs)
            found += [f"{key} ({subtask.name}): {name} refers to {of}, which is not among its needs" for of in others]
    try:
        TopologicalSorter({key: subtask.needs for key, subtask in own.items()}).prepare()
    except CycleError as error:
        found.append(f"the needs form a cycle: {' -> '.join(error.args[1][::-1])}")
    return found


class Step(Value):
    """One unit of work for one worker: a subtask of an order, or what a flow or a call asked for.

    ``needs`` are the ids of steps whose results it uses. ``parent`` is the attempt that asked for it (None: the flow).
    ``tools`` restricts those of its worker; ``model``, ``instructions`` and ``output`` (a JSON schema)
    replace the worker's. If it ``counts``, its result belongs to the answer. A ``final`` step writes the answer: its
    text is shown while it is written, and it may use the allowance reserved for the answer; one that ``judges`` a work
    order (by id) the part for reviews. A flow knows its steps again by ``kind`` (``ask`` a worker, ``call`` a tool,
    ``do`` a function), ``key`` and the ``digest`` of the input, equal ones by the ``place`` (path of branches, number
    of the ask); ``line`` is where it asked. An ``optional`` step is not a gap if it fails.
    """

    step_id: str
    worker: str
    title: str = ""
    input: dict[str, Any] = {}
    needs: tuple[str, ...] = ()
    parent: str | None = None
    tools: tuple[str, ...] | None = None
    model: str | None = None
    instructions: str | None = None
    max_calls: int | None = Field(default=None, ge=1, exclude_if=operator.not_)
    output: dict[str, Any] | None = Field(default=None, exclude_if=unset)
    key: str = Field(default="", exclude_if=operator.not_)
    subtask: Subtask | None = None
    counts: bool = False
    final: bool = False
    judges: str = Field(default="", exclude_if=operator.not_)
    kind: str = Field(default="", exclude_if=operator.not_)
    digest: str = Field(default="", exclude_if=operator.not_)
    place: str = Field(default="", exclude_if=operator.not_)
    line: str = Field(default="", exclude_if=operator.not_)
    optional: bool = Field(default=False, exclude_if=operator.not_)

    @property
    def name(self) -> str:
        """The name shown to people."""
        return self.title or self.step_id


def subtask_step(key: str, subtask: Subtask) -> Step:
    """Return the step that carries out a subtask: by the worker of the project that it names, if it names one."""
    worker = subtask.worker if subtask.worker is not None else WORKER
    return Step(step_id=key, worker=worker, title=subtask.name, needs=subtask.needs, subtask=subtask, counts=True)


class OpenCall(Value):
    """An open call of a parked attempt: it waits for approval, for confirmation that it happened, for the answer to a
    ``question`` of its tool, or (``asks``) for what its tool asked of the controller. ``hook`` changed its arguments
    named in ``changed``, or asks for approval. ``secrets`` are the arguments with secrets that need
    approval, each with what it has in words."""

    call_id: str
    kind: Literal["approval", "effect", "question", "asks"]
    tool: str = ""
    args: dict[str, Any] = {}
    hook: str = Field(default="", exclude_if=operator.not_)
    changed: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    reason: str = Field(default="", exclude_if=operator.not_)
    secrets: ByName = Field(default={}, exclude_if=operator.not_)

    @property
    def answered_by_run(self) -> bool:
        """Whether the run itself answers the call, without a person."""
        return self.kind == "asks"
