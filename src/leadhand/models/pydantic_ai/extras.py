"""Whether the packages that a provider needs are there, found out without importing them."""

from __future__ import annotations

from importlib.util import find_spec

from leadhand.domain.errors import ConfigurationError
from leadhand.models.providers import OwnProtocol

FLOOR = (2, 62)
"""The oldest release of pydantic-ai-slim that will do, and its major version the only one."""


def is_installed(provider: OwnProtocol) -> bool:
    """Whether the extra of ``provider`` is installed, in a release that will do."""
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
    """What is not there, in words; None if all is."""
    extra = f"the extra leadhand[{provider.extra}], which is not installed"
    try:
        if find_spec("pydantic_ai") is None or find_spec(provider.module) is None:
            return extra
    except (ImportError, ValueError):  # the package above a module is missing, or is no package
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
