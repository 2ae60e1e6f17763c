"""``leadhand keys``: a key is shown once, kept as a digest, listed without itself, and revoked for good."""

from __future__ import annotations

import asyncio
import re
from contextlib import aclosing
from typing import Any

import pytest

from leadhand.app.keys import digest_of, find_key
from leadhand.domain.access import ApiKey
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
    assert made.err.startswith(
        "API key for Ann's laptop with scopes read, run, approve. Copy it now: it is not shown again."
    )
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


@pytest.mark.parametrize(
    ("words", "what", "how"),
    [
        (
            ("create", "a", "--scope", "write"),
            "invalid value for --scope: 'write'",
            "Choose from: read, read:all, run, approve, admin.",
        ),
        (("create", "  "), "the name of the key is empty", "Choose a name of 1 to 100 characters"),
        (("create", "x" * 101), "the name of the key is empty, too long", "Choose a name of 1 to 100 characters"),
        (("create",), "NAME is missing", "leadhand keys create --help"),
        (
            ("create", "a", "--scope", "read", "--budget", "1"),
            "a key with the scope read starts no runs, so limits have no effect",
            "Omit the limits, or add the scope run.",
        ),
        (("revoke", "0a1b2c3d"), "no key matches '0a1b2c3d'", "leadhand keys list"),
        (("revoke", ""), "the key id is empty", "leadhand keys list"),
    ],
)
def test_what_is_wrong_and_how_to_mend_it(leadhand: Any, words: tuple[str, ...], what: str, how: str) -> None:
    result = leadhand("keys", *words)

    assert result.code == 2
    assert result.out == ""
    first, second = result.err.splitlines()
    assert first.startswith("leadhand: ")
    assert what in first
    assert how in second
    assert leadhand("keys", "list", "--json").json == []


def test_a_key_given_for_an_id_is_refused_and_not_repeated(leadhand: Any) -> None:
    secret = leadhand("keys", "create", "a").out.strip()

    result = leadhand("keys", "revoke", secret)

    assert result.code == 2
    assert secret not in result.err
    assert found(leadhand, secret) is not None


def test_keys_are_listed_newest_first_and_never_shown(leadhand: Any) -> None:
    assert leadhand("keys", "list").err == "No API keys yet. Create one: leadhand keys create NAME\n"
    secrets = [leadhand("keys", "create", name).out.strip() for name in ("first", "second")]

    listed = leadhand("keys", "list")

    head, second, first = listed.out.splitlines()
    assert head.split() == ["ID", "KEY", "SCOPES", "LIMITS", "CREATED", "USED", "NAME"]
    assert second.endswith(" never  second")
    assert first.endswith(" never  first")
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
    assert revoked.err == f"The API key {key.key_id} of Ann is revoked.\n"
    assert found(leadhand, secret) is None
    assert found(leadhand, other) is not None
    before = leadhand("keys", "list", "--json").json
    again = leadhand("keys", "revoke", key.key_id, "--json")
    assert again.code == 0
    assert again.json in before
    assert "was already revoked" in again.err
    assert leadhand("keys", "list", "--json").json == before
    assert re.search(r"  Ann \(revoked \d+ s ago\)$", leadhand("keys", "list").out, re.MULTILINE)


def test_a_key_is_created_with_ceilings_of_its_own(leadhand: Any) -> None:
    flags = ("--budget", "0.5", "--budget-per-day", "5", "--max-runs", "4", "--max-workers", "8")
    flags = (*flags, "--max-assignments", "20")

    created = leadhand("keys", "create", "ben", *flags, "--json")
    made, words = created.json, "$0.5 a run, $5 a day, 4 runs at once, 8 workers a run, 20 assignments at once"
    assert f"Its limits: {words}." in created.err
    assert f"  {words}  " in leadhand("keys", "list").out

    shown = {"budget": 0.5, "budget_per_day": 5.0, "budget_total": None, "max_runs": 4, "max_workers": 8}
    shown["max_assignments"] = 20
    assert made["ceilings"] == shown
    (listed,) = leadhand("keys", "list", "--json").json
    assert listed["ceilings"] == shown
    for wrong in (("--budget", "-1"), ("--max-runs", "0"), ("--max-assignments", "0"), ("--budget-per-day", "nan")):
        refused = leadhand("keys", "create", "cem", *wrong)
        assert refused.code == 2
        assert f"invalid value for {wrong[0]}" in refused.err
