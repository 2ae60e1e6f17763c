"""What a tool is to the engine, and what it receives besides its arguments."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from leadhand.core.limits import Usage, nanousd
from leadhand.core.tool import Todo
from leadhand.core.value import Json

from .work import Caller, Files, Library, Replied, Web, Workshop


async def _nobody(_text: str, _choices: Sequence[str], _seconds: float) -> str | None:
    return None


class Spending(Protocol):
    """Books what a tool call spends on models that Leadhand does not call itself; see :meth:`ToolContext.spend`."""

    async def reserve(self, model: str, prompt: str, requests: int, tokens: int, usd: float | None) -> str:
        """Reserve the most that is spent, and return the key of the reservation. Raises ToolError."""
        ...

    async def settle(self, key: str, usage: Usage | None) -> None:
        """Record what was used of a reservation; None counts as all of it."""
        ...


class Spent:
    """What was used of a reservation; all of it, unless :meth:`book` says less."""

    usage: Usage | None = None

    def book(
        self, *, requests: int, input_tokens: int, output_tokens: int, cached_tokens: int = 0, usd: float | None = None
    ) -> None:
        """Say what was used so far. Of the input tokens, ``cached_tokens`` were read from the cache of the provider.
        Without ``usd``, the price of the model gives the cost."""
        counted: Any = {"input_tokens": input_tokens, "cached_tokens": cached_tokens, "output_tokens": output_tokens}
        self.usage = Usage(requests=requests, **counted, nanousd=None if usd is None else nanousd(usd))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What a tool receives besides its arguments: declare a parameter ``context: ToolContext`` to receive it.

    ``call_id`` is the key of the effect (``run/step/turn/position``). It is the same on every retry, so you can
    send it to a service as an idempotency key. ``offline`` is true if nothing may leave the machine. ``library`` finds
    and reads documents. ``todos`` and ``files`` are the todo list and the artifacts of the run, as they were when the
    worker made the call. ``caller`` returns that worker, ``workshop`` keeps the workers that it makes (None: it cannot
    make any). ``deps`` is what the program gave the run or, without that, ``Leadhand(deps=…)``. All of it works on any
    thread; a tool that is not a coroutine function calls coroutine methods with ``asyncio.run(…)``.
    """

    run_id: str
    call_id: str
    offline: bool
    web: Web
    now: Callable[[], datetime]
    library: Library | None = None
    todos: tuple[Todo, ...] = ()
    files: Files = field(default_factory=Files)
    caller: Callable[[], Caller] = Caller
    workshop: Workshop | None = None
    deps: Any = None
    emit: Callable[[str], None] = lambda _message: None
    """Report what the tool is doing, as a line in the log of the run."""
    replied: Replied | None = None
    """What a person replied to what this call asked before; return ``AskPerson`` to ask."""
    ask: Callable[[str, Sequence[str], float], Awaitable[str | None]] = _nobody
    """Ask a person while the call goes on, with choices (none: the reply is a text), for at most some seconds; None
    if nobody replied. The call holds its slot meanwhile, so return ``AskPerson`` if you can."""
    spending: Spending | None = None

    @asynccontextmanager
    async def spend(
        self, model: str, prompt: str = "", *, requests: int, tokens: int, usd: float | None = None
    ) -> AsyncGenerator[Spent]:
        """Let the block call a model that Leadhand does not call itself, such as that of another framework's agent.

        At most so many ``requests``, ``tokens`` (in and out) and dollars are reserved in every budget that applies,
        before the block begins; without ``usd``, the price of the model, a full name such as ``openai:gpt-5-mini``,
        gives them. Keep the block within these limits: what it uses beyond them is recorded, and not prevented. What
        it books replaces the reservation; without that, all of it counts. ``prompt`` is what the log shows as asked.

        Raises ToolError: ``exhausted`` if it does not fit what the run has left, ``unavailable`` if a budget has to
        limit a model whose price is not known. By hand, outside a run, nothing is reserved.
        """
        spent, spending = Spent(), self.spending
        key = "" if spending is None else await spending.reserve(model, prompt, requests, tokens, usd)
        try:
            yield spent
        finally:
            if spending is not None:
                await spending.settle(key, spent.usage)


Check = Callable[[Mapping[str, Json], Caller], object]
"""Raises ToolError if a call with these arguments of a caller would be refused."""


class BoundTool(Protocol):
    """A tool with its code, its own ``check`` of calls, if any, and what can ``confirm`` that its source still offers
    it, which raises ToolError otherwise."""

    @property
    def name(self) -> str: ...

    @property
    def check(self) -> Check | None: ...

    @property
    def confirm(self) -> Callable[[], Awaitable[object]] | None: ...

    @property
    def is_async(self) -> bool:
        """False: the call blocks, so it runs on a thread."""
        ...

    def call(self, args: dict[str, Json], context: ToolContext, /) -> Any:
        """Call the code with arguments that match the schema; the result is awaited if the tool is async.

        Raises what the tool raises, and ToolError (``invalid``) if the arguments cannot be converted.
        """
        ...
