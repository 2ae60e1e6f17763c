"""Change the name and the tags of a run."""

from __future__ import annotations

from collections.abc import Mapping

from leadhand.app.arguments import run_name, run_tags
from leadhand.app.runtime import Runtime
from leadhand.core.events import RunChanged


async def label_run(
    runtime: Runtime, run_id: str, *, name: str | None = None, tags: Mapping[str, str | None] | None = None, by: str
) -> None:
    """Give a run another name (None: keep it), and set tags; None as the value of a tag removes it.

    ``by`` does it. Writes nothing if nothing changes. Raises NoSuchRun, and UsageError for an invalid name or tag.
    """
    line = await runtime.store.run(run_id)
    changed = {**line.tags, **(tags or {})}
    kept = run_tags({key: value for key, value in changed.items() if value is not None})
    given = line.name if name is None else run_name(name)
    if (given, kept) != (line.name, line.tags):
        await runtime.log(run_id).append(RunChanged(by=by, name=given, tags=kept))
