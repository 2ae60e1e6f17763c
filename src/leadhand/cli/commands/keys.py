"""``leadhand keys create``, ``list`` and ``revoke``: API keys."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from leadhand.app.arguments import money
from leadhand.app.formatting import age, count
from leadhand.app.steering.keys import USUAL_SCOPES, make_key, named_key
from leadhand.cli.flag_values import one_of
from leadhand.cli.options import Flag, Json, StoreFlags, check_range, open_reader
from leadhand.cli.terminal.messages import write_table
from leadhand.cli.terminal.streams import say, write_json, write_line
from leadhand.ports import in_database
from leadhand.ports.access import ApiKey, KeyCeilings, Scope

HEADINGS = ("ID", "KEY", "SCOPES", "LIMITS", "CREATED", "USED", "NAME")


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
    budget: Annotated[float | None, Flag("Spending limit of each run of the key, in US dollars.", "USD")] = None,
    budget_per_day: Annotated[
        float | None, Flag("Spending limit of all runs of the key together on one day (UTC), in US dollars.", "USD")
    ] = None,
    budget_total: Annotated[
        float | None, Flag("Spending limit of all runs of the key together, in US dollars.", "USD")
    ] = None,
    max_runs: Annotated[
        int | None, Flag("Maximum number of runs of the key at once, including those that wait for approval.", "N")
    ] = None,
    max_workers: Annotated[int | None, Flag("Maximum number of subtasks of a run that run at once.", "N")] = None,
    max_running_steps: Annotated[
        int | None, Flag("Maximum number of steps of all runs of the key that run at once.", "N")
    ] = None,
    json: Annotated[bool, Flag("Print a JSON object, including the key.")] = False,
    store: StoreFlags = StoreFlags(),
) -> None:
    """Create an API key and show it once."""
    check_range("max_runs", max_runs)
    check_range("max_workers", max_workers)
    check_range("max_running_steps", max_running_steps)
    for flag, amount in (("--budget", budget), ("--budget-per-day", budget_per_day), ("--budget-total", budget_total)):
        money(amount, flag)
    ceilings = KeyCeilings(
        budget=budget,
        budget_per_day=budget_per_day,
        budget_total=budget_total,
        max_runs=max_runs,
        max_workers=max_workers,
        max_running_steps=max_running_steps,
    )
    scopes = [one_of("--scope", Scope, each.strip().lower()) for each in scope] or USUAL_SCOPES
    async with open_reader(store, creates=True) as runtime:
        key, secret = await make_key(in_database(runtime.store), name, scopes, ceilings)
    if json:
        write_json({**key.shown.model_dump(mode="json"), "key": secret})
    else:
        write_line(secret)
    say(f"API key for {key.name} with scopes {', '.join(key.scopes)}. Copy it now: it is not shown again.")
    if limits := _limits(key):
        say(f"Its limits: {limits}.")
    say(f"Revoke it with: {store.command('keys', 'revoke', key.key_id)}")


async def keys_list(*, json: Json = False, store: StoreFlags = StoreFlags()) -> None:
    """List API keys, newest first, without the secrets."""
    async with open_reader(store) as runtime:
        keys = await in_database(runtime.store).keys()
    if json:
        write_json([key.shown.model_dump(mode="json") for key in keys])
    elif keys:
        now = datetime.now(UTC)
        write_table(HEADINGS, [_row(key, now) for key in keys])
    else:
        say(f"No API keys yet. Create one: {store.command('keys', 'create', 'NAME')}")


def _limits(key: ApiKey) -> str:
    """Return the limits of a key in words: ``$1 a run, 3 runs at once``; "" if it has none."""
    ceilings = key.ceilings
    money = {"a run": ceilings.budget, "a day": ceilings.budget_per_day, "in total": ceilings.budget_total}
    words = [f"${each:g} {when}" for when, each in money.items() if each is not None]
    words += [] if ceilings.max_runs is None else [f"{count(ceilings.max_runs, 'run')} at once"]
    words += [] if ceilings.max_workers is None else [f"{count(ceilings.max_workers, 'worker')} a run"]
    words += [] if ceilings.max_running_steps is None else [f"{count(ceilings.max_running_steps, 'step')} at once"]
    return ", ".join(words)


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
    """Revoke an API key."""
    async with open_reader(store) as runtime:
        keys = in_database(runtime.store)
        before = await named_key(keys, key_id)
        key = await keys.revoke_key(before.key_id)
    if json:
        write_json(key.shown.model_dump(mode="json"))
    already = "was already revoked" if before.revoked_at is not None else "is revoked"
    say(f"The API key {key.key_id} of {key.name} {already}.")
