"""A run as a file: JSON lines, its document, Markdown or a page; of a run that cannot be read to its end, what can."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Literal

from leadhand.app.export.document import event_line
from leadhand.app.export.pages import markdown, page
from leadhand.app.export.run_document import followed_by, run_document
from leadhand.app.project.flows import FlowRegistry
from leadhand.core.errors import UnreadableRun
from leadhand.core.events import Entry
from leadhand.core.evolve import replay
from leadhand.ports import ContextStore

Format = Literal["jsonl", "json", "md", "html"]


async def export(
    store: ContextStore,
    flows: FlowRegistry,
    run_id: str,
    as_json: Callable[[Any], str],
    *,
    format: Format = "jsonl",
) -> tuple[str, UnreadableRun | None]:
    """Export a run: its events and its document (``jsonl``), its document, its answer (``md``), or a page.

    Returns the text, and why it is not the whole run, if it is not: JSON lines go as far as a run can be read, and the
    last one says why they end there. ``as_json`` writes one line. Raises NoSuchRun, and UnreadableRun for another
    format of a run that cannot be read to its end.
    """
    entries, damage = await _readable(store, run_id)
    listing = await store.run(run_id)
    later = await followed_by(store, listing)
    document: dict[str, Any] | None = None
    sound = entries
    while sound and document is None:
        try:
            state = replay(run_id, sound)
            task = flows.task(state)
            document = run_document(state, owner=listing.owner, task=task, later=later).as_json()
        except UnreadableRun as error:
            damage, sound = error, sound[: error.seq - 1]
    if format != "jsonl":
        if damage is not None:
            raise damage
        if format == "json":
            return f"{as_json(document)}\n", None
        # In a thread: a page of long texts takes a while, and others use this loop.
        return await asyncio.to_thread(markdown if format == "md" else page, document or {}), None
    lines: list[dict[str, Any]] = [event_line(entry) for entry in entries]
    if document is not None:
        lines.append({"type": "run", "document": document})
    if damage is not None:
        why = {"detail": damage.what, "how": damage.how}
        lines.append({"type": "unreadable", "run_id": run_id, "seq": damage.seq, **why})
    return "".join(f"{as_json(line)}\n" for line in lines), damage


async def _readable(store: ContextStore, run_id: str) -> tuple[list[Entry], UnreadableRun | None]:
    """Return the events up to the first that cannot be read, and why that one cannot be."""
    damage: UnreadableRun | None = None
    while damage is None or damage.seq > 1:
        try:
            return await store.read(run_id, limit=None if damage is None else damage.seq - 1), damage
        except UnreadableRun as error:
            damage = error
    return [], damage
