"""The roles of the work-order flow: what ships, what people have set in its place, and what runs get of it."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from leadhand.app.arguments import name as checked_name
from leadhand.app.arguments import text
from leadhand.app.runtime import Runtime
from leadhand.domain.agents import AgentSettings
from leadhand.domain.errors import ConfigurationError
from leadhand.flows.work_order.roles import instructions as shipped
from leadhand.ports import AgentStore
from leadhand.server.schemas import AgentChange, AgentDefaults, AgentDocument


class Role(NamedTuple):
    """A role: what it does, and how models and prompts are called that belong to it."""

    name: str
    does: str
    prompt: str
    model: str


ROLES = (
    Role("lead", "Plans the request as a work order.", "plan", "lead"),
    Role("worker", "Carries one subtask out.", "work", "worker"),
    Role("reviewer", "Judges the results against the evidence.", "review", "review"),
    Role("composer", "Writes the answer.", "compose", "compose"),
)
NAMES = tuple(role.name for role in ROLES)


class Agents:
    """The roles as runs that are started on this runtime get them. Raises ConfigurationError for a store without."""

    def __init__(self, runtime: Runtime) -> None:
        store = runtime.store
        if not isinstance(store, AgentStore):
            raise ConfigurationError(
                "this context store keeps no settings of roles", "Use SQLite or PostgreSQL, or see ports.AgentStore."
            )
        self._store = store
        self._runtime = runtime

    async def set(self, name: str, model: str | None, instructions: str | None, *, by: str, at: datetime) -> None:
        """Set a role. Raises UsageError for a text that cannot be kept, ConfigurationError for an unknown model."""
        wanted = checked_name(model, "model", "Name one as provider:name, or leave it out.")
        if wanted is not None:
            self._runtime.check_model(wanted)
        if instructions is not None:
            text(instructions, "the instructions", "Give them in words.")
        await self._store.set_agent(AgentSettings(name=name, model=wanted, instructions=instructions, by=by, at=at))

    async def unset(self, name: str) -> None:
        """Have a role as it ships."""
        await self._store.unset_agent(name)

    async def models(self) -> dict[str, str]:
        """The models that were set, by the roles that settings know."""
        kept = await self._kept()
        return {role.model: kept[role.name].model or "" for role in ROLES if _has(kept, role, "model")}

    async def instructions(self) -> dict[str, str]:
        """The instructions that were set, by prompt."""
        kept = await self._kept()
        return {role.prompt: kept[role.name].instructions or "" for role in ROLES if _has(kept, role, "instructions")}

    async def documents(self) -> tuple[AgentDocument, ...]:
        """Every role, as it is now."""
        kept = await self._kept()
        return tuple(self._document(role, kept.get(role.name)) for role in ROLES)

    async def document(self, name: str) -> AgentDocument:
        """One role, as it is now."""
        kept = await self._kept()
        return next(self._document(role, kept.get(name)) for role in ROLES if role.name == name)

    def _document(self, role: Role, kept: AgentSettings | None) -> AgentDocument:
        usual = self._runtime.choice.models.of(role.prompt)
        ships = shipped(role.prompt)
        return AgentDocument(
            name=role.name,
            role=role.does,
            model=(kept.model if kept is not None else None) or usual,
            instructions=(kept.instructions if kept is not None else None) or ships,
            ships=AgentDefaults(model=usual, instructions=ships),
            changed=None if kept is None else AgentChange(by=kept.by, at=kept.at),
        )

    async def _kept(self) -> dict[str, AgentSettings]:
        return {each.name: each for each in await self._store.agents()}


def _has(kept: dict[str, AgentSettings], role: Role, what: str) -> bool:
    return role.name in kept and getattr(kept[role.name], what) is not None
