"""Choose the models of a run: the requested ones, else those of the environment, else the offline model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from leadhand.app.project.toolsets import entry_points
from leadhand.app.settings import Settings
from leadhand.core.errors import ConfigurationError
from leadhand.core.run import ModelChoice, RunDefinition
from leadhand.flows.offline.rule import Rules
from leadhand.models.offline import OfflineModels
from leadhand.ports import Models
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest

if TYPE_CHECKING:
    from leadhand.models.router import ModelRouter


GROUP = "leadhand.models"
"""The entry points by which installed packages offer model adapters: functions that return one."""
CUSTOM = "custom"
"""The name of a program's own models if it gives no name."""
OF_ONE_RUN = "adapter-"
"""The beginning of the name of an adapter that a program gives a single run."""


RulesOf = Callable[[str], Sequence[Rules]]
"""Returns the rules of the built-in model for the workers of a flow, by its name."""


class Choice(NamedTuple):
    """The chosen models, and why. The budget does not limit ``unpriced`` models."""

    models: ModelChoice
    why: str
    unpriced: tuple[str, ...] = ()


class NamedModels:
    """All models of a process by name. Imports the router and its providers only for names other than ``offline``.

    ``adapters`` are those of the program by name, ``own`` is its port for all names. ``added`` are adapters that single
    runs bring along, by the names that their logs have.
    """

    def __init__(
        self,
        settings: Settings,
        adapters: Mapping[str, Models] | None = None,
        rules: RulesOf = lambda _flow: (),
        *,
        own: Models | None = None,
    ) -> None:
        self.own = own
        self.added: dict[str, Models] = {}
        self._settings = settings
        self._adapters = dict(adapters or {})
        self._offline = OfflineModels(rules)
        self._router: ModelRouter | None = None

    def _port(self, model: str) -> Models:
        adapter = self._adapter(model)
        if adapter is not None:
            return adapter
        if model == "offline":
            return self._offline
        if self._router is None:
            from leadhand.models.router import ModelRouter

            connections = max(100, self._settings.limits.max_workers)
            self._router = ModelRouter(env=self._settings.environment, connections=connections)
        return self._router

    def _adapter(self, model: str) -> Models | None:
        """Return the adapter of a run, the program or an installed package for a name: ``mine`` or ``mine:a-model``."""
        if (found := self.added.get(model, self.own)) is not None:
            return found
        name = model.partition(":")[0]
        if name not in self._adapters and name != "offline":
            for point in entry_points(GROUP):
                if point.name == name:
                    self._adapters[name] = point.load()()
        return self._adapters.get(name)

    def check(self, model: str) -> None:
        """Raise ConfigurationError if the name is unknown or its key is missing; adapters know their models best."""
        if self._adapter(model) is not None or model == "offline":
            return
        if model == CUSTOM or model.startswith(OF_ONE_RUN):
            raise ConfigurationError(
                f"{model!r} refers to models that a program passes as models=…",
                "Resume the run from its program: Leadhand(models=…, tools=[…]).resume_sync(run_id).",
            )
        self._port(model)
        assert self._router is not None
        self._router.check(model)

    async def learn(self, choice: ModelChoice) -> ModelChoice:
        """Query what servers say of the models of a run and is not known from elsewhere; takes some seconds at most.

        Returns the models with their known context windows, which limit the size of briefs.
        """
        names = [name for name in choice.names if name != "offline" and self._adapter(name) is None]
        await asyncio.gather(*(self._router.learn(name) for name in names if self._router is not None))
        windows = {name: window for name in choice.names if (window := self.profile(name).window) is not None}
        return choice.evolve(windows=windows)

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        return await self._port(request.model).ask(request, on_text)

    def profile(self, model: str) -> ModelProfile:
        return self._port(model).profile(model)

    async def aclose(self) -> None:
        others = [port for port in (self.own, self._router) if port is not None]
        for port in (*self.added.values(), *self._adapters.values(), *others):
            await port.aclose()

    def choice(self, settings: Settings, adapter: Models) -> Choice:
        """Return the choice of an adapter for every worker of a run, under a name that no other adapter ever has.

        Raises ConfigurationError for an unknown price if the caller set a budget.
        """
        name = next((name for name, port in self.added.items() if port is adapter), None)
        name = name or f"{OF_ONE_RUN}{uuid4().hex[:12]}"
        self.added[name] = adapter
        return _choice(settings, self, ModelChoice(default=name), "given by the program")


async def choose_models(
    settings: Settings, given: Models | Mapping[str, Models] | None = None, rules: RulesOf = lambda _flow: ()
) -> tuple[NamedModels, Choice]:
    """Return the models, and the names to record. ``given`` is a port, or the user's adapters by name.

    Raises ConfigurationError for an unknown name, a missing key, and an unknown price if the caller set a budget.
    """
    if isinstance(given, NamedModels):
        models = given
    elif given is None or isinstance(given, Mapping):
        models = NamedModels(settings, given, rules)
    else:
        models = NamedModels(settings, rules=rules, own=given)
    name, why = settings.model or CUSTOM, "asked for" if models.own is None else "given by the program"
    if models.own is None and settings.model is None:
        from leadhand.models.detection import detect_model

        detected = await detect_model(settings.environment)
        name, why = detected.name, detected.why
    pinned = _pinned(settings, name)
    for each in pinned.names:
        models.check(each)
    return models, _choice(settings, models, pinned, why)


def _choice(settings: Settings, models: Models, pinned: ModelChoice, why: str) -> Choice:
    return Choice(models=pinned, why=why, unpriced=unpriced_models(settings, models, pinned.names))


def unpriced_models(settings: Settings, models: Models, names: Iterable[str]) -> tuple[str, ...]:
    """Return the models among ``names`` that a budget cannot limit, since their price is not known.

    Raises ConfigurationError if somebody set that budget.
    """
    if not (settings.limits.has_budget or settings.budgets):
        return ()
    profiles = {name: models.profile(name) for name in names}
    unpriced = tuple(
        name for name, profile in profiles.items() if not profile.free and profile.highest_cost(0, 0) is None
    )
    budget = settings.limits.budget
    if not unpriced or not settings.needs_prices:
        return unpriced
    which = "the budget of several runs" if budget is None else f"a budget of ${budget:g}"
    raise ConfigurationError(
        f"the price of {', '.join(unpriced)} is not known, so {which} cannot limit it",
        "Use a model with a known price, or set LEADHAND_PRICE to its price in US dollars per million tokens, such as"
        " 0.15/0.60 (input/output), or 0 if it is free. To run it without a budget: --allow-unknown-price, or"
        " allow_unknown_price=True.",
    )


def prices_needed(settings: Settings, models: NamedModels, definition: RunDefinition) -> bool:
    """Return whether a run that exists may only call models with a known price, since it is given a budget.

    Raises ConfigurationError if one of its models has none. Models that this process cannot use are left to the one
    that calls them.
    """
    if not settings.needs_prices:
        return False
    named = {name for worker in definition.workers for name in worker.models}
    for name in sorted(named.union(definition.models.names)):
        try:
            models.check(name)
        except ConfigurationError:
            continue
        unpriced_models(settings, models, [name])
    return True


def _pinned(settings: Settings, default: str) -> ModelChoice:
    lead, work, review, compose = (settings.models.get(name) for name in ("lead", "worker", "review", "compose"))
    wanted = {"plan": lead, "compose": compose or lead, "review": review or lead, "work": work}
    by_use = {use: name for use, name in wanted.items() if name is not None and name != default}
    return ModelChoice(default=default, by_use=by_use)
