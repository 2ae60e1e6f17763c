"""The flags that commands share, as typed values, and how some of them are read."""

import re
import shlex
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, cast

from leadhand.app.arguments import LIMITS, RANGES, USUAL_BUDGET, number
from leadhand.app.formatting import short_id
from leadhand.core.errors import UsageError
from leadhand.core.run import WORKER_CALLS
from leadhand.core.work_result import CHECKS

if TYPE_CHECKING:
    from leadhand.api import Leadhand
    from leadhand.app.new_limits import NewLimits
    from leadhand.app.project.manifest import Project
    from leadhand.app.runtime import Runtime
    from leadhand.engine.host import OnText


class Flag(NamedTuple):
    """The help of a flag or argument, and what its value is called there; by default the parameter's name.

    ``choices`` are values that shells complete; others may be possible.
    """

    text: str
    value: str = ""
    choices: tuple[str, ...] = ()


NO_PROJECT = "none"
"""The value of --project for no project."""
RUN = Flag("The run's id, or the beginning of it.", "RUN")
RunId = Annotated[str, RUN]
Tools = Annotated[tuple[str, ...], Flag("Add the tools of this Python file or module. Repeatable.", "FILE")]
SameTools = Annotated[
    tuple[str, ...],
    Flag("Add the tools of this Python file or module. Pass what the run was started with. Repeatable.", "FILE"),
]
Documents = Annotated[
    str | None,
    Flag("Let web_search and web_fetch read this directory, too. Overrides LEADHAND_DOCUMENTS.", "DIR"),
]
OnlyDocuments = Annotated[
    bool, Flag("Search these documents only: web_search sends no query anywhere, and there is no web_fetch.")
]
ProjectFile = Annotated[
    str | None,
    Flag("Use the project of this leadhand.toml, or none; by default that of the directory or one above it.", "FILE"),
]
KeepFor = Annotated[
    str | None,
    Flag("Keep finished runs for this long: 12h, 30d or 8w. The server deletes older ones, once an hour.", "AGE"),
]
KeepRuns = Annotated[int | None, Flag("Keep at most this many finished runs. The server deletes older ones.", "N")]
Continue = Annotated[
    str | None,
    Flag(
        "Follow up this run, which has ended: with its answer and files, and its flow, options, models, documents and"
        " limits where you give no others.",
        "RUN",
    ),
]
NoReview = Annotated[bool, Flag("Leave the reviewer out. The judge still checks the claims.")]
OtherOptions = Annotated[
    tuple[str, ...],
    Flag("Set another option of the flow. The value is JSON, or else text. Repeatable.", "NAME=VALUE"),
]
Json = Annotated[bool, Flag("Print a JSON array.")]
Debug = Annotated[bool, Flag("Show the traceback of an error.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFlags:
    """Where runs are stored."""

    TITLE: ClassVar[str] = "Storage"

    home: Annotated[
        str | None, Flag("Keep the database and the files of runs in this directory. Overrides LEADHAND_HOME.", "DIR")
    ] = None
    database: Annotated[
        str | None, Flag("Use this database: a path or postgresql://… Overrides LEADHAND_DATABASE_URL.", "URL")
    ] = None
    debug: Annotated[bool, Flag("Show the traceback of an error, also of errors in tools.")] = False
    flows: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    project: str | None = None
    loaded: Any = field(default=None, compare=False)
    """The project of the command, a :class:`~leadhand.app.project.manifest.Project`; None without one."""

    def command(self, *words: str) -> str:
        """Return a command line to paste, without a password: ``leadhand runs show ID --home …``.

        PostgreSQL reads a password that is left out from ``PGPASSWORD`` or ``~/.pgpass``. On a terminal, ids of runs
        are short.
        """
        database = None if self.database is None else re.sub(r"(://[^/@:]*):[^/@]*@", r"\1@", self.database)
        given = [("--home", self.home), ("--database", database)]
        flags = (word for flag, value in given if value is not None for word in (flag, value))
        shown = map(short_id, words) if sys.stderr is not None and sys.stderr.isatty() else words
        return shlex.join(["leadhand", *shown, *flags])


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverFlags(StoreFlags):
    """Where runs are stored, and the files of their flows, stages and hooks."""

    flows: Annotated[
        tuple[str, ...],
        Flag("Add the flows of this Python file or module. Pass what the run was started with. Repeatable.", "FILE"),
    ] = ()
    agent: Annotated[
        tuple[str, ...],
        Flag(
            "Add the stages for reports of this Python file or module; FILE:CLASS adds one. Pass what the run was"
            " started with. Repeatable.",
            "FILE",
        ),
    ] = ()
    hooks: Annotated[
        tuple[str, ...],
        Flag(
            "Check calls and answers with the hooks of this Python file or module; FILE:NAME adds one. Pass what the"
            " run was started with. Repeatable.",
            "FILE",
        ),
    ] = ()
    project: ProjectFile = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFlags:
    """The project of a command that needs one and no store."""

    TITLE: ClassVar[str] = "Project"

    project: ProjectFile = None
    loaded: Any = field(default=None, compare=False)

    def required(self) -> "Project":
        """Return the project. Raises UsageError without one."""
        if self.loaded is None:
            how = "Go to the directory of a leadhand.toml, or name it with --project. To write one: leadhand init"
            raise UsageError("there is no project here", how)
        return self.loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What goes to stdout. Raises UsageError if both flags are given."""

    TITLE: ClassVar[str] = "Output"

    json: Annotated[bool, Flag("Print the run document, one JSON object, instead of the answer.")] = False
    stream_json: Annotated[
        bool, Flag("Print every event as one line of JSON when it happens, then the run document.")
    ] = False

    def __post_init__(self) -> None:
        if self.json and self.stream_json:
            raise UsageError("--json and --stream-json exclude each other", "Give one of them.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFlags:
    """The models of a run. Raises UsageError if another model is named although --offline is given."""

    TITLE: ClassVar[str] = "Models"

    model: Annotated[
        str | None,
        Flag("Use this model, as provider:name. Overrides LEADHAND_MODEL; without either, Leadhand finds one.", "NAME"),
    ] = None
    lead_model: Annotated[str | None, Flag("Use this model to plan, review and write the answer.", "NAME")] = None
    worker_model: Annotated[str | None, Flag("Use this model to run subtasks.", "NAME")] = None
    review_model: Annotated[str | None, Flag("Use this model to review results.", "NAME")] = None
    offline: Annotated[
        bool, Flag("Use the built-in rule-based model and sample data: no key and no network needed.")
    ] = False

    check: Annotated[
        str | None,
        Flag(
            "Check what the answer rests on with a model and exact checks (judge), with these alone (exact), or not at"
            " all (off). The judge is the review model, else the lead's.",
            "WHO",
            CHECKS,
        ),
    ] = None
    strict: Annotated[bool, Flag("Let doubts about the answer make it partial.")] = False
    worker_calls: Annotated[
        str | None,
        Flag(
            "Let a model write the result of every subtask (always), or only where what the tool returned is not enough"
            " (auto, the default).",
            "WHEN",
            WORKER_CALLS,
        ),
    ] = None

    def __post_init__(self) -> None:
        for flag, value, choices in (
            ("--check", self.check, CHECKS),
            ("--worker-calls", self.worker_calls, WORKER_CALLS),
        ):
            if value is not None and value not in choices:
                raise UsageError(f"invalid value for {flag}: {value!r}", f"Choose from: {', '.join(choices)}.")
        if self.offline and self.named not in ("", "offline"):
            raise UsageError(
                f"--offline uses the built-in model, and {self.named} was named", "Give --offline or a model, not both."
            )

    @property
    def named(self) -> str:
        """A model that the command line names; "" for none."""
        return next((name for name in (self.model, self.lead_model, self.worker_model, self.review_model) if name), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowFlags:
    """The flow of a run, and its options."""

    TITLE: ClassVar[str] = "Flow"

    flow: Annotated[str, Flag("Run this flow.", "NAME")] = "work-order"
    worker: Annotated[str | None, Flag("Let this worker of the project carry out the request.", "NAME")] = None
    solo: Annotated[bool, Flag("Let one worker with all tools carry out the request.")] = False
    inputs: Annotated[
        str | None,
        Flag("Let the worker carry out each line of this file, JSON, and print one result a line.", "FILE"),
    ] = None
    option: Annotated[
        tuple[str, ...],
        Flag("Set an option of the flow. The value is JSON, or else text. Repeatable.", "NAME=VALUE"),
    ] = ()
    chosen: frozenset[str] = field(default=frozenset(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitFlags:
    """The limits of a run. Raises UsageError for a limit out of range."""

    TITLE: ClassVar[str] = "Limits"

    max_steps: Annotated[int, Flag("Maximum number of work orders: the first plan plus repairs.", "N")] = 3
    max_workers: Annotated[int, Flag("Maximum number of subtasks that run at once.", "N")] = 32
    batch_size: Annotated[int | None, Flag("Start subtasks in groups of this size instead of all at once.", "N")] = None
    budget: Annotated[
        float, Flag("Spending limit in US dollars. If you set it, the price of the model must be known.", "USD")
    ] = USUAL_BUDGET
    budget_per_day: Annotated[
        float | None, Flag("Spending limit on one day (UTC) of all runs that have this flag, in US dollars.", "USD")
    ] = None
    budget_total: Annotated[
        float | None, Flag("Spending limit of all runs that have this flag together, in US dollars.", "USD")
    ] = None
    allow_unknown_price: Annotated[
        bool, Flag("Allow a model whose price is not known. The budget cannot limit it.")
    ] = False
    timeout: Annotated[float, Flag("Time limit of the run, in seconds.", "SECONDS")] = 1_800.0
    attempt_timeout: Annotated[
        float, Flag("Time limit of one attempt at a subtask, in seconds. A slow model needs more.", "SECONDS")
    ] = 300.0
    model_patience: Annotated[
        float,
        Flag("How long to wait for a model server that is away, or for the beginning of an answer.", "SECONDS"),
    ] = 300.0
    max_requests: Annotated[int | None, Flag("Maximum number of model calls (default: no limit).", "N")] = None
    max_tokens: Annotated[
        int | None, Flag("Maximum number of tokens of all model calls together (default: no limit).", "N")
    ] = None
    no_cache: Annotated[bool, Flag("Call tools even if an earlier result could be used again.")] = False
    approval_timeout: Annotated[
        float | None, Flag("Deny approval requests that nobody answers in this time (default: never).", "SECONDS")
    ] = None
    max_output_tokens: Annotated[
        int, Flag("Maximum number of tokens of one model reply. Reasoning models need more.", "N")
    ] = 2_000
    chosen: frozenset[str] = field(default=frozenset(), compare=False)

    def __post_init__(self) -> None:
        _check_ranges(self)

    @property
    def given(self) -> dict[str, float | None]:
        """The limits of one run that the command line sets."""
        return {name: getattr(self, name) for name in self.chosen & LIMITS}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLimitFlags:
    """Other limits of a run, to continue it. Raises UsageError for a limit out of range."""

    TITLE: ClassVar[str] = "Limits"

    budget: Annotated[float | None, Flag("New spending limit of the whole run, in US dollars.", "USD")] = None
    timeout: Annotated[float | None, Flag("New time limit of the whole run, in seconds.", "SECONDS")] = None
    max_requests: Annotated[int | None, Flag("New maximum number of model calls of the whole run.", "N")] = None
    max_tokens: Annotated[int | None, Flag("New maximum number of tokens of the whole run.", "N")] = None
    max_turns: Annotated[
        int | None, Flag("New maximum number of turns of the lead of a research run, or of a worker that leads.", "N")
    ] = None

    def __post_init__(self) -> None:
        _check_ranges(self)

    @property
    def given(self) -> "NewLimits":
        return cast("NewLimits", {name: value for name, value in asdict(self).items() if value is not None})


def _check_ranges(flags: object) -> None:
    for name in RANGES:
        check_range(name, getattr(flags, name, None))


def check_range(name: str, value: float | None) -> None:
    """Raise UsageError if the value of a flag, such as ``max_workers``, is out of range."""
    least, most = RANGES[name]
    if value is not None and not least <= value <= most:
        flag = f"--{name.replace('_', '-')}"
        raise UsageError(f"invalid value for {flag}: {number(value)}", f"Give a number from {least:g} to {most:,.0f}.")


def open_lead(store: StoreFlags, *groups: ModelFlags | LimitFlags, **settings: Any) -> "Leadhand":
    """Return a Leadhand on this store, with these models and limits; ``settings`` are further arguments of it.

    Raises as :func:`~leadhand.app.project.source_files.all_flows` does.
    """
    from leadhand.api import Leadhand
    from leadhand.app.project.source_files import all_agents, all_flows, all_hooks

    for group in groups:
        settings |= {name: value for name, value in asdict(group).items() if name != "chosen"}
    flows, agents = all_flows(store.flows), all_agents(store.agent)
    if store.loaded is not None:
        settings["offline_rules"] = store.loaded.rules()
    return Leadhand(
        home=store.home,
        database=store.database,
        flows=flows,
        agents=agents,
        hooks=all_hooks(store.hooks),
        project=store.loaded,
        **settings,
    )


@asynccontextmanager
async def open_reader(
    store: StoreFlags, *, creates: bool = False, on_text: "OnText | None" = None
) -> "AsyncGenerator[Runtime]":
    """Open the store for commands that drive no run: they look for no model. ``creates``: also a store that is new.

    ``on_text`` gets the live text of the runs that are watched.
    """
    async with aclosing(open_lead(store, model="offline", on_text=on_text)) as lead:
        yield await lead.runtime(reading=not creates)
