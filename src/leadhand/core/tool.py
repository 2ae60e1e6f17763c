"""Tools as the log records them: name, schema and effect, the results of calls, and what they ask of the controller."""

import contextlib
import json
import operator
import re
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import AfterValidator, Field

from .errors import Failure
from .limits import SharedLimit
from .value import FrozenDict, Json, Value, is_object, json_problem, plain_json, text_of, unset

LONGEST_ID, LONGEST_TITLE = 200, 1_000
"""The most characters in the id of a step or a todo, and in a title."""


class Delegate(Value):
    """Delegate a task to another worker; the call that asked receives the whole result.

    ``worker`` names a worker of the run (None: the caller itself). ``tools`` restricts its tools, which never exceed
    the caller's. ``output`` is the JSON schema of its answer, an object. A task that the caller has delegated under the
    same ``key`` is not started again, unless it failed.
    """

    type: Literal["delegate"] = "delegate"
    title: str = Field(default="", max_length=LONGEST_TITLE)
    worker: str | None = None
    input: Annotated[dict[str, Any], AfterValidator(plain_json)] = {}
    tools: tuple[str, ...] | None = None
    model: str | None = None
    instructions: str | None = None
    max_calls: int | None = Field(default=None, ge=1, exclude_if=operator.not_)
    output: Annotated[dict[str, Any] | None, AfterValidator(plain_json)] = Field(default=None, exclude_if=unset)
    key: str = Field(default="", exclude_if=operator.not_)


class DefineWorker(Value):
    """Define a worker for the rest of this run; without ``tools``, with those of the caller, which it cannot exceed."""

    type: Literal["define_worker"] = "define_worker"
    name: str = Field(min_length=1, max_length=100)
    instructions: str
    description: str = ""
    model: str | None = None
    tools: tuple[str, ...] | None = None


class WriteArtifact(Value):
    """Store a file of the run under a relative ``path``, as a new version if there is one.

    A tool sets ``content``; the log stores its ``digest`` (``sha256:…``) and ``size`` in bytes instead.
    """

    type: Literal["write_artifact"] = "write_artifact"
    path: str
    content: str | None = None
    digest: str = ""
    size: int = 0


class Todo(Value):
    """One entry of the run's todo list."""

    id: str = Field(max_length=LONGEST_ID)
    content: str = Field(max_length=LONGEST_TITLE)
    status: Literal["pending", "in_progress", "completed"] = "pending"
    priority: str | None = None


class SetTodos(Value):
    """Replace the whole list of todos."""

    type: Literal["set_todos"] = "set_todos"
    todos: tuple[Todo, ...]


class AskPerson(Value):
    """Ask a person before the call can be made, such as which of two accounts it is for. Without ``choices``, the reply
    is a text. The tool is then called again, with the reply and with its own ``state``; with the ``default`` if nobody
    replies in time."""

    type: Literal["ask_person"] = "ask_person"
    text: str
    choices: tuple[str, ...] = ()
    default: str = ""
    state: Json = None


Ask = Annotated[Delegate | DefineWorker | WriteArtifact | SetTodos | AskPerson, Field(discriminator="type")]


# --- tools and calls -------------------------------------------------------------------------------------------------

GIVE_UP: Final = "give_up"
"""The tool by which a worker says that its step cannot be done."""
GIVES_UP: Final = "CANNOT"
"""The word, before a colon and the reason, by which a worker says so in its answer: it needs no tool for it."""


TOOL_ERROR: Final = "tool_error"
"""The type of failure of a call that returned ``{"isError": true, "message": …}``."""


def message_of(raw: Json) -> Json:
    """Return what a primitive tool says, ``{"isError": false, "message": …}``: its message, read as JSON if it is some.

    The data of other tools is returned as it is.
    """
    if not is_object(raw) or raw.keys() != {"isError", "message"}:
        return raw
    message: Json = raw["message"]
    if isinstance(message, str) and message[:1] in ("{", "["):
        with contextlib.suppress(ValueError, RecursionError):
            if not json_problem(read := json.loads(message)):
                return read
    return message


class Effect(StrEnum):
    """What a second call of a tool does."""

    PURE = "pure"
    """Nothing: the tool only reads."""
    IDEMPOTENT = "idempotent"
    """Nothing more, if it has the same effect key."""
    ONCE = "once"
    """It repeats the effect, so a call is never repeated unless a person approves."""


