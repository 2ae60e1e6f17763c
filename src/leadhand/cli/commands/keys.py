"""``leadhand keys create``, ``list`` and ``revoke``: API keys."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from leadhand.app.formatting import age
from leadhand.app.keys import USUAL_SCOPES, key_document, key_store, make_key, named_key
from leadhand.cli.errors import Exit
from leadhand.cli.options import DEFAULT_STORE, Flag, Json, StoreFlags, open_reader
from leadhand.cli.terminal.messages import table_lines
from leadhand.cli.terminal.streams import say, write_json, write_line
from leadhand.domain.access import ApiKey, Scope
from leadhand.domain.errors import UsageError

HEADINGS = ("ID", "KEY", "SCOPES", "CREATED", "USED", "NAME")


async def keys_create(
    name: Annotated[str, Flag("Who or what will use the key.")],
    /,
    *,
    scope: Annotated[
        tuple[str, ...],
        Flag("Grant this scope: read, run, approve or admin. Repeatable (default: read, run and approve).", "SCOPE"),
    ] = (),
    json: Annotated[bool, Flag("Print a JSON object, including the key.")] = False,
    store: StoreFlags = DEFAULT_STORE,
) -> int:
    """Create an API key and show it once."""
    scopes = [_scope(each) for each in scope] or USUAL_SCOPES
    async with open_reader(store) as lead:
        key, secret = await make_key(key_store((await lead.runtime()).store), name, scopes)
    if json:
        write_json({**key_document(key), "key": secret})
    else:
        write_line(secret)
    say(f"API key for {key.name} with scopes {', '.join(key.scopes)}. Copy it now: it is not shown again.")
    say(f"Revoke it with: {store.command('keys', 'revoke', key.key_id)}")
    return Exit.ANSWERED


def _scope(given: str) -> Scope:
    try:
        return Scope(given.strip().lower())
    except ValueError as error:
        raise UsageError(f"invalid value for --scope: {given!r}", f"Choose from: {', '.join(Scope)}.") from error


async def keys_list(*, json: Json = False, store: StoreFlags = DEFAULT_STORE) -> int:
    """List API keys, newest first, without the secrets."""
    async with open_reader(store) as lead:
        keys = await key_store((await lead.runtime()).store).keys()
    if json:
        write_json([key_document(key) for key in keys])
        return Exit.ANSWERED
    if not keys:
        say(f"No API keys yet. Create one: {store.command('keys', 'create', 'NAME')}")
        return Exit.ANSWERED
    now = datetime.now(UTC)
    for line in table_lines(HEADINGS, [_row(key, now) for key in keys]):
        write_line(line)
    return Exit.ANSWERED


def _row(key: ApiKey, now: datetime) -> tuple[str, ...]:
    used = "never" if key.last_used_at is None else age(key.last_used_at, now)
    name = key.name if key.revoked_at is None else f"{key.name} (revoked {age(key.revoked_at, now)} ago)"
    return key.key_id, f"{key.prefix}…", ",".join(key.scopes), age(key.created_at, now), used, name


async def keys_revoke(
    key_id: Annotated[str, Flag("The id of the key, or the beginning of it.", "ID")],
    /,
    *,
    json: Annotated[bool, Flag("Print the stored key as a JSON object.")] = False,
    store: StoreFlags = DEFAULT_STORE,
) -> int:
    """Revoke an API key."""
    async with open_reader(store) as lead:
        keys = key_store((await lead.runtime()).store)
        before = await named_key(keys, key_id)
        key = await keys.revoke_key(before.key_id)
    if json:
        write_json(key_document(key))
    already = "was already revoked" if before.revoked_at is not None else "is revoked"
    say(f"The API key {key.key_id} of {key.name} {already}.")
    return Exit.ANSWERED
