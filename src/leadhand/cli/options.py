"""The flags that commands share, as typed values, and how some of them are read."""

import json
import re
import shlex
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from leadhand.app.arguments import OTHERS
from leadhand.app.export.formatting import short_id
from leadhand.app.settings import settings
from leadhand.core.errors import UsageError
from leadhand.core.limits import Limits
from leadhand.core.run import WORKER_CALLS
from leadhand.core.tool import ApprovalPolicy
from leadhand.core.value import Value
from leadhand.core.work_result import CHECKS

if TYPE_CHECKING:
    from leadhand.api import Leadhand
    from leadhand.app.project.manifest import Project
    from leadhand.app.runtime.runtime import Runtime
    from leadhand.engine.session.host import OnText
    from leadhand.tools.toolbox import Toolbox


class Flag(NamedTuple):
    """The help of a flag or argument, what its value is called there (by default the parameter's name), and the values
    that it may have.
    """

    text: str
    value: str = ""
    choices: tuple[str, ...] = ()


NO_PROJECT = "none"
"""The value of --project for no project."""
ANY_LIMIT = Flag("Set a limit by its name, such as max_workers=10. Repeatable.", "NAME=VALUE")
RUN = Flag("The run: the beginning of its id (default: last). The one before the last is last~1.", "RUN")
RunId = Annotated[str | None, RUN]
Tools = Annotated[
    tuple[str, ...],
    Flag("Add the tools of this file or module, FILE:NAME, or installed:NAME. Repeatable.", "FILE"),
]
Documents = Annotated[str | None, Flag("Let web_search and web_fetch read this directory, too.", "DIR")]
OnlyDocuments = Annotated[
    bool, Flag("Search these documents only: web_search sends no query anywhere, and web_fetch is left out.")
]
ProjectFile = Annotated[
    str | None, Flag("Use the project of this leadhand.toml, or none. The default is the nearest one upwards.", "FILE")
]
Options = Annotated[
    tuple[str, ...], Flag("Set an option of the flow. The value is JSON, or else text. Repeatable.", "NAME=VALUE")
]
Json = Annotated[bool, Flag("Print a JSON array.")]


@dataclass(frozen=True, kw_only=True)
class SourceFlags:
    """Where tools come from besides Python: a field for each kind of source."""

    TITLE: ClassVar[str] = "Tools from elsewhere"

    mcp: Annotated[
        tuple[str, ...], Flag("Add the tools of this MCP server: its command, or its URL. Repeatable.", "SERVER")
    ] = ()