class ApprovalPolicy(StrEnum):
    """Whether a person is asked before a call."""

    ASK = "ask"
    AUTO = "auto"
    NEVER = "never"


DYNAMIC_WORKERS = "dynamic_workers"
"""The toolset by which workers make and call other workers."""
OF_RUN = frozenset({"research", DYNAMIC_WORKERS})
"""The toolsets whose tools read files, todos and workers of their run, which are not among their arguments."""
MOST_AT_ONCE = 10_000
"""Calls of a tool, or of a model in a project, that can go on at once, at most."""
RATE_SPANS_S = {"s": 1.0, "min": 60.0, "h": 3_600.0, "day": 86_400.0}


class PinnedOperation(Value):
    """What a call of one operation of a tool does, and what a run has recorded of the operation, in short."""

    effect: Effect
    fingerprint: str
    target: str = Field(default="", exclude_if=operator.not_)
    description: str = Field(default="", exclude_if=operator.not_)


class ToolSpec(Value):
    """A tool as a run records it: enough to plan, to validate arguments and to find its code again.

    ``parameters`` is the JSON schema of the arguments, an object. ``toolset`` names its group. ``delegate``: a worker
    carries out a call as a child step; the one of this name, else another like the caller. ``parallel``: a call is
    ``{"calls": [{"tool": …, "args": {…}}]}``, and these calls replace it. ``polling``: the result may
    change, so a worker may repeat a call. ``retries`` is how often a ``transient`` failure is retried. Without its own
    ``approval`` policy, the run's applies. ``import_path`` (``origin:name``) and ``fingerprint`` identify its code.
    ``output`` is the JSON schema of what it returns. ``operations`` are those that a call of it can name in the
    argument ``operation``; its own effect is the strongest one of theirs.
    ``concurrency`` is how many of its calls go on at once and ``rate`` how many begin in a span of time (``10/s``), in
    all processes of a store. ``cache_s`` is how long a result is used again, in seconds, unless the ``version`` of its
    code changes. ``target`` says where a call goes, for the person who is asked: ``POST https://example.org/pets``.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    target: str = Field(default="", exclude_if=operator.not_)
    effect: Effect = Effect.PURE
    timeout_s: float = Field(default=30.0, gt=0, allow_inf_nan=False)
    retries: int = Field(default=2, ge=0)
    approval: ApprovalPolicy | None = None
    toolset: str = ""
    delegate: bool = False
    parallel: bool = Field(default=False, exclude_if=operator.not_)
    polling: bool = False
    import_path: str = ""
    fingerprint: str = ""
    concurrency: int | None = Field(default=None, ge=1, le=MOST_AT_ONCE, exclude_if=unset)
    rate: str = Field(default="", exclude_if=operator.not_)
    cache_s: float | None = Field(default=None, gt=0, le=366 * 86_400, exclude_if=unset)
    version: str = Field(default="", exclude_if=operator.not_)
    output: dict[str, Any] | None = Field(default=None, exclude_if=unset)
    operations: dict[str, PinnedOperation] = Field(default={}, exclude_if=operator.not_)

    def called_with(self, args: Mapping[str, Json]) -> "ToolSpec":
        """Return the tool as it is for a call with these arguments: as the operation that they name, if it has some."""
        found = self.operations.get(name := text_of(args.get("operation")))
        if found is None:
            return self
        return self.model_copy(update={**dict(found), "import_path": f"{self.import_path}.{name}"})

    def approved_as(self, args: Mapping[str, Json]) -> str:
        """Return what an approval of a call for the whole run covers: the tool, or the operation that it names."""
        return f"{self.name}.{text_of(args.get('operation'))}" if self.operations else self.name

    @property
    def origin(self) -> str:
        """Where it comes from, in common with others: a module, the class of its object, ``mcp:NAME``."""
        origin, _, name = self.import_path.rpartition(":")
        holder = name.rpartition(".")[0]
        return f"{origin}:{holder}" if holder and ":" not in origin else origin

    @cached_property
    def size(self) -> int:
        """The bytes of what a model reads of it."""
        return len(f"{self.name}{self.description}{self.parameters}".encode())

    @property
    def at_once(self) -> SharedLimit | None:
        """The limit of its calls at once, None without one."""
        return None if self.concurrency is None else SharedLimit(scope=f"the tool `{self.name}`", most=self.concurrency)

    @property
    def interval_s(self) -> float:
        """The seconds between the beginnings of two calls at its rate."""
        calls, _, span = self.rate.partition("/")
        return RATE_SPANS_S[span.strip()] / int(calls)

    @property
    def acts(self) -> bool:
        """Whether a call may change something outside of its run, which Leadhand's own tools never do."""
        return self.effect is not Effect.PURE and not self.import_path.startswith("leadhand.")

    @property
    def keeps_references(self) -> bool:
        """Whether it only passes on what workers wrote, within the run: references to secrets stay as they are."""
        return self.delegate or (self.toolset in OF_RUN and self.import_path.startswith("leadhand."))

    @property
    def reads_workers(self) -> bool:
        """Whether it returns only what workers wrote: files and todos, which prove nothing by themselves."""
        return self.import_path.startswith("leadhand.tools.research.")

    @property
    def required(self) -> frozenset[str]:
        """The names of the required arguments."""
        return frozenset(self.parameters.get("required", ()))


