"""``leadhand run``: run a request and print the answer."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, NamedTuple

from leadhand.api import Leadhand
from leadhand.app.arguments import check_request, parse_tags
from leadhand.app.flows import SOLO
from leadhand.app.project.source_files import all_tools
from leadhand.app.run_settings import NewRun
from leadhand.app.runtime import Runtime
from leadhand.app.settings import Settings
from leadhand.app.steering import follow_ups
from leadhand.app.steering.led import led, lines_of_json
from leadhand.app.toolsets import check_tools, toolbox
from leadhand.app.typed_answers import schema_file
from leadhand.cli.flag_values import approval_settings, flow_options
from leadhand.cli.foreground import new_view, run_in_foreground
from leadhand.cli.options import (
    Continue,
    Documents,
    DriverFlags,
    Flag,
    FlowFlags,
    LimitFlags,
    ModelFlags,
    OnlyDocuments,
    Output,
    StoreFlags,
    Tools,
    open_lead,
    open_reader,
)
from leadhand.cli.terminal.streams import err_is_terminal, say
from leadhand.core.errors import UsageError
from leadhand.core.state import RunState
from leadhand.core.tool import ApprovalPolicy
from leadhand.runs import Run

EXAMPLE = 'leadhand run "What is the weather in Paris?"'
MAX_INPUT = 1_000_000
"""Bytes of stdin that are read: more than any request may have."""


class Groups(NamedTuple):
    """The other groups of flags of a command that starts a run."""

    models: ModelFlags
    limits: LimitFlags
    output: Output
    store: DriverFlags


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """How a command that starts a run carries it out."""

    TITLE: ClassVar[str] = "Flags"

    tools: Tools = ()
    documents: Documents = None
    only_documents: OnlyDocuments = False
    approve: Annotated[
        tuple[str, ...],
        Flag(
            "How to handle calls that need approval: ask (default), auto or never. Repeat it for rules, of which the"
            " first match counts: 'tool:send_*=auto', toolset:mail=ask, effect:once=never, 'origin:shop.*=ask'.",
            "POLICY",
            tuple(ApprovalPolicy),
        ),
    ] = ()
    detach: Annotated[bool, Flag("Run in the background: print the run's id and return.")] = False
    continue_: Continue = None
    output_schema: Annotated[
        str | None,
        Flag("Give the answer as JSON that matches the JSON schema in this file; print that instead of text.", "FILE"),
    ] = None
    name: Annotated[str, Flag("Name the run. Lists show the name in place of the request.", "TEXT")] = ""
    tag: Annotated[tuple[str, ...], Flag("Tag the run, to find it by. Repeatable.", "KEY=VALUE")] = ()
    priority: Annotated[
        int, Flag("Begin this run and its steps before those with a lower priority (-100 to 100).", "N")
    ] = 0
    instructions: Annotated[str | None, Flag("Add this to the instructions of every worker, for this run.", "TEXT")] = (
        None
    )
    only_tool: Annotated[
        tuple[str, ...], Flag("Let the run use only this tool of those it would have. Repeatable.", "NAME")
    ] = ()
    plan_only: Annotated[
        bool, Flag("Plan, print the plan and stop; leadhand runs resume then carries the plan out.")
    ] = False
    approve_plan: Annotated[bool, Flag("Ask a person to approve the plan before any work begins.")] = False

    async def run(
        self,
        request: str | None,
        flow: str,
        options_of: Callable[[Leadhand], dict[str, Any]],
        example: str,
        groups: Groups,
    ) -> int:
        """Run a request, in the background or the foreground, and return the exit code.

        ``flow`` is "" for that of the run to follow up.
        """
        models, limits, output, store = groups
        approving = approval_settings(self.approve)
        typed = None if self.output_schema is None else schema_file(self.output_schema)
        own = NewRun(
            name=self.name,
            tags=parse_tags(self.tag, "--tag"),
            priority=self.priority,
            output=typed,
            detached=self.detach,
            instructions=self.instructions,
            tools=self.only_tool or None,
            plan_only=self.plan_only,
            approve_plan=self.approve_plan,
        )
        if self.detach and output.stream_json:
            raise UsageError("--detach and --stream-json exclude each other", "Use leadhand runs watch --stream-json.")
        text = check_request(_request(request, example), example=example)
        earlier = None if self.continue_ is None else await self._earlier(self.continue_, store)
        shown = new_view(output)
        flags: dict[str, Any] = {
            "tools": all_tools(self.tools),
            "documents": self.documents,
            "only_documents": self.only_documents,
            "on_text": shown.write_draft,
            **approving,
        }
        files: dict[str, Any] = {"tools": self.tools, "output": output, "store": store}
        own_models = models
        if earlier is not None and models.model is None and not models.offline:  # no other is looked for
            own_models = replace(models, model=earlier.definition.models.default)
        async with open_lead(store, own_models, limits, **flags) as lead:
            runtime, options, why = await lead.runtime(), options_of(lead), None
            if earlier is None:
                state = await runtime.start(text, flow=flow, options=options, run=own)
            else:
                settings = self._continued(earlier, runtime, models, limits)
                given: Any = {"flow": flow, "options": options, "settings": settings, "run": own}
                state = await follow_ups.start(runtime, earlier, text, **given)
                why = None if models.named or models.offline else "as in the run that it follows up"
            if self.detach:
                from leadhand.cli.background import run_in_background

                return await run_in_background(lead, state, **files)
            if err_is_terminal():
                from leadhand.cli.run_lookup import mention_orphans

                await mention_orphans(runtime, store)
            return await run_in_foreground(lead, Run(runtime, state, drive=True), shown, why=why, **files)

    async def _earlier(self, given: str, store: StoreFlags) -> RunState:
        """Return the run to follow up. Raises NoSuchRun, UsageError and ConfigurationError."""
        from leadhand.cli.run_lookup import find_run

        async with open_reader(store) as runtime:
            earlier = await follow_ups.load_earlier(runtime, (await find_run(runtime.store, given)).run_id)
        check_tools(earlier.definition, toolbox(all_tools(self.tools)))
        return earlier

    def _continued(self, earlier: RunState, runtime: Runtime, models: ModelFlags, limits: LimitFlags) -> Settings:
        """Return the settings of a follow-up: those of the earlier run, where no flag says otherwise."""
        named = {"lead": models.lead_model, "worker": models.worker_model, "review": models.review_model}
        return follow_ups.continued(
            earlier.definition,
            runtime.settings,
            model=models.model,
            models={setting: model for setting, model in named.items() if model is not None},
            documents=None if self.documents is None else runtime.settings.documents,
            limits=limits.given,
        )


async def run(
    request: Annotated[
        str | None, Flag("What you want to know or have done. If it is missing or -, stdin is read.")
    ] = None,
    /,
    *,
    job: Job = Job(),
    flow: FlowFlags = FlowFlags(),
    models: ModelFlags = ModelFlags(),
    limits: LimitFlags = LimitFlags(),
    output: Output = Output(),
    store: DriverFlags = DriverFlags(),
) -> int:
    """Run a request and print the answer."""
    options = flow_options(flow.option)
    groups = Groups(models, limits, output, store)
    given = [f"--{each}" for each in ("flow", "worker", "solo") if each in flow.chosen]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} exclude each other", "Give one of them.")
    if flow.worker is not None and not flow.worker.strip():
        how = "Name a worker of the project: leadhand workers list"
        raise UsageError("invalid value for --worker: it is empty", how)
    inputs = None if flow.inputs is None else lines_of_json(flow.inputs)
    found = led(request or "", flow.flow, options, worker=flow.worker, inputs=inputs)
    name, options = SOLO if flow.solo else found.flow, found.options
    if inputs is not None:
        request = found.request
        groups = groups._replace(models=replace(models, check=models.check or "off"))
    same = job.continue_ is not None and not given
    return await job.run(request, "" if same else name, lambda _lead: options, EXAMPLE, groups)


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
