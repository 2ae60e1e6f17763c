"""The flags that commands share, as typed values, and how some of them are read."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from leadhand.app.arguments import USUAL_BUDGET, number
from leadhand.domain.errors import UsageError
from leadhand.domain.tool import ApprovalPolicy

if TYPE_CHECKING:
    from leadhand.api import Leadhand
    from leadhand.flows import Flow

YEAR_S = 366 * 24 * 3_600.0
POLICIES = tuple(policy.value for policy in ApprovalPolicy)


@dataclass(frozen=True, slots=True)
class Flag:
    """The help of a flag or argument, and what its value is called there; by default the parameter's name."""

    text: str
    value: str = ""


RunId = Annotated[str, Flag("The run's id, or the beginning of it.", "RUN")]
Tools = Annotated[tuple[str, ...], Flag("Add the tools of this Python file or module. Repeatable.", "FILE")]
SameTools = Annotated[
    tuple[str, ...],
    Flag("Add the tools of this Python file or module: those that the run was started with. Repeatable.", "FILE"),
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

    def flags(self) -> list[str]:
        """Return these flags as another command needs them to find the same runs, without a password."""
        given = [("--home", self.home), ("--database", _without_password(self.database))]
        return [word for flag, value in given if value is not None for word in (flag, value)]

    def command(self, *words: str, tools: Sequence[str] | None = None) -> str:
        """Return a command line to paste: ``leadhand runs resume ID --home …``.

        ``tools`` are the tool files of a command that continues a run (None: another command); such a command gets the
        flow files of this one, too.
        """
        named = [word for path in tools or () for word in ("--tools", path)]
        named += [word for path in self.flow_files if tools is not None for word in ("--flows", path)]
        return shlex.join(["leadhand", *words, *named, *self.flags()])

    @property
    def flow_files(self) -> tuple[str, ...]:
        """The files and modules with flows that were given."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverFlags(StoreFlags):
    """Where runs are stored, for commands that drive them: these need the flows of the runs."""

    flows: Annotated[
        tuple[str, ...],
        Flag("Add the flows of this Python file or module: a run needs its own. Repeatable.", "FILE"),
    ] = ()

    @property
    def flow_files(self) -> tuple[str, ...]:
        return self.flows


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What goes to stdout."""

    TITLE: ClassVar[str] = "Output"

    json: Annotated[bool, Flag("Print the run document, one JSON object, instead of the answer.")] = False
    stream_json: Annotated[
        bool, Flag("Print every event as one line of JSON when it happens, then the run document.")
    ] = False

    def check(self) -> None:
        """Raise UsageError if both flags are given."""
        if self.json and self.stream_json:
            raise UsageError("--json and --stream-json exclude each other", "Give one of them.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFlags:
    """The models of a run."""

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

    def check(self) -> None:
        """Raise UsageError if another model is named although --offline is given."""
        named = next((name for name in (self.model, self.lead_model, self.worker_model, self.review_model) if name), "")
        if self.offline and named and named != "offline":
            raise UsageError(
                f"--offline uses the built-in model, and {named} was named", "Give --offline or a model, not both."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowFlags:
    """The flow of a run, and its options."""

    TITLE: ClassVar[str] = "Flow"

    flow: Annotated[str, Flag("Run this flow.", "NAME")] = "work-order"
    option: Annotated[
        tuple[str, ...],
        Flag("Set an option of the flow. The value is JSON, or else text. Repeatable.", "NAME=VALUE"),
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitFlags:
    """The limits of a run."""

    TITLE: ClassVar[str] = "Limits"

    max_steps: Annotated[int, Flag("Maximum number of work orders: the first plan plus repairs.", "N")] = 3
    max_workers: Annotated[int, Flag("Maximum number of subtasks that run at once.", "N")] = 32
    batch_size: Annotated[int | None, Flag("Start subtasks in groups of this size instead of all at once.", "N")] = None
    budget: Annotated[
        float, Flag("Spending limit in US dollars. If you set it, the price of the model must be known.", "USD")
    ] = USUAL_BUDGET
    allow_unknown_price: Annotated[
        bool, Flag("Allow a model whose price is not known. The budget cannot limit it.")
    ] = False
    timeout: Annotated[float, Flag("Time limit of the run, in seconds.", "SECONDS")] = 1_800.0
    max_requests: Annotated[int | None, Flag("Maximum number of model calls (default: no limit).", "N")] = None
    max_tokens: Annotated[
        int | None, Flag("Maximum number of tokens of all model calls together (default: no limit).", "N")
    ] = None
    approval_timeout: Annotated[
        float | None, Flag("Deny approval requests that nobody answers in this time (default: never).", "SECONDS")
    ] = None
    max_output_tokens: Annotated[
        int, Flag("Maximum number of tokens of one model reply. Reasoning models need more.", "N")
    ] = 2_000

    def check(self) -> None:
        """Raise UsageError for a limit out of range."""
        _between("--max-steps", self.max_steps, 1, 100)
        _between("--max-workers", self.max_workers, 1, 10_000)
        _between("--batch-size", self.batch_size, 1, 1_000_000)
        _between("--budget", self.budget, 0, 1_000_000)
        _between("--timeout", self.timeout, 0.001, YEAR_S)
        _between("--max-requests", self.max_requests, 1, 1_000_000_000)
        _between("--max-tokens", self.max_tokens, 1, 1_000_000_000_000)
        _between("--approval-timeout", self.approval_timeout, 0.001, YEAR_S)
        _between("--max-output-tokens", self.max_output_tokens, 16, 1_000_000)


DEFAULT_STORE = StoreFlags()
DEFAULT_DRIVER = DriverFlags()
DEFAULT_OUTPUT = Output()
DEFAULT_MODELS = ModelFlags()
DEFAULT_LIMITS = LimitFlags()
DEFAULT_FLOW = FlowFlags()
"""Each group when none of its flags is given."""


def _between(flag: str, value: float | None, least: float, most: float) -> None:
    if value is not None and not (math.isfinite(value) and least <= value <= most):
        raise UsageError(f"invalid value for {flag}: {number(value)}", f"Give a number from {least:g} to {most:,.0f}.")


def _without_password(url: str | None) -> str | None:
    return None if url is None else re.sub(r"(://[^/@:]*):[^/@]*@", r"\1:…@", url)


def approval_policy(given: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return the policy and the rules, in their order, of the values of ``--approve``. Raises UsageError."""
    policies = [each for each in given if "=" not in each and ":" not in each]
    rules: dict[str, str] = {}
    for each in given:
        if each in policies:
            continue
        rule, equals, policy = each.rpartition("=")
        if not equals:
            raise UsageError(f"invalid value for --approve: {each!r}", f"Add a policy: {each}=ask, =auto or =never.")
        if rule in rules:
            raise UsageError(f"--approve names {rule} twice", "Give one rule for it.")
        rules[rule] = policy
    if len(policies) > 1:
        raise UsageError(
            f"--approve names {len(policies)} policies: {' and '.join(policies)}",
            "Give one policy; rules look like tool:send_*=auto.",
        )
    if policies and policies[0] not in POLICIES:
        raise UsageError(f"invalid value for --approve: {policies[0]!r}", f"Choose from: {', '.join(POLICIES)}.")
    return (policies or ["ask"])[0], rules


def open_lead(store: StoreFlags, **settings: Any) -> Leadhand:
    """Return a Leadhand on this store; ``settings`` are further arguments of it."""
    from leadhand.api import Leadhand

    return Leadhand(home=store.home, database=store.database, flows=_flows(store), **settings)


def _flows(store: StoreFlags) -> list[Flow]:
    """Import the flows of ``--flows``. Raises UsageError."""
    if not store.flow_files:
        return []
    from leadhand.app.flows import load_flows

    return [flow for name in store.flow_files for flow in load_flows(name)]


def open_configured(store: StoreFlags, models: ModelFlags, limits: LimitFlags, **settings: Any) -> Leadhand:
    """Return a Leadhand with these models and limits; ``settings`` are further arguments of it."""
    return open_lead(
        store,
        model=models.model,
        lead_model=models.lead_model,
        worker_model=models.worker_model,
        review_model=models.review_model,
        offline=models.offline,
        max_steps=limits.max_steps,
        max_workers=limits.max_workers,
        batch_size=limits.batch_size,
        budget=limits.budget,
        timeout=limits.timeout,
        max_requests=limits.max_requests,
        max_tokens=limits.max_tokens,
        max_output_tokens=limits.max_output_tokens,
        allow_unknown_price=limits.allow_unknown_price,
        approval_timeout=limits.approval_timeout,
        **settings,
    )


def open_reader(store: StoreFlags, **settings: Any) -> Leadhand:
    """Return a Leadhand for reading the store: it looks for no model."""
    return open_lead(store, model="offline", **settings)


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
        try:
            options[name] = json.loads(text, parse_constant=_not_json)
        except (ValueError, RecursionError):
            options[name] = text
    return options


def _not_json(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