def _readable_address(url: str) -> str:
    """The address of a source; "" for one that would run as a script where somebody follows it."""
    return "" if re.match(r"[\s\x00-\x1f]*(?:javascript|vbscript|data)\s*:", url, re.IGNORECASE) else url


class Source(Value):
    """The source of a statement, shown with the answer."""

    title: str
    url: Annotated[str, AfterValidator(_readable_address)]


class ToolReturn(Value):
    """The return value of a tool that returns more than any JSON value: a ``summary`` in words (with which a simple
    subtask needs no model call), ``sources`` to credit, ``sample`` data, and what it ``asks`` of the controller."""

    raw: Json = None
    summary: str | None = None
    sources: tuple[Source, ...] = ()
    sample: bool = False
    asks: tuple[Ask, ...] = ()


class CachedFrom(Value):
    """The call that a cached result comes from: its run, its id in that run, and when it returned."""

    run_id: str
    call_id: str
    at: datetime


INDETERMINATE = "indeterminate"
"""The type of the failure of an interrupted ``once`` call."""
ASKS_PERSON = "asks_person"
"""The type of the failure of a call that was not made yet, because its tool asks a person first."""
UNREADABLE = "unreadable_result"
"""The type of the failure of a ``once`` call that returned something that cannot be used: it acted."""


class CallState(NamedTuple):
    """One tool call, from the moment it begins: in the log, in a conversation and as evidence.

    ``over`` False: its return is not in the log. ``raw`` above 4 kB is a blob reference in the log. ``artifacts`` are
    the files that its children wrote, ``by`` is who confirmed it, ``changed_by`` the hook that changed its arguments.
    """

    call_id: str
    tool: str
    args: dict[str, Any] = FrozenDict()
    effect: Effect = Effect.PURE
    summary: str | None = None
    raw: Json = None
    sources: tuple[Source, ...] = ()
    sample: bool = False
    asks: tuple[Ask, ...] = ()
    artifacts: tuple[str, ...] = ()
    failure: Failure | None = None
    by: str = ""
    changed_by: str = ""
    over: bool = True

    @property
    def ok(self) -> bool:
        return self.over and self.failure is None

    @property
    def question(self) -> AskPerson | None:
        """What its tool asks a person before the call is made."""
        is_asking = self.failure is not None and self.failure.type == ASKS_PERSON
        return next((each for each in self.asks if isinstance(each, AskPerson)), None) if is_asking else None

    @property
    def seen(self) -> bool:
        """Whether its end was seen."""
        return self.over and (self.failure is None or self.failure.type != INDETERMINATE)

    @property
    def not_made(self) -> bool:
        """Whether it was certainly not made."""
        return self.failure is not None and self.failure.not_made

    @property
    def acted(self) -> bool:
        """Whether it did something that cannot be undone, or may have."""
        failure = self.failure
        return self.effect is Effect.ONCE and (failure is None or failure.type in (INDETERMINATE, UNREADABLE))

    @property
    def error(self) -> str:
        """Why it did not succeed, "" if it did."""
        if not self.over:
            return "its end was not seen"
        return self.failure.message if self.failure is not None else ""

    @property
    def said(self) -> str:
        """What its tool said, or why what it returned cannot be used."""
        is_unreadable = self.failure is not None and self.failure.type == UNREADABLE
        return self.error if is_unreadable else self.summary or ""

    def short(self, ordered: dict[str, Any] | None) -> "CallState":
        """Return the call without its data, for what remains of a settled step with ``ordered`` arguments."""
        args = ordered if ordered is not None and ordered == self.args else self.args
        return self._replace(args=args, raw=None, sources=(), asks=(), artifacts=())
