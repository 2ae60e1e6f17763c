"""``leadhand run``: run a request and print the answer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

from leadhand.api import Leadhand
from leadhand.app import follow_ups
from leadhand.app.arguments import check_request
from leadhand.app.runtime import Runtime
from leadhand.app.settings import Settings
from leadhand.app.toolsets import check_tools, toolbox
from leadhand.cli.background import run_in_background
from leadhand.cli.foreground import new_view, run_in_foreground
from leadhand.cli.options import (
    Continue,
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
    open_reader,
)
from leadhand.cli.run_lookup import find_run, mention_orphans
from leadhand.cli.source_files import all_tools
from leadhand.cli.terminal.streams import err_is_terminal, say
from leadhand.domain.errors import UsageError
from leadhand.domain.state import RunState
from leadhand.runs import Run

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
    continue_: Continue = None,
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
        continues=continue_,
    )
    same = continue_ is not None and "flow" not in flow.chosen
    return await job.run(request, "" if same else flow.flow, lambda _lead: options, EXAMPLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The flags of a command that starts a run; ``continues`` is the run that it follows up."""

    tools: tuple[str, ...]
    documents: str | None
    approve: tuple[str, ...]
    detach: bool
    models: ModelFlags
    limits: LimitFlags
    output: Output
    store: DriverFlags
    continues: str | None = None

    async def run(
        self, request: str | None, flow: str, options_of: Callable[[Leadhand], dict[str, Any]], example: str
    ) -> int:
        """Run a request, in the background or the foreground, and return the exit code.

        ``flow`` is "" for that of the run that it follows up.
        """
        approving = approval_settings(self.approve)
        if self.detach and self.output.stream_json:
            raise UsageError("--detach and --stream-json exclude each other", "Use leadhand runs watch --stream-json.")
        text = check_request(_request(request, example), example=example)
        earlier = None if self.continues is None else await self._earlier(self.continues)
        shown = new_view(self.output)
        flags: dict[str, Any] = {
            "tools": all_tools(self.tools),
            "documents": self.documents,
            "on_text": shown.write_draft,
            **approving,
        }
        files: dict[str, Any] = {"tools": self.tools, "output": self.output, "store": self.store}
        models = self.models
        if earlier is not None and models.model is None and not models.offline:  # no other is looked for
            models = replace(models, model=earlier.definition.models.default)
        async with open_lead(self.store, models, self.limits, **flags) as lead:
            runtime, options = await lead.runtime(), options_of(lead)
            if earlier is None:
                state = await runtime.start(text, flow=flow, options=options, detached=self.detach)
            else:
                settings = self._continued(earlier, runtime)
                state = await follow_ups.start(
                    runtime, earlier, text, flow=flow, options=options, settings=settings, detached=self.detach
                )
            if self.detach:
                return await run_in_background(lead, state, **files)
            if err_is_terminal():
                await mention_orphans(runtime, self.store, again=False)
            why = "as in the run that it follows up" if earlier is not None and not self.models.named else None
            return await run_in_foreground(lead, Run(runtime, state, drive=True), shown, why=why, **files)

    async def _earlier(self, given: str) -> RunState:
        """Return the run to follow up. Raises UsageError and ConfigurationError as ``follow_ups`` does."""
        async with open_reader(self.store) as runtime:
            earlier = await follow_ups.load_earlier(runtime, (await find_run(runtime.store, given)).run_id)
        check_tools(earlier.definition.tools, toolbox(all_tools(self.tools)))
        return earlier

    def _continued(self, earlier: RunState, runtime: Runtime) -> Settings:
        """Return the settings of a follow-up: those of the earlier run, where no flag says otherwise."""
        given = self.models
        named = {"lead": given.lead_model, "worker": given.worker_model, "review": given.review_model}
        return follow_ups.continued(
            earlier.definition,
            runtime.settings,
            model=given.model,
            models={setting: model for setting, model in named.items() if model is not None},
            documents=None if self.documents is None else runtime.settings.documents,
            limits=self.limits.given,
        )


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
