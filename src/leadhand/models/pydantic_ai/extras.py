"""Check, without importing them, that the packages of a provider are installed."""

from __future__ import annotations

from importlib.util import find_spec

from leadhand.domain.errors import ConfigurationError
from leadhand.models.providers import OwnProtocol

FLOOR = (2, 62)
"""The oldest supported release of pydantic-ai-slim; other major versions are not supported."""


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
