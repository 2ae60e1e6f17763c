"""The roles of the work-order flow: their defaults, and the models and instructions that people set instead."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from leadhand.app.arguments import name as checked_name
from leadhand.app.arguments import text
from leadhand.app.runtime import Runtime
from leadhand.domain.access import AgentSettings
from leadhand.domain.errors import ConfigurationError
from leadhand.flows.work_order.roles import instructions as shipped
from leadhand.ports import AgentStore
from leadhand.server.schemas import AgentChange, AgentDefaults, AgentDocument


class Role(NamedTuple):
    """A role: its description, and the names of its prompt and of its model setting."""

    name: str
    does: str
    prompt: str
    model: str


ROLES = (
    Role("lead", "Plans the request as a work order.", "plan", "lead"),
    Role("worker", "Carries out one subtask.", "work", "worker"),
    Role("reviewer", "Judges the results against the evidence.", "review", "review"),
    Role("composer", "Writes the answer.", "compose", "compose"),
)
NAMES = tuple(role.name for role in ROLES)


class Agents:
    """The roles of new runs on this runtime. Raises ConfigurationError if the store does not support them."""

    def __init__(self, runtime: Runtime) -> None:
        store = runtime.store
        if not isinstance(store, AgentStore):
            raise ConfigurationError(
                "this store does not support role settings", "Use SQLite or PostgreSQL, or implement ports.AgentStore."
            )
        self._store = store
        self._runtime = runtime

    async def set(self, name: str, model: str | None, instructions: str | None, *, by: str, at: datetime) -> None:
        """Set a role. Raises UsageError for invalid text, and ConfigurationError for an unknown model."""
        wanted = checked_name(model, "model", "Pass provider:name, or omit it.")
        if wanted is not None:
            self._runtime.check_model(wanted)
        if instructions is not None:
            text(instructions, "the instructions", "Pass the instructions as text.")
        await self._store.set_agent(AgentSettings(name=name, model=wanted, instructions=instructions, by=by, at=at))

    async def unset(self, name: str) -> None:
        """Reset a role to its defaults."""
        await self._store.unset_agent(name)

    async def models(self) -> dict[str, str]:
        """The models that were set, by setting."""
        kept = await self._kept()
        return {role.model: model for role in ROLES if role.name in kept and (model := kept[role.name].model)}

    async def instructions(self) -> dict[str, str]:
        """The instructions that were set, by prompt."""
        kept = await self._kept()
        return {role.prompt: own for role in ROLES if role.name in kept and (own := kept[role.name].instructions)}

    async def documents(self) -> tuple[AgentDocument, ...]:
        """The documents of all roles."""
        kept = await self._kept()
        return tuple(self._document(role, kept.get(role.name)) for role in ROLES)

    async def document(self, name: str) -> AgentDocument:
        """The document of one role."""
        return next(each for each in await self.documents() if each.name == name)

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
