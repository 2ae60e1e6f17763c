"""``leadhand run``: run a request and print the answer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from leadhand.api import Leadhand
from leadhand.app.arguments import check_request
from leadhand.cli.background import run_in_background
from leadhand.cli.foreground import new_view, run_in_foreground
from leadhand.cli.options import (
    Documents,
    DriverFlags,
    Flag,
    FlowFlags,
    LimitFlags,
    ModelFlags,
    Output,
    Tools,
    approval_settings,
    flow_options,
    open_lead,
)
from leadhand.cli.run_lookup import mention_orphans
from leadhand.cli.source_files import all_tools
from leadhand.cli.terminal.streams import err_is_terminal, say
from leadhand.domain.errors import UsageError

EXAMPLE = 'leadhand run "What is the weather in Paris?"'
Approve = Annotated[
    tuple[str, ...],
    Flag(
        "How to handle calls that need approval: ask (default), auto or never. Repeat it for rules, of which the"
        " first match counts: 'tool:send_*=auto', toolset:mail=ask, effect:once=never, 'origin:shop.*=ask'.",
        "POLICY",
    ),
]
Detach = Annotated[bool, Flag("Run in the background: print the run's id and return.")]
MAX_INPUT = 1_000_000
"""Bytes of stdin that are read: more than any request may have."""


async def run(
    request: Annotated[
        str | None, Flag("What you want to know or have done. If it is missing or -, stdin is read.")
    ] = None,
    /,
    *,
    tools: Tools = (),
    documents: Documents = None,
    approve: Approve = (),
    detach: Detach = False,
    flow: FlowFlags = FlowFlags(),
    models: ModelFlags = ModelFlags(),
    limits: LimitFlags = LimitFlags(),
    output: Output = Output(),
    store: DriverFlags = DriverFlags(),
) -> int:
    """Run a request and print the answer."""
    options = flow_options(flow.option)
    job = Job(
        tools=tools,
        documents=documents,
        approve=approve,
        detach=detach,
        models=models,
        limits=limits,
        output=output,
        store=store,
    )
    return await job.run(request, flow.flow, lambda _lead: options, EXAMPLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The flags of a command that starts a run."""

    tools: tuple[str, ...]
    documents: str | None
    approve: tuple[str, ...]
    detach: bool
    models: ModelFlags
    limits: LimitFlags
    output: Output
    store: DriverFlags

    async def run(
        self, request: str | None, flow: str, options_of: Callable[[Leadhand], dict[str, Any]], example: str
    ) -> int:
        """Run a request, in the background or the foreground, and return the exit code."""
        approving = approval_settings(self.approve)
        if self.detach and self.output.stream_json:
            raise UsageError("--detach and --stream-json exclude each other", "Use leadhand runs watch --stream-json.")
        text = check_request(_request(request, example), example=example)
        shown = new_view(self.output)
        flags: dict[str, Any] = {
            "tools": all_tools(self.tools),
            "documents": self.documents,
            "on_text": shown.write_draft,
            **approving,
        }
        files: dict[str, Any] = {"tools": self.tools, "output": self.output, "store": self.store}
        async with open_lead(self.store, self.models, self.limits, **flags) as lead:
            options = options_of(lead)
            if self.detach:
                detached = await (await lead.runtime()).start(text, flow=flow, options=options, detached=True)
                return await run_in_background(lead, detached, **files)
            if err_is_terminal():
                await mention_orphans(await lead.runtime(), self.store, again=False)
            return await run_in_foreground(lead, await lead.start(text, flow=flow, **options), shown, **files)


def _request(given: str | None, example: str) -> str:
    """Return the request from the command line or from stdin. Raises UsageError if it cannot be read."""
    if given is not None and given != "-":
        return given
    if sys.stdin is None or (given is None and sys.stdin.isatty()):
        raise UsageError("missing request", f"Example: {example}")
    if sys.stdin.isatty():
        say("Type the request and end it with Ctrl-D.")
    try:
        text = sys.stdin.buffer.read(MAX_INPUT + 1)
    except OSError as error:
        raise UsageError(
            f"cannot read stdin: {error.strerror or error}", "Give the request as an argument, or pipe text in."
        ) from error
    if len(text) > MAX_INPUT:
        raise UsageError(
            f"the request has more than {MAX_INPUT:,} bytes",
            "Put long material into files, and say in the request what to do with them.",
        )
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise UsageError("stdin is not valid UTF-8", "Convert it, for example with iconv -t UTF-8.") from error
