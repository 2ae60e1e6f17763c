"""``leadhand runs export``: a run as a file."""

from __future__ import annotations

import os
from pathlib import Path

from leadhand.cli.console import as_json, say, write
from leadhand.cli.exit_codes import Exit
from leadhand.cli.finding import find_run
from leadhand.cli.options import HERE, Place, open_reader
from leadhand.domain.document import event_line
from leadhand.domain.errors import UsageError
from leadhand.runs import Run


async def runs_export(
    run_id: str,
    /,
    *,
    jsonl: bool = False,
    html: bool = False,
    output: str | None = None,
    place: Place = HERE,
) -> int:
    """Write a run as lines of JSON (its events, then the run document) or as one page of HTML.

    Parameters
    ----------
    run_id
        The run, or the beginning of its id.
    jsonl
        Lines of JSON, as run --stream-json prints them: this, if nothing else is said.
    html
        One page that needs nothing else: no scripts, no network.
    output
        Write to this file instead of stdout.
    """
    if jsonl and html:
        raise UsageError("--jsonl and --html exclude each other", "Give one of them.")
    async with open_reader(place) as lead:
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
    """Write the file, whole or not at all. Raises UsageError."""
    path = Path(name).expanduser()
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        if path.is_dir():
            raise UsageError(f"{path} is a directory", "Name a file in it.")
        if not path.parent.is_dir():
            raise UsageError(
                f"there is no directory {path.parent}", "Make it first, or name another file with --output FILE."
            )
        draft.write_text(text, encoding="utf-8", errors="backslashreplace")
        os.replace(draft, path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UsageError(
            f"{path} cannot be written: {error.strerror or error}", "Name another file with --output FILE."
        ) from error
