"""The checks of ``leadhand doctor``; each assumes that the ones before it passed."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from leadhand.app.export.formatting import count
from leadhand.app.runtime.listings import PAGE
from leadhand.app.runtime.model_selection import choose_models
from leadhand.app.settings import Settings, make_home, tilde
from leadhand.core.errors import ConfigurationError, LeadhandError, StoreError
from leadhand.core.run import RunStatus
from leadhand.models.detection import listens
from leadhand.models.providers import ollama_url, provider_of
from leadhand.models.router import ModelRouter
from leadhand.models.server_settings import is_loopback
from leadhand.ports import ContextStore, ModelError
from leadhand.ports.runs import RunListing
from leadhand.stores.connection import Absent
from leadhand.stores.opening import open_store
from leadhand.stores.schema import VERSION

ANSWER_WITHIN_S = 2.0
REPAIR = "Restore the database from a backup, or export what is left of the run and delete it: leadhand runs delete RUN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check: ``level`` is ok, warn or fail; ``how`` is the fix."""

    check: str
    level: Literal["ok", "warn", "fail"] = "ok"
    what: str
    how: str = ""


def failed(check: str, error: LeadhandError) -> Finding:
    """The finding for a check that raised an error."""
    return Finding(check=check, level="fail", what=error.what, how=error.how)


HowToResume = Callable[[ContextStore, list[RunListing]], Awaitable[str]]
"""Returns the command that resumes orphaned runs."""


async def examine(set_up: Settings, version: str, how_to_resume: HowToResume) -> AsyncIterator[Finding]:
    """Yield every finding."""
    about = f"{version} in {tilde(Path(__file__).parents[1])}, Python {platform.python_version()}"
    yield Finding(check="leadhand", what=f"{about} on {platform.system()} {platform.machine()}")
    yield _home(set_up)
    async for finding in _database(set_up, how_to_resume):
        yield finding
    async for finding in _model(set_up):
        yield finding


def _home(set_up: Settings) -> Finding:
    home, there = tilde(set_up.home), _existing(set_up.home)
    try:
        if there == set_up.home:
            return Finding(check="home", what=f"{tilde(make_home(set_up.home))} is writable")
        if not os.access(there, os.W_OK | os.X_OK):
            how = "Choose another one with --home DIR or LEADHAND_HOME."
            raise ConfigurationError(f"{home} cannot be created: {there} is not writable", how)
    except LeadhandError as error:
        return failed("home", error)
    return Finding(check="home", what=f"{home} does not exist yet; the first run creates it")


def _existing(path: Path) -> Path:
    """Return a path, or the nearest directory above it that exists."""
    return next(each for each in (path, *path.parents) if os.path.exists(each))


WRITABLE_S = 10.0
"""Seconds that a database has to accept a write."""


async def check_writable(store: ContextStore) -> None:
    """Write to a store without leaving data. Raises StoreError if the store is not writable."""
    try:
        async with asyncio.timeout(WRITABLE_S):
            await store.cache("is this database writable?", None, 0.0)
    except TimeoutError as error:
        what = f"the database did not accept a write within {WRITABLE_S:.0f} s"
        raise StoreError(what, "`leadhand doctor` says more; the log names what it waits for") from error


async def _orphans(store: ContextStore) -> list[RunListing]:
    return [run for run in await store.runs(status=RunStatus.RUNNING, limit=PAGE) if run.orphan]


def _runs(orphans: list[RunListing], how: str) -> Finding:
    what = f"{count(len(orphans), 'run')} orphaned by a process that died" if orphans else "no orphaned runs"
    return Finding(check="runs", level="warn" if orphans else "ok", what=what, how=how)


async def _database(set_up: Settings, how_to_resume: HowToResume) -> AsyncIterator[Finding]:
    try:
        async with aclosing(await open_store(set_up.database, reading=True)) as store:
            try:
                await check_writable(store)
            except StoreError as error:
                yield failed("database", error)
            path = set_up.database_path
            yield Finding(check="database", what=f"{tilde(path) if path else store.name} opens, schema {VERSION}")
            for what in await store.damage():
                yield Finding(check="log", level="fail", what=what, how=REPAIR)
            orphans = await _orphans(store)
            yield _runs(orphans, await how_to_resume(store, orphans) if orphans else "")
    except LeadhandError as error:  # an absent one, as after an installation, is created by the first run
        yield replace(failed("database", error), level="warn" if isinstance(error, Absent) else "fail")


async def _model(set_up: Settings) -> AsyncIterator[Finding]:
    try:
        models, choice = await choose_models(set_up)
    except LeadhandError as error:
        yield failed("model", error)
        return
    await models.aclose()
    name = choice.models.default
    yield Finding(check="model", what=f"{name} ({choice.why})")
    address = _address(name, set_up)
    if address is None:
        return
    if not await listens(address, ANSWER_WITHIN_S):
        how = "Start the server, or choose another model with --model."
        yield Finding(check="reach", level="fail", what=f"no server answers at {address}", how=how)
    elif name.startswith("openai_compatible:"):
        yield await _listed(name.partition(":")[2], address, set_up)
    else:
        yield Finding(check="reach", what=f"{address} answers")


async def _listed(model: str, address: str, set_up: Settings) -> Finding:
    """Check that the user's server accepts the key and lists the model."""
    models: Sequence[str] = ()
    try:
        async with aclosing(ModelRouter(env=set_up.environment)) as router:
            models = await router.models()
    except ModelError as error:  # not every server lists its models
        failure = error.failure
        if failure.type in ("bad_key", "not_an_api", "certificate", "timeout"):
            return Finding(check="reach", level="fail", what=failure.message, how=failure.next_action)
    if models and model not in models:
        what, how = (
            f"{address} answers, but does not list {model}",
            f"Use a model that it lists: {', '.join(models[:8])}",
        )
        return Finding(check="reach", level="warn", what=what, how=how)
    return Finding(check="reach", what=f"{address} answers")


def _address(model: str, set_up: Settings) -> str | None:
    """The address of a model's server if it is local or set by the user; None for a provider's own address."""
    provider, environment = provider_of(model), set_up.environment
    if provider is None:
        return None
    if provider.name == "ollama":
        return ollama_url(environment)
    named = environment.get(provider.url_variable(environment))
    return named or (provider.base_url if is_loopback(provider.base_url) else None)
