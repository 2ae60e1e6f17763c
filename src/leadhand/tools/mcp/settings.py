"""The settings of an MCP server: how it is started or reached, and which of its tools are used."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Annotated, cast

from pydantic import BeforeValidator, Field, model_validator

from leadhand.core.tool import Effect
from leadhand.core.value import Value


def _words(command: object) -> object:
    return tuple(shlex.split(command) if isinstance(command, str) else cast("Iterable[str]", command))


class McpSettings(Value):
    """An MCP server, started by a ``command`` in a ``directory``, or reached at a ``url``; see :func:`leadhand.mcp`."""

    name: str = Field(default="", pattern=r"^[A-Za-z_]\w*$|^$")
    command: Annotated[tuple[str, ...], BeforeValidator(_words)] = ()
    url: str = Field(default="", pattern=r"^https?://|^$")
    env: dict[str, str] = {}
    headers: dict[str, str] = {}
    include: tuple[str, ...] = ()
    effects: dict[str, Effect] = {}
    prefix: str = Field(default="", pattern=r"^[A-Za-z_]\w*$|^$")
    timeout: float = Field(default=30.0, gt=0)
    directory: str = ""

    @model_validator(mode="after")
    def _is_one(self) -> McpSettings:
        if bool(self.command) == bool(self.url):
            raise ValueError("a server has either a command or a url")
        if self.headers if self.command else self.env:
            raise ValueError("a command takes env, and a url headers")
        return self
