"""Opens the parts of a process: its store, models and hooks, from its settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from leadhand.app.project.flows import FlowRegistry
from leadhand.app.runtime.model_selection import choose_models
from leadhand.app.runtime.runtime import Runtime
from leadhand.app.settings import Settings, make_home
from leadhand.engine.hooks import Hooks
from leadhand.ports import ContextStore, Models
from leadhand.ports.hooks import Hook
from leadhand.stores.opening import PATIENCE_S, open_store
from leadhand.tools.toolbox import Toolbox
from leadhand.verify.judge import Verifier

UNLIMITED_PATIENCE_S = 86_400.0
"""Seconds that a process whose runs have no deadline waits for its database."""


async def open_runtime(
    settings: Settings,
    toolbox: Toolbox,
    *,
    models: Models | Mapping[str, Models] | None = None,
    store: ContextStore | None = None,
    flows: FlowRegistry | None = None,
    reading: bool = False,
    added: dict[str, Models] | None = None,
    hooks: Iterable[Hook] = (),
    verifier: Verifier | None = None,
) -> Runtime:
    """Open a runtime. ``models`` replaces the environment's, or adds adapters by name; ``store`` replaces the database.
    ``added`` are the adapters of single runs, by the names in their logs, ``hooks`` check calls and answers, and
    ``verifier`` judges answers in place of a model.

    If ``reading``, a home or database that is read-only refuses only what would be written to it, and none is created.
    Raises ConfigurationError for a home, database or model that cannot be used.
    """
    if not reading:
        make_home(settings.home)
    flows = flows or FlowRegistry()
    chosen, choice = await choose_models(settings, models, flows.offline_rules)
    patience_s = max(PATIENCE_S, settings.limits.timeout or UNLIMITED_PATIENCE_S)  # a run waits up to its deadline
    if store is None:
        store = await open_store(
            settings.database, patience_s=patience_s, reading=reading, heartbeat_limit_s=settings.heartbeat_limit_s
        )
    chosen.added = {} if added is None else added
    return Runtime(
        settings=settings,
        store=store,
        models=chosen,
        choice=choice,
        toolbox=toolbox,
        flows=flows,
        hooks=Hooks(hooks),
        verifier=verifier,
    )
