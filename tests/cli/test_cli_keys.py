"""``leadhand keys``: a key is shown once, kept as a digest, listed without itself, and revoked for good."""

from __future__ import annotations

import asyncio
import re
from contextlib import aclosing
from typing import Any

from leadhand.app.steering.access import ApiKey
from leadhand.app.steering.keys import digest_of, find_key
from leadhand.stores.opening import open_store

KEPT = {"key_id", "name", "prefix", "scopes", "ceilings", "created_at", "revoked_at", "last_used_at"}


def found(leadhand: Any, secret: str) -> ApiKey | None:
    """What the key opens, as the service asks."""

    async def find() -> ApiKey | None:
        async with aclosing(await open_store(str(leadhand.home / "leadhand.db"))) as store:
            return await find_key(store, secret)

    return asyncio.run(find())


def test_a_key_stands_alone_on_stdout_and_is_kept_as_a_digest(leadhand: Any) -> None:
    made = leadhand("keys", "create", "Ann's laptop")

    assert made.code == 0
    assert re.fullmatch(r"lh_[A-Za-z0-9_-]{43}\n", made.out)
    secret = made.out.strip()
    assert secret not in made.err
    assert all(word in made.err for word in ("Ann's laptop", "read", "run", "approve"))
    key = found(leadhand, secret)
    assert key is not None
    assert key.digest == digest_of(secret)
    for file in leadhand.home.iterdir():
        if file.is_file():
            assert secret.encode() not in file.read_bytes(), file.name
    (listed,) = leadhand("keys", "list", "--json").json
    assert listed.keys() == KEPT
    assert (listed["key_id"], listed["name"], listed["prefix"]) == (key.key_id, "Ann's laptop", secret[:9])
    assert listed["created_at"].endswith("Z")


def test_scopes_are_named_one_by_one(leadhand: Any) -> None:
    made = leadhand("keys", "create", "dashboard", "--scope", "read", "--scope", "APPROVE", "--json").json

    assert made.keys() == KEPT | {"key"}
    assert made["scopes"] == ["read", "approve"]
    assert found(leadhand, made["key"]) is not None
    assert leadhand("keys", "create", "boss", "--scope=admin", "--json").json["scopes"] == ["admin"]


def test_a_key_given_for_an_id_is_refused_and_not_repeated(leadhand: Any) -> None:
    secret = leadhand("keys", "create", "a").out.strip()

    result = leadhand("keys", "revoke", secret)

    result.refused("leadhand keys list")
    assert secret not in result.err
    assert found(leadhand, secret) is not None


def test_keys_are_listed_newest_first_and_never_shown(leadhand: Any) -> None:
    assert leadhand("keys", "list").command("keys create") == ["keys", "create", "NAME"]
    secrets = [leadhand("keys", "create", name).out.strip() for name in ("first", "second")]

    listed = leadhand("keys", "list")

    head, second, first = listed.out.splitlines()
    assert head.split() == ["ID", "KEY", "SCOPES", "LIMITS", "CREATED", "USED", "NAME"]
    assert (second.split()[-1], first.split()[-1]) == ("second", "first")
    assert f"{secrets[0][:9]}…" in first
    assert " read,run,approve  -  " in first
    assert not any(secret in listed.out + listed.err for secret in secrets)


def test_a_key_that_is_revoked_opens_nothing_and_stays_in_the_list(leadhand: Any) -> None:
    secret = leadhand("keys", "create", "Ann").out.strip()
    other = leadhand("keys", "create", "Bob").out.strip()
    key = found(leadhand, secret)
    assert key is not None

    revoked = leadhand("keys", "revoke", key.key_id[:5].upper())

    assert (revoked.code, revoked.out) == (0, "")
    assert key.key_id in revoked.err
    assert found(leadhand, secret) is None
    assert found(leadhand, other) is not None
    before = leadhand("keys", "list", "--json").json
    again = leadhand("keys", "revoke", key.key_id, "--json")
    assert again.code == 0
    assert again.json in before
    assert leadhand("keys", "list", "--json").json == before
    assert re.search(r"  Ann .*\d+ s", leadhand("keys", "list").out)


def test_a_key_is_created_with_ceilings_of_its_own(leadhand: Any) -> None:
    flags = ("--budget", "0.5", "--budget-per-day", "5", "--max-runs", "4", "--max-workers", "8")
    flags = (*flags, "--max-running-steps", "20")

    made = leadhand("keys", "create", "ben", *flags, "--json").json
    assert re.search(
        r"budget=0.5, budget_per_day=5, max_runs=4, max_workers=8, max_running_steps=20 .* ben$",
        leadhand("keys", "list").out,
        re.MULTILINE,
    )

    shown = {"budget": 0.5, "budget_per_day": 5.0, "budget_total": None, "max_runs": 4, "max_workers": 8}
    shown["max_running_steps"] = 20
    assert made["ceilings"] == shown
    (listed,) = leadhand("keys", "list", "--json").json
    assert listed["ceilings"] == shown
    leadhand("keys", "create", "cem", "--budget", "-1").refused()
    assert leadhand("keys", "list", "--json").json == [listed], "a key that is refused is not kept"
