"""Settings of roles as rows: one for each role that differs from the built-in settings."""

from __future__ import annotations

from pydantic import ValidationError

from leadhand.domain.access import AgentSettings
from leadhand.domain.errors import StoreError

from .connection import Connection


def agents(connection: Connection) -> list[AgentSettings]:
    """Return the settings of all roles, by name."""
    return [_agent(name, body) for name, body in connection.execute("SELECT name, body FROM agents ORDER BY name")]


def set_agent(connection: Connection, agent: AgentSettings) -> None:
    """Store the settings of a role, replacing earlier settings."""
    connection.execute(
        "INSERT INTO agents (name, body) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET body = excluded.body",
        (agent.name, agent.model_dump_json()),
    )


def unset_agent(connection: Connection, name: str) -> None:
    """Delete the settings of a role; does nothing if the role has none."""
    connection.execute("DELETE FROM agents WHERE name = ?", (name,))


def _agent(name: str, body: str) -> AgentSettings:
    try:
        return AgentSettings.model_validate_json(body)
    except ValidationError as error:
        raise StoreError(
            f"the settings of the agent {name} are damaged", "restore the database from a backup, or set them again"
        ) from error
