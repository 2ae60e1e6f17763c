"""``leadhand keys create``, ``list`` and ``revoke``: API keys."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, ClassVar

from leadhand.app.export.formatting import age
from leadhand.app.steering.access import ApiKey, KeyCeilings, Scope
from leadhand.app.steering.keys import USUAL_SCOPES, all_keys, make_key, named_key, revoke
from leadhand.cli.options import Flag, Json, LimitFlags, StoreFlags, open_reader
from leadhand.cli.terminal.messages import write_table
from leadhand.cli.terminal.streams import say, write_json, write_line
from leadhand.core.value import Value

HEADINGS = ("ID", "KEY", "SCOPES", "LIMITS", "CREATED", "USED", "NAME")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLimitFlags(LimitFlags):
    """The most that the runs of an API key get."""

    LIMITS: ClassVar[type[Value]] = KeyCeilings


async def keys_create(
    name: Annotated[str, Flag("Who or what will use the key.")],
    /,
    *,
    scope: Annotated[
        tuple[str, ...],
        Flag(
            "Grant this scope: read, read:all, run, approve or admin. Repeatable (default: read, run and approve).",
            "SCOPE",
            tuple(Scope),
        ),
    ] = (),
    limits: KeyLimitFlags = KeyLimitFlags(),
    json: Annotated[bool, Flag("Print a JSON object, including the key.")] = False,
    store: StoreFlags = StoreFlags(),
) -> None:
    """Create an API key and show it once.

    Only the key goes to stdout. Leadhand stores its digest, so a lost key cannot be shown again: revoke it and create
    another. The scopes run and approve include read; admin includes all.

    Examples:
      leadhand keys create "Ann's laptop"
      leadhand keys create dashboard --scope read
    """
    ceilings, scopes = KeyCeilings(**limits.given), tuple(map(Scope, scope)) or USUAL_SCOPES
    async with open_reader(store, creates=True) as runtime:
        key, secret = await make_key(runtime.database, name, scopes, ceilings)
    if json:
        write_json({**key.shown.model_dump(mode="json"), "key": secret})
    else:
        write_line(secret)
    say(f"API key for {key.name} with scopes {', '.join(key.scopes)}. Copy it now: it is not shown again.")
    if words := _limits(key):
        say(f"Its limits: {words}.")
    say(f"Revoke it with: {store.command('keys', 'revoke', key.key_id)}")


async def keys_list(*, json: Json = False, store: StoreFlags = StoreFlags()) -> None:
    """List API keys, newest first, without the secrets."""
    async with open_reader(store) as runtime:
        keys = await all_keys(runtime.database)
    if json:
        write_json([key.shown.model_dump(mode="json") for key in keys])
    elif keys:
        now = datetime.now(UTC)
        write_table(HEADINGS, [_row(key, now) for key in keys])
    else:
        say(f"No API keys yet. Create one: {store.command('keys', 'create', 'NAME')}")


def _limits(key: ApiKey) -> str:
    """Return the limits of a key: ``budget=1, max_runs=3``; "" if it has none."""
    return ", ".join(f"{name}={value:g}" for name, value in key.ceilings.model_dump().items() if value is not None)


def _row(key: ApiKey, now: datetime) -> tuple[str, ...]:
    used = "never" if key.last_used_at is None else age(key.last_used_at, now)
    name = key.name if key.revoked_at is None else f"{key.name} (revoked {age(key.revoked_at, now)} ago)"
    return key.key_id, f"{key.prefix}…", ",".join(key.scopes), _limits(key) or "-", age(key.created_at, now), used, name


async def keys_revoke(
    key_id: Annotated[str, Flag("The id of the key, or the beginning of it.", "ID")],
    /,
    *,
    json: Annotated[bool, Flag("Print the stored key as a JSON object.")] = False,
    store: StoreFlags = StoreFlags(),
) -> None:
    """Revoke an API key.

    This cannot be undone. The key stays in the list.
    """
    async with open_reader(store) as runtime:
        keys = runtime.database
        before = await named_key(keys, key_id)
        key = await revoke(keys, before)
    if json:
        write_json(key.shown.model_dump(mode="json"))
    already = "was already revoked" if before.revoked_at is not None else "is revoked"
    say(f"The API key {key.key_id} of {key.name} {already}.")