def sources_given(flags: object) -> list[tuple[str, str]]:
    """Return the sources of tools that flags name, if they are among them, each with its kind."""
    return [(each.name, value) for each in fields(SourceFlags) for value in getattr(flags, each.name, ())]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFlags:
    """Where runs are stored."""

    TITLE: ClassVar[str] = "Storage"

    home: Annotated[
        str | None, Flag("Keep the database and the files of runs here. Overrides LEADHAND_HOME.", "DIR")
    ] = None
    database: Annotated[
        str | None, Flag("Use this database, a path or a postgresql:// URL. Overrides LEADHAND_DATABASE_URL.", "URL")
    ] = None
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
class DriverFlags(StoreFlags, SourceFlags):
    """Where runs are stored, and what they are made of: the files of flows, stages and hooks, and sources of tools."""

    flows: Annotated[
        tuple[str, ...],
        Flag("Add the flows of this file or module. Pass what the run was started with. Repeatable.", "FILE"),
    ] = ()
    agent: Annotated[
        tuple[str, ...],
        Flag("Add the report stages of this file or module. FILE:CLASS adds one. Repeatable.", "FILE"),
    ] = ()
    hooks: Annotated[
        tuple[str, ...],
        Flag(
            "Add the hooks of this file or module. They check calls and answers. FILE:NAME adds one. Repeatable.",
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
    """What goes to stdout."""

    TITLE: ClassVar[str] = "Output"

    json: Annotated[bool, Flag("Print the run document instead of the answer. It is one JSON object.")] = False
    stream_json: Annotated[
        bool, Flag("Print every event as one line of JSON when it happens, then the run document.")
    ] = False


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
        bool, Flag("Use the built-in rule-based model and sample data. No key and no network are needed.")
    ] = False

    check: Annotated[
        str | None,
        Flag("Check the answer: judge (default), exact or off. The judge is a model.", "HOW", CHECKS),
    ] = None
    strict: Annotated[bool, Flag("Let doubts about the answer make it partial.")] = False
    worker_calls: Annotated[
        str | None, Flag("Let a model write the result of every subtask (default: auto).", "WHEN", WORKER_CALLS)
    ] = None

    def __post_init__(self) -> None:
        if self.offline and self.named not in ("", "offline"):
            raise UsageError(
                f"--offline uses the built-in model, and {self.named} was named", "Give --offline or a model, not both."
            )

    @property
    def chosen(self) -> dict[str, Any]:
        """The arguments of settings that these flags set."""
        by_use = {"default": self.model, "lead": self.lead_model, "worker": self.worker_model}
        named = {use: name for use, name in (by_use | {"review": self.review_model}).items() if name is not None}
        same = {"check": self.check, "strict": self.strict, "worker_calls": self.worker_calls}
        return {"model": {} if self.offline else named, "offline": self.offline, **same}

    @property
    def named(self) -> str:
        """A model that the command line names; "" for none."""
        return next((name for name in (self.model, self.lead_model, self.worker_model, self.review_model) if name), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowFlags:
    """The flow of a run, and its options."""

    TITLE: ClassVar[str] = "Flow"

    flow: Annotated[str | None, Flag("Run this flow (default: work-order).", "NAME")] = None
    worker: Annotated[str | None, Flag("Let this worker of the project carry out the request.", "NAME")] = None
    solo: Annotated[bool, Flag("Let one worker with all tools carry out the request.")] = False
    inputs: Annotated[
        str | None,
        Flag("Let the worker carry out each line of this file. A line is JSON, and so is each result.", "FILE"),
    ] = None
    option: Options = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitFlags:
    """Limits: a flag for each field of ``LIMITS`` but some, and ``--limit`` for any of them."""

    TITLE: ClassVar[str] = "Limits"
    LIMITS: ClassVar[type[Value]] = Limits
    WITHOUT_FLAG: ClassVar[tuple[str, ...]] = ("max_turns", "max_repairs", "max_retries")
    OF_PROJECT: ClassVar[bool] = True
    """Whether the limits of the project are those that the command line does not set."""

    given: dict[str, Any] = field(default_factory=dict[str, Any])
    """The limits that the command line sets, by their names."""

    @property
    def limits(self) -> Limits:
        """The limits of a run that are set."""
        return Limits(**self.given)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLimitFlags(LimitFlags):
    """Other limits of a run, for the run as a whole, to continue it."""

    WITHOUT_FLAG: ClassVar[tuple[str, ...]] = tuple(
        name
        for name in Limits.model_fields
        if name not in ("budget", "timeout", "max_requests", "max_tokens", "max_turns")
    )
    OF_PROJECT: ClassVar[bool] = False


def open_lead(
    store: StoreFlags,
    models: ModelFlags | None = None,
    limits: LimitFlags | None = None,
    *,
    tools: Any = None,
    approve: Sequence[str] = (),
    **chosen: Any,
) -> "Leadhand":
    """Return a Leadhand on this store, with these models and limits; ``chosen`` are further arguments of settings.

    Raises as :func:`~leadhand.app.project.source_files.all_flows` does.
    """
    from leadhand.api import leadhand_with
    from leadhand.app.project.source_files import all_agents, all_flows, all_hooks
    from leadhand.app.project.tool_sources import sources_named

    flows, agents, sources = all_flows(store.flows), all_agents(store.agent), sources_named(sources_given(store))
    made = settings(
        home=store.home,
        database=store.database,
        limits=None if limits is None else limits.limits,
        approve=approvals_given(approve),
        project=store.loaded,
        **({} if models is None else models.chosen),
        **chosen,
    )
    parts: dict[str, Any] = {"flows": flows, "workers": agents, "hooks": all_hooks(store.hooks)}
    return leadhand_with(made, tools=tools, sources=sources, **parts)


def toolbox_of(store: StoreFlags, tools: Any) -> "Toolbox":
    """Return the toolbox of a command, with its sources and those of its project. They are not asked for their tools.

    Raises as :func:`~leadhand.app.project.source_files.all_tools` does.
    """
    from leadhand.app.project.tool_sources import sources_named
    from leadhand.app.project.toolsets import toolbox

    found = toolbox(tools)
    for source in (*sources_named(sources_given(store)), *(() if store.loaded is None else store.loaded.sources())):
        found.add(source)
    return found


@asynccontextmanager
async def open_reader(
    store: StoreFlags, *, creates: bool = False, on_text: "OnText | None" = None
) -> "AsyncGenerator[Runtime]":
    """Open the store for commands that drive no run: they look for no model. ``creates``: also a store that is new.

    ``on_text`` gets the live text of the runs that are watched.
    """
    async with aclosing(open_lead(store, model="offline", offline=False)) as lead:
        runtime = await lead.runtime(reading=not creates)
        runtime.texts.on_text = on_text
        yield runtime


def approvals_given(given: Sequence[str]) -> dict[str, str] | None:
    """Return the approval policy and rules from the values of ``--approve``, in their order. Raises UsageError."""
    found: dict[str, str] = {}
    for each in given:
        rule, equals, policy = each.rpartition("=")
        if not equals and ":" in each:
            raise UsageError(f"invalid value for --approve: {each!r}", f"Add a policy: {each}=ask, =auto or =never.")
        if policy not in tuple(ApprovalPolicy):
            raise UsageError(f"invalid value for --approve: {each!r}", f"Choose from: {', '.join(ApprovalPolicy)}.")
        if (rule or OTHERS) in found:
            what = f"names {rule} twice" if rule else f"names 2 policies: {found[OTHERS]} and {policy}"
            raise UsageError(f"--approve {what}", "Give one policy; rules look like tool:send_*=auto.")
        found[rule or OTHERS] = policy
    return found or None


def json_value(flag: str, given: str | None) -> Any:
    """Return the value of a flag that takes JSON, None if it was not given. Raises UsageError."""
    if given is None:
        return None
    try:
        return json.loads(given)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"invalid JSON in {flag}: {error}", f"""Quote it: {flag} '{{"amount": 20}}'""") from error


def flow_options(given: Sequence[str]) -> dict[str, Any]:
    """Return the options of a flow from the values of ``--option NAME=VALUE``: JSON, or text if it is not JSON.

    Raises UsageError for one without a name or a value, and for a name that is given twice.
    """
    options: dict[str, Any] = {}
    for each in given:
        name, equals, text = each.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name.isidentifier() or name in ("request", "flow"):  # arguments of their own in Python
            raise UsageError(f"invalid value for --option: {each!r}", "Give NAME=VALUE: --option max_revisions=2")
        if name in options:
            raise UsageError(
                f"--option names {name} twice", """Give it once. A list is JSON: --option 'topics=["a", "b"]'"""
            )
        options[name] = json_or_text(text)
    return options


def json_or_text(text: str) -> Any:
    """Return the value of a text that is JSON, else the text itself."""
    try:
        return json.loads(text, parse_constant=_not_json)
    except (ValueError, RecursionError):
        return text


def _not_json(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
