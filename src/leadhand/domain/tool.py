"""What a tool is to the log: its name, schema and effect, what a call returns, and how a call is keyed."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final, NamedTuple

from .asks import Ask
from .errors import Failure
from .value import Json, Value

GIVE_UP: Final = "give_up"
"""The tool by which a worker says that its assignment cannot be done."""


class Effect(StrEnum):
    """What calling a tool twice does to the world."""

    PURE = "pure"
    """Nothing: it only reads."""
    IDEMPOTENT = "idempotent"
    """The same as once, given the same effect key."""
    ONCE = "once"
    """Something again: never called a second time unless a person says so."""


class ApprovalPolicy(StrEnum):
    """Whether a person is asked before a call."""

    ASK = "ask"
    AUTO = "auto"
    NEVER = "never"


class ToolSpec(Value):
    """A tool as a run pins it: enough to plan with, to check arguments against and to find its code again.

    ``toolset`` names the group it belongs to, ``cost_usd`` what a call costs, shown to the person who approves it.
    ``delegate``: a call of it is carried out by another worker, a child assignment, which receives the arguments.
    ``parameters`` is the JSON schema (draft 2020-12) of the arguments, an object. ``timeout_s`` bounds one call in
    seconds; ``retries`` is how often a ``transient`` failure of it is retried. ``approval`` is the tool's own policy;
    None leaves it to the run's. ``import_path`` (``module:name``) and ``fingerprint`` say which code it was.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    effect: Effect = Effect.PURE
    timeout_s: float = 30.0
    retries: int = 2
    approval: ApprovalPolicy | None = None
    toolset: str = ""
    cost_usd: float | None = None
    delegate: bool = False
    import_path: str = ""
    fingerprint: str = ""

    @property
    def required(self) -> frozenset[str]:
        """Names of the arguments that have no default."""
        return frozenset(self.parameters.get("required", ()))


class Source(Value):
    """Where a statement comes from: shown with the answer."""

    title: str
    url: str


class ToolReturn(Value):
    """What a tool gives back when it has more to say than plain data.

    A tool may return any JSON value. Returning this adds a ``summary`` in words (a subtask that asks for nothing more
    then needs no model call), the ``sources`` to credit, ``sample`` when the data is made up for trying the product
    out, and what the tool ``asks`` of the controller.
    """

    raw: Json = None
    summary: str | None = None
    sources: tuple[Source, ...] = ()
    sample: bool = False
    asks: tuple[Ask, ...] = ()


class ToolResult(NamedTuple):
    """The result of one call: in the log, in a conversation, as evidence.

    ``call_id`` is the key of the call in its run. ``failure`` None means that the call succeeded. ``raw`` above 4 kB is
    a blob reference in the log. ``artifacts`` are the paths of the files that the assignments which the call asked for
    wrote. ``by`` names the person who vouched for a call whose end was not seen.
    """

    call_id: str
    tool: str
    args: dict[str, Any] = {}
    effect: Effect = Effect.PURE
    summary: str | None = None
    raw: Json = None
    sources: tuple[Source, ...] = ()
    sample: bool = False
    asks: tuple[Ask, ...] = ()
    artifacts: tuple[str, ...] = ()
    failure: Failure | None = None
    by: str = ""

    @property
    def ok(self) -> bool:
        return self.failure is None
