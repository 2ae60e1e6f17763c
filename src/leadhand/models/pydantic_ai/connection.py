"""The parameters of a connection to a provider, and the opened connection."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_ai.models import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """``base_url`` is "" where the place (``env``: region, project) decides. ``key`` is "" for none.

    ``provider`` is the name before the colon, ``title`` its name for people. ``key_variables`` are where the key is
    looked up, for messages. ``ca_file`` holds certificates to trust besides the system's. ``connections`` bounds those
    open at once.
    """

    provider: str
    title: str
    base_url: str = ""
    key: str = field(default="", repr=False)
    key_variables: tuple[str, ...] = ()
    ca_file: str | None = None
    connections: int = 100
    env: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)


@dataclass(frozen=True, slots=True)
class Service:
    """A provider's models by the name it knows them under, and how to close its connections."""

    model: Callable[[str], Model]
    close: Callable[[], Awaitable[None]]
