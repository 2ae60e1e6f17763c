"""``leadhand runs export``: export a run as JSON lines or HTML."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from leadhand.cli.errors import Exit
from leadhand.cli.options import DEFAULT_STORE, Flag, RunId, StoreFlags, open_reader
from leadhand.cli.run_lookup import find_run
from leadhand.cli.terminal.streams import as_json, say, write
from leadhand.domain.document import event_line
from leadhand.domain.errors import UsageError
from leadhand.runs import Run


async def runs_export(
    run_id: RunId,
    /,
    *,
    jsonl: Annotated[bool, Flag("Export JSON lines, as run --stream-json prints them. This is the default.")] = False,
    html: Annotated[bool, Flag("Export one HTML page without scripts or external resources.")] = False,
    output: Annotated[str | None, Flag("Write to this file instead of stdout.", "FILE")] = None,
    store: StoreFlags = DEFAULT_STORE,
) -> int:
    """Export a run as JSON lines (its events, then the run document) or as one HTML page."""
    if jsonl and html:
        raise UsageError("--jsonl and --html exclude each other", "Give one of them.")
    async with open_reader(store) as lead:
        runtime = await lead.runtime()
        listing = await find_run(runtime.store, run_id)
        entries = await runtime.store.read(listing.run_id)
        document = await Run(runtime, await runtime.load(listing.run_id), drive=False).document()
    if html:
        from leadhand.app.html_export import page

        text = page(document, entries)
    else:
        lines = [*(event_line(entry) for entry in entries), {"type": "run", "document": document}]
        text = "".join(f"{as_json(line)}\n" for line in lines)
    if output is None or output == "-":
        write(text)
        return Exit.ANSWERED
    _save(output, text)
    say(f"{listing.run_id} written to {output}")
    return Exit.ANSWERED


def _save(name: str, text: str) -> None:
    """Write the file atomically. Raises UsageError if that fails."""
    path = Path(name).expanduser()
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        if path.is_dir():
            raise UsageError(f"{path} is a directory", "Name a file in it.")
        if not path.parent.is_dir():
            raise UsageError(f"no directory {path.parent}", "Create it first, or name another file with --output FILE.")
        draft.write_text(text, encoding="utf-8", errors="backslashreplace")
        os.replace(draft, path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UsageError(
            f"cannot write {path}: {error.strerror or error}", "Name another file with --output FILE."
        ) from error
