"""Leadhand as an MCP server: its flows are tools. A call starts a run of the service, and waits until it rests.

The runs are those of ``POST /api/runs``: with the rights and limits of the caller's key, and continued by the next
server if this one dies. A client that goes away, or stops waiting, finds its run with ``run_status``.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import stat
from collections.abc import AsyncGenerator
from typing import Any, Literal, NamedTuple, TextIO

import anyio
from fastapi import FastAPI, Request, Response
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ListToolsResult,
    TextContent,
    Tool,
    ToolAnnotations,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import Field, ValidationError
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from leadhand import __version__
from leadhand.app.export.document import Document
from leadhand.app.export.outcome import DoneCall
from leadhand.app.export.shapes import RunApproval, RunUsage
from leadhand.app.steering import access as rights
from leadhand.app.steering.questions import chosen
from leadhand.core.approval import ApprovalStatus
from leadhand.core.errors import Failure, LeadhandError, UsageError
from leadhand.core.run import ENDED, CitedSource, Gap, RunStatus
from leadhand.server.access import Access, Principal, allowed, require
from leadhand.server.live.feeds import Feed
from leadhand.server.live.streams import rests
from leadhand.server.routes import approvals, control, runs
from leadhand.server.routes.dependencies import LONGEST_WAIT_S, Words
from leadhand.server.schemas import RunAnswer, RunDocument
from leadhand.server.service import Service
from leadhand.server.start_request import LONGEST_REQUEST, READABLE, Body, Submission

WAIT_S = 50.0
"""Seconds that a call waits, unless it asks for others: many clients give up after a minute."""
LONGEST_LINE = 4_000_000
"""Bytes of a message on stdin; the library allows as much over HTTP."""
INSTRUCTIONS = (
    "Each call of ask, report or research starts a run, which continues on its own. If the result's status is"
    " `running`, call run_status with its run_id to wait longer. If it is `waiting`, show the entries of `asked` to the"
    " user and pass the user's answer on with answer_question."
)


class Wait(Body):
    """How long a call waits."""

    wait_seconds: float = Field(
        WAIT_S,
        ge=0,
        le=LONGEST_WAIT_S,
        description=f"Return after this many seconds, even if the run has not ended (default: {WAIT_S:g}).",
    )


class Start(Wait):
    """A request to start a run."""

    request: str = Field(
        description="The request in natural language.", pattern=READABLE, max_length=LONGEST_REQUEST, min_length=1
    )


class Look(Wait):
    """A run to look at."""

    run_id: str = Field(description="The run's full id.", max_length=100)


class Reply(Look):
    """A person's answer."""

    answer: Words = Field(
        description="One of the `choices` that `asked` shows, or its number; words if it shows none.", min_length=1
    )
    asked_id: str = Field("", description="The id of what was asked. Needed if several things are.", max_length=200)
    reason: Words = Field("", description="Why the user denies a call.")


class Asked(Document):
    """What a run asks a person: a ``question``, or whether a ``call`` may be made, a ``plan`` may be carried out, or an
    interrupted call happened (``effect``)."""

    id: str
    kind: Literal["question", "call", "plan", "effect"]
    text: str
    choices: tuple[str, ...]

    @classmethod
    def of(cls, asked: RunApproval) -> Asked:
        """Return an approval as a question."""
        args = json.dumps(asked.args, ensure_ascii=False)
        says, choices = {
            "call": (f"May {asked.called} be called with {args}?", ("approve", "deny")),
            "plan": (f"May this plan be carried out? {args}", ("approve", "deny")),
            "effect": (f"{asked.called} was interrupted. Did it happen, with {args}?", ("happened", "did_not_happen")),
        }[asked.kind]
        about = [f"Calls: {asked.target}"] * bool(asked.target) + [f"About: {asked.summary}"] * bool(asked.summary)
        origins = [f"{name}: from {origin}" for name, origin in asked.origins.items()]
        return cls(id=asked.approval_id, kind=asked.kind, text="\n".join([says, *about, *origins]), choices=choices)


