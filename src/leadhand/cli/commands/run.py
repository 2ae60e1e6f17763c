"""``leadhand run``: run a request and print the answer."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from leadhand.api import Leadhand
from leadhand.app.arguments import check_request, parse_tags
from leadhand.app.project.flows import DEFAULT, SOLO, led, lines_of_json
from leadhand.app.project.source_files import all_tools
from leadhand.app.project.toolsets import check_tools
from leadhand.app.run_settings import NewRun, schema_file
from leadhand.app.steering import follow_ups
from leadhand.cli.foreground import new_view, run_in_foreground
from leadhand.cli.options import (
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
    flow_options,
    open_lead,
    open_reader,
    toolbox_of,
)
from leadhand.cli.terminal.streams import say
from leadhand.core.errors import UsageError
from leadhand.core.state import RunState
from leadhand.runs import Run

EXAMPLE = 'leadhand run "What is the weather in Paris?"'
MAX_INPUT = 1_000_000
"""Bytes of stdin that are read: more than any request may have."""


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
            "Approvals: ask (default), auto, never, or rules. Repeat it for rules, of which the first match counts:"
            " 'tool:send_*=auto', toolset:mail=ask, effect:once=never, 'origin:shop.*=ask'.",
            "POLICY",
        ),
    ] = ()
    detach: Annotated[bool, Flag("Run in the background: print the run's id and return.")] = False
    continue_: Annotated[
        str | None,
        Flag("Follow up this run, which has ended. What you do not give is as it was there.", "RUN"),
    ] = None
    output_schema: Annotated[
        str | None,
        Flag("Answer with JSON that matches the schema in this file. It is printed instead of text.", "FILE"),
    ] = None
    name: Annotated[str, Flag("Name the run. Lists show the name in place of the request.", "TEXT")] = ""
    tag: Annotated[tuple[str, ...], Flag("Tag the run, to find it by. Repeatable.", "KEY=VALUE")] = ()
    instructions: Annotated[str | None, Flag("Add this to the instructions of every worker, for this run.", "TEXT")] = (
        None
    )
    only_tool: Annotated[
        tuple[str, ...], Flag("Let the run use only this tool of those it would have. Repeatable.", "NAME")
    ] = ()
    plan_only: Annotated[bool, Flag("Plan, print the plan and stop. To carry it out: leadhand runs resume.")] = False
    approve_plan: Annotated[bool, Flag("Ask a person to approve the plan before any work begins.")] = False

    def of_run(self) -> NewRun:
        """Return what the run has besides its request, its flow and its settings. Raises UsageError."""
        return NewRun(
            name=self.name,
            tags=parse_tags(self.tag, "--tag"),
            output=None if self.output_schema is None else schema_file(self.output_schema),
            detached=self.detach,
            instructions=self.instructions,
            tools=self.only_tool or None,
            plan_only=self.plan_only,
            approve_plan=self.approve_plan,
        )


async def start_run(
    request: str | None,
    flow: str,
    options_of: Callable[[Leadhand], dict[str, Any]],
    job: Job,
    models: ModelFlags,
    limits: LimitFlags,
    output: Output,
    store: DriverFlags,
    *,
    example: str,
) -> int:
    """Run a request, in the background or the foreground, and return the exit code.

    ``flow`` is "" for that of the run to follow up.
    """
    own, shown = job.of_run(), new_view(output)
    if job.detach and output.stream_json:
        raise UsageError("--detach and --stream-json exclude each other", "Use leadhand runs watch --stream-json.")
    text = check_request(_request(request, example), example=example)
    tools = all_tools(job.tools)
    earlier = None if job.continue_ is None else await _earlier(job.continue_, tools, store)
    named = models.named or models.offline
    used = models if earlier is None or named else replace(models, model=earlier.definition.models.default)
    about: dict[str, Any] = {"documents": job.documents, "only_documents": job.only_documents, "approve": job.approve}
    async with open_lead(store, used, limits, tools=tools, **about) as lead:
        runtime, options = await lead.runtime(), options_of(lead)
        runtime.texts.on_text = shown.write_draft
        if earlier is None:
            state = await runtime.start(text, flow=flow, options=options, run=own)
        else:
            by_use = {"lead": models.lead_model, "worker": models.worker_model, "review": models.review_model}
            settings = follow_ups.continued(
                earlier.definition,
                runtime.settings,
                model=models.model,
                models={use: model for use, model in by_use.items() if model is not None},
                documents=None if job.documents is None else runtime.settings.documents,
                limits=limits.limits,
            )
            given: Any = {"flow": flow, "options": options, "settings": settings, "run": own}
            state = await follow_ups.start(runtime, earlier, text, **given)
        files: dict[str, Any] = {"tools": job.tools, "output": output, "store": store}
        if job.detach:
            from leadhand.cli.background import run_in_background

            return await run_in_background(lead, state, **files)
        why = None if earlier is None or named else "as in the run that it follows up"
        return await run_in_foreground(lead, Run(runtime, state, drive=True), shown, why=why, **files)


async def _earlier(given: str, tools: Sequence[Any], store: StoreFlags) -> RunState:
    """Return the run to follow up. Raises NoSuchRun, UsageError and ConfigurationError."""
    from leadhand.cli.run_lookup import find_run

    async with open_reader(store) as runtime:
        earlier = await follow_ups.load_earlier(runtime, (await find_run(runtime.store, given)).run_id)
    check_tools(earlier.definition.tools, toolbox_of(store, tools))
    return earlier


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
    """Run a request and print the answer.

    Leadhand plans the request, runs its subtasks in parallel, reviews the results and writes the answer. The answer
    goes to stdout; progress, and what the answer rests on, to stderr. Ctrl-C pauses the run and prints the command
    that resumes it.

    Exit codes: 0 answered, 1 failed, 2 usage error, 3 partial answer, 4 waiting for a person, 5 budget or time used
    up, 6 configuration or credentials, 130 interrupted.

    Examples:
      leadhand run "What is the weather in Paris?"
      leadhand run --offline --json "Weather in Lyon, Nice and Lille"
      leadhand run --tools tools.py --approve ask "Pay the open invoices"
    """
    given = [f"--{each}" for each in ("flow", "worker", "solo") if getattr(flow, each)]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} exclude each other", "Give one of them.")
    inputs = None if flow.inputs is None else lines_of_json(flow.inputs)
    found = led(request or "", flow.flow or DEFAULT, flow_options(flow.option), worker=flow.worker, inputs=inputs)
    name = SOLO if flow.solo else "" if job.continue_ is not None and not given else found.flow
    if inputs is not None:
        request, models = found.request, replace(models, check=models.check or "off")
    return await start_run(request, name, lambda _: found.options, job, models, limits, output, store, example=EXAMPLE)


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
        if len(text) > MAX_INPUT:
            how = "Put long material into files, and say in the request what to do with them."
            raise UsageError(f"the request has more than {MAX_INPUT:,} bytes", how)
        return text.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"cannot read stdin as UTF-8 text: {error}", "Pipe text in, or pass it as an argument."
        ) from error
