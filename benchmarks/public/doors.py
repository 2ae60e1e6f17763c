"""What a run leaves in its home, and what its doors show: where no secret may be in clear."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from leadhand import Leadhand
from leadhand.app.export.export import Format, export

SECRETS = "secrets"
"""The table of the values of secrets, which no door reads."""


async def shown(lead: Leadhand) -> list[str]:
    """Return what the doors show of every run: its document with all parts, and its exports."""
    runtime = await lead.runtime()
    texts: list[str] = []
    for listing in await lead.runs():
        texts.append(json.dumps(await (await lead.get(listing.run_id)).document(), default=str))
        for form in get_args(Format):
            text, _ = await export(runtime.store, runtime.flows, listing.run_id, _line, format=form)
            texts.append(text)
    return texts


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def stored(home: Path) -> Iterator[str]:
    """Yield everything that is stored in a home, outside of the table of secrets."""
    for path in sorted(home.rglob("*")):
        if path.suffix == ".db":
            with sqlite3.connect(path) as database:
                named = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
                for name in named:
                    if name != SECRETS:
                        yield from (str(value) for row in database.execute(f"SELECT * FROM {name}") for value in row)
        elif path.is_file() and not path.name.startswith("leadhand.db"):
            yield path.read_bytes().decode(errors="replace")