class RunResult(RunAnswer):
    """A run: its answer, what it rests on, what is missing, what it cost, and what it asks."""

    run_id: str
    headline: str
    done: tuple[DoneCall, ...]
    sources: tuple[CitedSource, ...]
    gaps: tuple[Gap, ...]
    failure: Failure | None
    asked: tuple[Asked, ...]
    usage: RunUsage

    @classmethod
    def of_run(cls, document: RunDocument) -> RunResult:
        """Return what clients are shown of a run document."""
        asked = document.question
        first = () if asked is None else (Asked(id=asked.id, kind="question", text=asked.text, choices=asked.choices),)
        open_ = (Asked.of(each) for each in document.approvals if each.status is ApprovalStatus.PENDING)
        same = {name: getattr(document, name) for name in cls.model_fields if name in type(document).model_fields}
        over = document.status in ENDED
        return cls(**same, headline=document.outcome.headline, asked=() if over else (*first, *open_))


def _list(about: str, **entry: Any) -> dict[str, Any]:
    return {"type": "array", "description": about, "items": {"type": "object", "properties": entry}}


_TEXT = {"type": "string"}
_CHOICES = {"type": "array", "items": _TEXT, "description": "The possible answers; empty for an answer in words."}
_RESULT: dict[str, Any] = {
    "run_id": _TEXT,
    "status": {"enum": [*map(str, RunStatus)]},
    "headline": {**_TEXT, "description": "How the run stands, in one line."},
    "answer": {"type": ["string", "null"]},
    "evidence": {"type": "object", "description": "How many claims have each verdict, and the doubts."},
    "done": _list("Every call with an effect, from the log.", tool=_TEXT),
    "sources": _list("The first is cited as `[1]`.", title=_TEXT, url=_TEXT),
    "gaps": _list("The parts of the request that the answer lacks.", name=_TEXT, reason=_TEXT, next_action=_TEXT),
    "asked": _list("What the run waits for people to answer.", id=_TEXT, text=_TEXT, choices=_CHOICES),
    "usage": {"type": "object", "properties": {"cost_usd": {"type": ["number", "null"]}}},
}
"""A :class:`RunResult` in short: clients show the schema to their model with each tool."""


class _Offer(NamedTuple):
    """A tool: what it does, its arguments, the flow that it starts, and its effects as clients see them."""

    about: str
    body: type[Wait]
    flow: str = ""
    read_only: bool = False
    destructive: bool = False

    def tool(self, name: str) -> Tool:
        """Return the description of the tool for clients."""
        hints: Any = {"destructive_hint": self.destructive, "open_world_hint": not self.read_only}
        return Tool(
            name=name,
            description=self.about,
            input_schema=self.body.model_json_schema(),
            output_schema={"type": "object", "properties": _RESULT, "required": [*_RESULT]},
            annotations=ToolAnnotations(read_only_hint=self.read_only, idempotent_hint=self.read_only, **hints),
        )


OFFERS = {
    "ask": _Offer(
        "Have a request carried out: planned, worked on in parallel with tools, checked and answered.",
        Start,
        "work-order",
        destructive=True,
    ),
    "report": _Offer("Have a report with citations researched, written and reviewed.", Start, "report"),
    "research": _Offer("Have a question answered by research, with citations.", Start, "research"),
    "run_status": _Offer("Wait for a run, and return its status or its answer.", Look, read_only=True),
    "answer_question": _Offer(
        "Pass the user's answer to a waiting run, which then continues. Ask the user; never answer for them.",
        Reply,
        destructive=True,
    ),
}


