"""``leadhand workers list`` and ``promote``: the workers of a project."""

from __future__ import annotations

from typing import Annotated

from leadhand.app.export.formatting import clean
from leadhand.app.project.generated_workers import (
    WorkerDocument,
    checked,
    declared_documents,
    generated_workers,
    promotion_of,
)
from leadhand.app.project.manifest import Project
from leadhand.app.project.source_files import all_tools
from leadhand.app.project.toolsets import toolbox
from leadhand.cli.dispatch import Exit
from leadhand.cli.options import Flag, Json, ProjectFlags
from leadhand.cli.terminal.messages import write_table
from leadhand.cli.terminal.prompt import confirmed
from leadhand.cli.terminal.streams import can_prompt, print_error, say, write_json
from leadhand.core.errors import LeadhandError, UsageError

HEADINGS = ("NAME", "SOURCE", "FILE", "DESCRIPTION")
Name = Annotated[str, Flag("The worker.")]


async def workers_list(*, json: Json = False, project: ProjectFlags = ProjectFlags()) -> None:
    """List the workers of the project: those that it declares, then those that runs generated, newest first."""
    found = _workers(project.required())
    if json:
        write_json([each.model_dump(mode="json") for each in found])
    elif found:
        write_table(HEADINGS, [(each.name, each.source, each.path, each.problem or each.description) for each in found])
    else:
        say("No workers yet. For an example of a worker file: leadhand init example")


async def workers_promote(
    name: Name,
    /,
    *,
    run: Annotated[str | None, Flag("The run that generated it; by default the newest.", "RUN")] = None,
    yes: Annotated[bool, Flag("Promote it without asking.")] = False,
    project: ProjectFlags = ProjectFlags(),
) -> int:
    """Promote a generated worker, so that later runs know it.

    Shows what changes, asks, and copies the file of the worker to the first place that a pattern of worker_files in
    leadhand.toml fits.
    """
    here = project.required()
    say(f"project {here.path}")
    promotion = promotion_of(here, name, run)
    diff = promotion.diff()
    if not diff:
        say(f"{promotion.path} is the same: nothing to do.")
        return Exit.ANSWERED
    say(clean(diff).rstrip("\n"))
    if not yes and not can_prompt():
        raise UsageError("promoting a worker changes the files above", "To promote it, add --yes.")
    if not yes and not confirmed(f"promote {name} to {promotion.path}? (yes or no)"):
        say("Nothing was changed.")
        return Exit.ANSWERED
    promotion.carry_out(toolbox(all_tools(here.located(each) for each in here.manifest.tools)))
    say(f'{name} is promoted to {promotion.path}. Use it: leadhand run --worker {name} "…"')
    return Exit.ANSWERED


def _workers(project: Project) -> list[WorkerDocument]:
    say(f"project {project.path}")
    found = [*declared_documents(project), *generated_workers(project)]
    try:
        own = all_tools(project.located(each) for each in project.manifest.tools)
    except LeadhandError as error:  # the workers can be listed without their tools
        print_error(error.what, error.how)
        return found
    return checked(found, toolbox(own))
