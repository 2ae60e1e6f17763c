"""Settings of roles, as their rows: one a role that differs from what ships."""

from __future__ import annotations

from pydantic import ValidationError

from leadhand.domain.agents import AgentSettings
from leadhand.domain.errors import StoreError

from .connection import Connection


def agents(connection: Connection) -> list[AgentSettings]:
    """Every role's settings, by name."""
    return [_agent(name, body) for name, body in connection.execute("SELECT name, body FROM agents ORDER BY name")]


def set_agent(connection: Connection, agent: AgentSettings) -> None:
    """Keep the settings of a role, in the place of earlier ones."""
    connection.execute(
        "INSERT INTO agents (name, body) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET body = excluded.body",
        (agent.name, agent.model_dump_json()),
    )


def unset_agent(connection: Connection, name: str) -> None:
    """Forget the settings of a role; nothing when there are none."""
    connection.execute("DELETE FROM agents WHERE name = ?", (name,))


def _agent(name: str, body: str) -> AgentSettings:
    try:
        return AgentSettings.model_validate_json(body)
    except ValidationError as error:
        raise StoreError(
            f"the settings of the agent {name} are damaged", "restore the database from a backup, or set them anew"
        ) from error
