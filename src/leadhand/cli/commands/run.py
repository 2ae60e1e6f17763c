"""``leadhand run``: carry a request out."""

from __future__ import annotations

import sys

from leadhand.cli.console import err_is_terminal, say
from leadhand.cli.driving import carry_through, new_view
from leadhand.cli.options import (
    ANSWER,
    ANY_MODEL,
    HERE,
    USUAL_LIMITS,
    LimitFlags,
    ModelFlags,
    Output,
    Place,
    open_asked,
)
from leadhand.cli.policies import approval
from leadhand.cli.telling import kept_in, opening, say_table
from leadhand.domain.errors import UsageError

EXAMPLE = 'leadhand run "What is the weather in Paris?"'


async def run(
    request: str | None = None,
    /,
    *,
    tools: tuple[str, ...] = (),
    approve: tuple[str, ...] = (),
    detach: bool = False,
    models: ModelFlags = ANY_MODEL,
    limits: LimitFlags = USUAL_LIMITS,
    output: Output = ANSWER,
    place: Place = HERE,
    worker: str | None = None,
    project: str | None = None,
) -> int:
    """Plan a request, carry it out with workers in parallel, review the evidence, and answer.

    The answer goes to stdout, progress to stderr. Ctrl-C parks the run, and says how to resume it.

    Parameters
    ----------
    request
        What you want to know or have done; - or nothing reads it from stdin.
    tools
        Add the tools of this Python file or module (may be given again).
    approve
        What becomes of calls that need a person's yes: ask (unless told), auto or never. Given again, a rule for some
        of them, the first that fits: 'tool:send_*=auto', toolset:mail=ask, effect:once=never, 'origin:shop.*=ask'.
    detach
        Go on in the background: print the run's id and return.
    worker
        Let this worker file lead (not in this release).
    project
        Use this project file (not in this release).
    """
    for flag, value in (("--project", project), ("--worker", worker)):
        if value is not None:
            raise UsageError(
                f"{flag} is not in this release",
                "Leave it out, and give models, limits and --tools on the command line.",
            )
    output.check()
    models.check()
    limits.check()
    policy, rules = approval(approve)
    if detach and output.stream_json:
        raise UsageError("--detach leaves nothing to stream", "Follow the run with leadhand runs watch --stream-json.")
    from leadhand.app.arguments import check_request
    from leadhand.cli.own_tools import all_tools

    asked = check_request(_request(request), example=EXAMPLE)
    shown = new_view(output)
    lead = open_asked(
        place, models, limits, tools=all_tools(tools), approve=policy, approve_rules=rules, on_text=shown.write_draft
    )
    async with lead:
        if detach:
            from leadhand.cli.detaching import start_detached

            return await start_detached(lead, asked, tools=tools, output=output, place=place)
        if err_is_terminal():
            from leadhand.cli.finding import mention_orphans

            await mention_orphans(lead, place, again=False)
        runtime = await lead.runtime()
        started = await lead.start(asked)
        say_table(
            opening(
                started.run_id,
                started.state.definition,
                why=runtime.choice.why,
                kept=kept_in(runtime),
                unpriced=runtime.choice.unpriced,
            )
        )
        return await carry_through(
            lead,
            started,
            shown,
            output=output,
            place=place,
            resume=place.command("runs", "resume", started.run_id, tools=tools),
        )


LONGEST_INPUT = 1_000_000
"""Bytes of stdin that are read: more than any request may have."""


def _request(given: str | None) -> str:
    """The request, from the command line or from stdin. Raises UsageError when there is none that can be read."""
    if given is not None and given != "-":
        return given
    if sys.stdin is None or (given is None and sys.stdin.isatty()):
        raise UsageError("there is no request", f"Say what you want: {EXAMPLE}")
    if sys.stdin.isatty():
        say("Reading the request from the terminal; Ctrl-D ends it.")
    try:
        text = sys.stdin.buffer.read(LONGEST_INPUT + 1)
    except OSError as error:
        raise UsageError(
            f"stdin cannot be read: {error.strerror or error}", "Give the request as an argument, or pipe text in."
        ) from error
    if len(text) > LONGEST_INPUT:
        raise UsageError(
            f"the request has more than {LONGEST_INPUT:,} bytes",
            "Put long material into files, and say in the request what to do with it.",
        )
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise UsageError("stdin is no text in UTF-8", "Convert it, for example with iconv -t UTF-8.") from error
