"""What a team's process is set to: where it keeps its home and database, which models it uses, which limits hold."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from leadhand.domain.errors import ConfigurationError
from leadhand.domain.limits import Limits
from leadhand.domain.tool import ApprovalPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """``home`` holds the database (unless ``database`` names another) and the runs' files.

    ``models`` are names by role; ``model`` None lets the environment decide. ``offline``: nothing
    leaves the machine.
    """

    home: Path
    database: str
    model: str | None = None
    models: Mapping[str, str] = field(default_factory=dict[str, str])
    offline: bool = False
    limits: Limits = field(default_factory=Limits)
    approve: ApprovalPolicy = ApprovalPolicy.ASK
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def database_path(self) -> Path | None:
        """The file of an SQLite database; None for a server."""
        if self.database.startswith("sqlite:///"):
            return Path(self.database.removeprefix("sqlite:///"))
        return None if "://" in self.database else Path(self.database)


def settings(
    *,
    home: Path | str | None = None,
    database: str | None = None,
    model: str | None = None,
    models: Mapping[str, str] | None = None,
    offline: bool = False,
    limits: Limits | None = None,
    approve: ApprovalPolicy = ApprovalPolicy.ASK,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Settings from what was said here, else from the environment, else the defaults."""
    env = dict(os.environ if environment is None else environment)
    where = Path(home or env.get("LEADHAND_HOME") or default_home()).expanduser()
    return Settings(
        home=where,
        database=database or env.get("LEADHAND_DATABASE_URL") or f"sqlite:///{where / 'leadhand.db'}",
        model="offline" if offline else model or env.get("LEADHAND_MODEL") or None,
        models={} if offline else dict(models or {}),
        offline=offline,
        limits=limits or Limits(),
        approve=approve,
        environment=env,
    )


def default_home() -> Path:
    """Where this user's data lives on this system."""
    import platformdirs

    return Path(platformdirs.user_data_dir("leadhand", appauthor=False))


def make_home(home: Path) -> Path:
    """The home, made if it is not there. Raises ConfigurationError when that cannot be."""
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        probe = home / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ConfigurationError(
            f"the home directory {home} cannot be written: {error.strerror or error}",
            "Name another one with --home DIR or LEADHAND_HOME.",
        ) from error
    return home