def mcp_server(service: Service, access: Access) -> Server[Any]:
    """Return the MCP server of a service. Calls without an HTTP request are those of the user of this machine."""
    tools = [offer.tool(name) for name, offer in OFFERS.items()]

    async def list_tools(_context: Any, _params: Any) -> ListToolsResult:
        return ListToolsResult(tools=tools)

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        if params.name not in OFFERS:
            raise MCPError(code=INVALID_PARAMS, message=f"there is no tool {params.name}")
        principal = access.user if context.request is None else context.request.state.caller
        try:
            asked = OFFERS[params.name].body.model_validate(params.arguments or {})
            return await _Call(service, access, principal, context, asked.wait_seconds).carry_out(asked, params)
        except ValidationError as error:
            first = error.errors()[0]
            why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        except LeadhandError as error:
            why = f"{error.what}. {error.how}"
        return CallToolResult(content=[TextContent(type="text", text=why)], is_error=True)

    about: Any = {"title": "Leadhand", "version": __version__, "instructions": INSTRUCTIONS}
    return Server("leadhand", **about, on_list_tools=list_tools, on_call_tool=call_tool)


class _Call:
    """One call of a tool."""

    def __init__(self, service: Service, access: Access, principal: Principal, context: Any, seconds: float) -> None:
        self._service = service
        self._access = access
        self._principal = principal
        self._context = context
        self._seconds = seconds

    async def carry_out(self, asked: Wait, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        """Start a run, look at one or answer what it asks, and wait for it. Raises LeadhandError."""
        given, again = params.input_responses or {}, params.request_state
        if again is not None:  # the client has asked the person, and calls again
            await self._check(again, rights.Scope.RUN)
            taken = [await self._take(again, asked_id, reply) for asked_id, reply in given.items()]
            return await self._rested(again, may_ask=all(taken))
        match asked:
            case Start():
                require(self._principal, rights.Scope.RUN)
                body = Submission.model_validate({"request": asked.request, "flow": OFFERS[params.name].flow})
                started = await runs.start_run(body, self._service, self._access, self._principal, Response(), "")
                return await self._rested(started.run_id)
            case Reply():
                await self._check(asked.run_id, rights.Scope.RUN)
                await self._answer(asked.run_id, asked.answer, asked.asked_id, asked.reason)
                return await self._rested(asked.run_id)
            case _:
                assert isinstance(asked, Look)
                await self._check(asked.run_id, rights.Scope.READ)
                return await self._rested(asked.run_id, may_ask=False)

    async def _check(self, run_id: str, scope: rights.Scope) -> None:
        require(self._principal, scope)
        await self._access.check_run(self._principal, run_id, scope)

    async def _answer(self, run_id: str, answer: str, asked_id: str = "", reason: str = "") -> None:
        """Pass a person's answer on to a run. Raises UsageError if it does not fit, Problem without the right."""
        found = RunResult.of_run(await self._service.document(run_id)).asked
        fitting = [each for each in found if asked_id in ("", each.id)]
        if len(fitting) != 1:
            what = f"{len(fitting)} of what run {run_id} asks fit the answer"
            raise UsageError(what, f"Give one of these as asked_id: {', '.join(each.id for each in found) or 'none'}.")
        [asked] = fitting
        if asked.kind == "question":
            text = control.ReplyBody(text=answer, question_id=asked.id)
            await control.answer_question(run_id, self._service, self._access, self._principal, text)
            return
        require(self._principal, rights.Scope.APPROVE)
        answer = chosen(answer, asked.choices)
        settles: Any = {"decision": "settle", "happened": answer == "happened"}
        decides: Any = {"decision": answer, "reason": reason}
        decided = approvals.AnswerBody(**(settles if asked.kind == "effect" else decides))
        await approvals.answer_approval(asked.id, decided, self._service, self._principal)

    async def _rested(self, run_id: str, *, may_ask: bool = True) -> CallToolResult | InputRequiredResult:
        """Wait for a run, and return it; have the client ask its user what the run asks, if it can."""
        while True:
            with self._access.rates.stream(self._principal.key_id):
                await self._until_rest(run_id)
            result = RunResult.of_run(await self._service.document(run_id))
            asked = next((each for each in result.asked if self._may_answer(each)), None)
            asked = asked if result.status is RunStatus.WAITING else None
            if asked is None or not may_ask or not self._can_ask():
                document = result.model_dump(mode="json")
                text = json.dumps(document, ensure_ascii=False)
                return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=document)
            answer: dict[str, Any] = {"type": "string", "title": "Answer"}
            if asked.choices:
                answer["enum"] = list(asked.choices)
            form: Any = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}
            if self._context.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
                request = ElicitRequest(params=ElicitRequestFormParams(message=asked.text, requested_schema=form))
                return InputRequiredResult(input_requests={asked.id: request}, request_state=run_id)
            reply = await self._context.session.elicit_form(asked.text, form, self._context.request_id)
            may_ask = await self._take(run_id, asked.id, reply)

    def _may_answer(self, asked: Asked) -> bool:
        return asked.kind == "question" or rights.allows(self._principal.scopes, rights.Scope.APPROVE)

    def _can_ask(self) -> bool:
        """Whether the client can show a form to its user, over a connection that carries the answer back."""
        offered = self._context.session.client_capabilities
        forms = offered.elicitation if offered is not None else None
        return forms is not None and (forms.form is not None or forms.url is None)

    async def _take(self, run_id: str, asked_id: str, reply: object) -> bool:
        """Pass on what the client's user answered; return whether they did."""
        if not isinstance(reply, ElicitResult) or reply.action != "accept":
            return False
        await self._answer(run_id, str((reply.content or {}).get("answer", "")), asked_id)
        return True

    async def _until_rest(self, run_id: str) -> None:
        """Return when a run rests or the time is up; report how many of its subtasks have ended meanwhile."""
        reported, store = -1, self._service.feeds.store
        async with self._service.feeds.following(run_id, Feed) as feed:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._seconds):
                    while not feed.closed:
                        head, changed = feed.head, feed.changed
                        run = await store.run(run_id)
                        ended = run.completed + run.failed
                        if run.subtasks and ended > reported:
                            reported, what = ended, f"{ended} of {run.subtasks} subtasks"
                            await self._context.session.report_progress(ended, run.subtasks, what)
                        if rests(run):
                            return
                        while feed.head == head and not feed.closed:
                            await changed.wait()
                            changed = feed.changed


