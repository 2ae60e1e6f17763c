"""Which models a run uses: what was asked for, else what the environment offers, else the offline model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from leadhand.app.settings import Settings
from leadhand.domain.conversation import ModelProfile, ModelReply, ModelRequest
from leadhand.domain.errors import ConfigurationError
from leadhand.domain.limits import usd
from leadhand.domain.run import ModelChoice
from leadhand.models.offline import OfflineModels
from leadhand.ports import Models

if TYPE_CHECKING:
    from leadhand.models.router import ModelRouter


GROUP = "leadhand.models"
"""The entry points by which installed packages offer model adapters: functions that return one."""
GIVEN = "scripted"
"""What the models of a port that the program handed over are called, where no name was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which model was taken, and why: said before a run starts. The money limit does not bind ``unpriced`` models."""

    models: ModelChoice
    why: str
    unpriced: tuple[str, ...] = ()


class NamedModels:
    """Every model by its name; the router and its providers are imported only for a name other than ``offline``."""

    def __init__(self, settings: Settings, adapters: Mapping[str, Models] | None = None) -> None:
        self._settings = settings
        self._adapters = dict(adapters or {})
        self._offline = OfflineModels()
        self._router: ModelRouter | None = None

    def _port(self, model: str) -> Models:
        adapter = self._adapter(model)
        if adapter is not None:
            return adapter
        if model == "offline":
            return self._offline
        if self._router is None:
            from leadhand.models.router import ModelRouter

            settings = self._settings
            self._router = ModelRouter(env=settings.environment, connections=max(100, settings.limits.max_workers))
        return self._router

    def _adapter(self, model: str) -> Models | None:
        """The adapter of the program, or of an installed package, that a name is for: ``mine`` or ``mine:a-model``."""
        name = model.partition(":")[0]
        if name not in self._adapters:
            installed = next(iter(entry_points(group=GROUP, name=name)), None) if name.isidentifier() else None
            if installed is None:
                return None
            self._adapters[name] = installed.load()()
        return self._adapters[name]

    def check(self, model: str) -> None:
        """Raise ConfigurationError when this name leads nowhere, or its key is missing."""
        if model == GIVEN:
            raise ConfigurationError(
                f"there is no model {GIVEN!r}: so the models that a program brings along are called",
                "Resume such a run from its program: Leadhand(models=…, tools=[…]).resume_sync(run_id).",
            )
        if model != "offline" and self._adapter(model) is None:
            self._port(model)
            assert self._router is not None
            self._router.check(model)

    async def learn(self, choice: ModelChoice) -> None:
        """Ask the models' servers how large their windows are, where nothing else says it; a second at most."""
        names = [name for name in _names(choice) if name != "offline" and self._adapter(name) is None]
        await asyncio.gather(*(self._router.learn(name) for name in names if self._router is not None))

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        return await self._port(request.model).ask(request, on_text)

    def profile(self, model: str) -> ModelProfile:
        return self._port(model).profile(model)

    async def aclose(self) -> None:
        if self._router is not None:
            await self._router.aclose()
        for adapter in self._adapters.values():
            await adapter.aclose()


async def choose_models(
    settings: Settings, given: Models | Mapping[str, Models] | None = None
) -> tuple[Models, Choice]:
    """The models port for these settings, and the names to pin. ``given`` is a port of the user's own, or adapters by
    name beside the built-in ones.

    Raises ConfigurationError for a name that no adapter knows or whose key is missing, and for a model without a known
    price when a budget was asked for, which could not bind it.
    """
    if given is not None and not isinstance(given, Mapping):
        choice = Choice(models=_pinned(settings, settings.model or GIVEN), why="given by the program")
        _check_budget(settings, _unpriced(given, choice.models))
        return given, choice
    if settings.model is None:
        from leadhand.models.detection import detect_model

        detected = await detect_model(settings.environment)
        name, why = detected.name, detected.why
    else:
        name, why = settings.model, "asked for"
    choice = Choice(models=_pinned(settings, name), why=why)
    models = NamedModels(settings, given)
    for name in _names(choice.models):
        models.check(name)
    unpriced = _unpriced(models, choice.models)
    _check_budget(settings, unpriced)
    return models, replace(choice, unpriced=unpriced)


def _names(models: ModelChoice) -> list[str]:
    return sorted({models.default, *models.roles.values()})


def _unpriced(models: Models, choice: ModelChoice) -> tuple[str, ...]:
    """The models whose calls cost something, nobody knows how much."""
    profiles = {name: models.profile(name) for name in _names(choice)}
    return tuple(
        name
        for name, profile in profiles.items()
        if not profile.free and (profile.input_nanousd is None or profile.output_nanousd is None)
    )


def _check_budget(settings: Settings, unpriced: tuple[str, ...]) -> None:
    """Raise ConfigurationError for a budget that was asked for and that these models' calls could not be held to."""
    budget = settings.limits.budget_nanousd
    if not unpriced or budget is None or not settings.budget_given or settings.allow_unknown_price:
        return
    raise ConfigurationError(
        f"the price of {', '.join(unpriced)} is not known: a budget of ${usd(budget):g} cannot bind it",
        "Take a model whose price is known, or allow it: --allow-unknown-price, or allow_unknown_price=True.",
    )


def _pinned(settings: Settings, default: str) -> ModelChoice:
    """The default and the models of single roles. The review's model takes both of the gate's readings."""
    lead, worker, review, compose = (settings.models.get(role) for role in ("lead", "worker", "review", "compose"))
    wanted = {"plan": lead, "compose": compose or lead, "review": review or lead, "work": worker}
    roles = {role: name for role, name in wanted.items() if name is not None and name != default}
    return ModelChoice(default=default, roles=roles)
