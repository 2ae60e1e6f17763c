"""``leadhand keys list``: the API keys there are, never the keys themselves."""

from __future__ import annotations

from datetime import UTC, datetime

from leadhand.app.formatting import age, shortened
from leadhand.app.keys import key_document, key_store
from leadhand.cli.console import out_is_terminal, say, width, write_json, write_line
from leadhand.cli.exit_codes import Exit
from leadhand.cli.options import HERE, Place, open_reader
from leadhand.domain.access import ApiKey

HEADINGS = ("ID", "KEY", "SCOPES", "MADE", "USED", "NAME")


async def keys_list(*, json: bool = False, place: Place = HERE) -> int:
    """List API keys, newest first; never the keys themselves.

    Parameters
    ----------
    json
        Print a JSON array.
    """
    async with open_reader(place) as lead:
        keys = await key_store((await lead.runtime()).store).keys()
    if json:
        write_json([key_document(key) for key in keys])
        return Exit.ANSWERED
    if not keys:
        say(f"No keys yet. Make one: {place.command('keys', 'create', 'NAME')}")
        return Exit.ANSWERED
    now = datetime.now(UTC)
    rows = [HEADINGS, *(_row(key, now) for key in keys)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS) - 1)]
    room = max(20, width() - sum(widths) - 2 * len(widths)) if out_is_terminal() else 1_000
    for row in rows:
        cells = [f"{cell:<{wide}}" for cell, wide in zip(row, widths, strict=False)]
        write_line("  ".join([*cells, shortened(row[-1], room)]))
    return Exit.ANSWERED


def _row(key: ApiKey, now: datetime) -> tuple[str, ...]:
    used = "never" if key.last_used_at is None else age(key.last_used_at, now)
    name = key.name if key.revoked_at is None else f"{key.name} (revoked {age(key.revoked_at, now)} ago)"
    return key.key_id, f"{key.prefix}…", ",".join(key.scopes), age(key.created_at, now), used, name