class McpDoor:
    """Streamable HTTP for an MCP server, as an ASGI app. Each request is checked as one of the API is.

    There are no sessions: a client of an earlier process continues here.
    """

    def __init__(self, server: Server[Any]) -> None:
        self.sessions = StreamableHTTPSessionManager(server, stateless=True)
        """Runs while the app is served: ``async with door.sessions.run(): …``."""
        self._check = allowed(rights.Scope.READ)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Raises Problem for a caller who may not make it."""
        request = Request(scope, receive)
        request.state.caller = await self._check(request, None, None)
        await self.sessions.handle_request(scope, receive, send)


@contextlib.asynccontextmanager
async def offered(app: FastAPI) -> AsyncGenerator[None]:
    """Offer the MCP server of an app at ``/mcp`` in the block."""
    door = McpDoor(mcp_server(app.state.service, app.state.access))
    app.router.routes.insert(0, Route("/mcp", door))
    async with door.sessions.run():
        yield


async def serve_stdio(app: FastAPI, out: TextIO) -> None:
    """Serve the MCP server of an app over stdin and ``out``, until the client closes stdin. Raises UsageError."""
    server = mcp_server(app.state.service, app.state.access)
    lines: Any = await _lines_of_stdin()
    async with app.router.lifespan_context(app), stdio_server(lines, anyio.wrap_file(out)) as streams:
        await server.run(*streams, server.create_initialization_options())


async def _lines_of_stdin() -> AsyncGenerator[str]:
    """Return the lines of stdin, which is empty for everything else in the process from now on. Raises UsageError.

    The library would read them in a thread, which a signal cannot end.
    """
    mode = os.fstat(0).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(0)):
        raise UsageError("stdin is not a pipe", "Have an MCP client start this command.")
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    own = os.fdopen(os.dup(0), "rb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), own)
    return (line.decode(errors="replace") async for line in reader)
