"""What is needed to reach a provider: its extra, found without importing it, and the parameters of a connection."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING

from leadhand.core.errors import ConfigurationError
from leadhand.models.providers import Provider

if TYPE_CHECKING:
    from pydantic_ai.models import Model


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


def is_installed(provider: Provider) -> bool:
    """Whether the packages of the extra of ``provider`` are installed."""
    try:
        return find_spec("pydantic_ai") is not None and find_spec(provider.module) is not None
    except (ImportError, ValueError):  # the parent package is missing or is not a package
        return False


def require(provider: Provider) -> None:
    """Raises :class:`ConfigurationError`, with the command that installs it, unless the extra is installed."""
    if not is_installed(provider):
        raise ConfigurationError(
            f"{provider.title} ({provider.name}:) needs the extra leadhand[{provider.extra}], which is not installed",
            f"install it: {command(provider)}",
        )


def command(provider: Provider) -> str:
    """The commands that install the extra of ``provider``."""
    return f'uv add "leadhand[{provider.extra}]", or pip install "leadhand[{provider.extra}]"'
