"""What is needed to reach a provider: its extra, found without importing it, and the parameters of a connection."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING

from leadhand.core.errors import ConfigurationError
from leadhand.models.providers import OwnProtocol

if TYPE_CHECKING:
    from pydantic_ai.models import Model

FLOOR = (2, 62)
"""The oldest supported release of pydantic-ai-slim; other major versions are not supported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """``base_url`` is "" where the place (``env``: region, project) decides. ``key`` is "" for none.

    ``provider`` is the name before the colon, ``title`` its name for people. ``key_variables`` are where the key is
    looked up, for messages. ``connections`` bounds those open at once.
    """

    provider: str
    title: str
    base_url: str = ""
    key: str = field(default="", repr=False)
    key_variables: tuple[str, ...] = ()
    connections: int = 100
    env: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)


@dataclass(frozen=True, slots=True)
class Service:
    """A provider's models by the name it knows them under, and how to close its connections."""

    model: Callable[[str], Model]
    close: Callable[[], Awaitable[None]]


def is_installed(provider: OwnProtocol) -> bool:
    """Whether the extra of ``provider`` is installed, in a supported release."""
    return _missing(provider) is None


def require(provider: OwnProtocol) -> None:
    """Raises :class:`ConfigurationError`, with the command that installs it, unless the extra is installed."""
    missing = _missing(provider)
    if missing is not None:
        raise ConfigurationError(
            f"{provider.title} ({provider.name}:) needs {missing}", f"install it: {command(provider)}"
        )


def command(provider: OwnProtocol) -> str:
    """The commands that install the extra of ``provider``."""
    return f'uv add "leadhand[{provider.extra}]", or pip install "leadhand[{provider.extra}]"'


def _missing(provider: OwnProtocol) -> str | None:
    """What is missing, in words; None if nothing is."""
    extra = f"the extra leadhand[{provider.extra}], which is not installed"
    try:
        if find_spec("pydantic_ai") is None or find_spec(provider.module) is None:
            return extra
    except (ImportError, ValueError):  # the parent package is missing or is not a package
        return extra
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version("pydantic-ai-slim")
    except PackageNotFoundError:
        return extra
    numbers = tuple(int(number) if number.isdigit() else 0 for number in found.split(".")[:2])
    if numbers[0] != FLOOR[0] or numbers < FLOOR:
        return f"pydantic-ai-slim {FLOOR[0]}.{FLOOR[1]} or a later {FLOOR[0]}.x, and {found} is installed"
    return None
