"""Choose the adapter for a model by its name, ``provider:model``; adapters are created on first use."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from leadhand.domain.conversation import ModelProfile, ModelReply, ModelRequest
from leadhand.domain.errors import ConfigurationError, Failure, FailureClass
from leadhand.domain.limits import Usage
from leadhand.ports import ModelError, Models

from .base_url import is_loopback
from .providers import ABSENT, ALIASES, OWN_PROTOCOLS, PROVIDERS, OwnProtocol, Provider, instead_of

OFFLINE = "offline"
ANY_SERVER = "openai_compatible"
WINDOW_VARIABLE = "LEADHAND_WINDOW"
LEAST_WINDOW = 2_048
_URL_VARIABLES = ("LEADHAND_BASE_URL", "OPENAI_BASE_URL")


class ModelRouter:
    """All models behind one port.

    ``env`` is where keys and base URLs are looked up, the process's environment unless given. ``ca_file`` holds
    certificates to trust besides the system's. ``adapters`` are added by name (``{"scripted": ScriptedModel(…)}``) and
    come before everything else; they are not closed here. ``connections`` bounds those to one server.
    """

    def __init__(
        self,
        *,
        env: Mapping[str, str] | None = None,
        ca_file: str | None = None,
        adapters: Mapping[str, Models] | None = None,
        connections: int = 100,
    ) -> None:
        self._env = os.environ if env is None else env
        self._ca_file = ca_file
        self._given = dict(adapters or {})
        self._connections = connections
        self._made: dict[str, Models] = {}

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        """Passes the request on. An unknown name raises :class:`ModelError` (``unavailable``)."""
        try:
            adapter = self.adapter(request.model)
        except ConfigurationError as error:
            failure = Failure.model_validate(
                {
                    "message": error.what,
                    "type": "configuration",
                    "class": FailureClass.UNAVAILABLE,
                    "next_action": error.how,
                }
            )
            raise ModelError(failure, Usage(requests=0, nanousd=0)) from None
        return await adapter.ask(request, on_text)

    def profile(self, model: str) -> ModelProfile:
        """See :class:`~leadhand.ports.Models`. Raises ConfigurationError for an unknown name."""
        profile = self.adapter(model).profile(model)
        window = self._window if model != OFFLINE else None
        return profile if window is None else profile.evolve(window=window)

    async def models(self) -> list[str]:
        """The models that the server behind ``openai_compatible:`` lists.

        Raises ConfigurationError if no address is set, :class:`ModelError` where the server does not list them.
        """
        from .openai.adapter import OpenAICompatible

        server = self.adapter(f"{ANY_SERVER}:any")
        return await server.models() if isinstance(server, OpenAICompatible) else []

    async def learn(self, model: str) -> None:
        """Asks the server of ``model``, for at most a second, how large its window is, unless that is known: its
        profile tells from then on. Never raises for what a server does; ConfigurationError as :meth:`adapter`."""
        if self._window is not None:
            return
        adapter = self.adapter(model)
        from .openai.adapter import OpenAICompatible

        if isinstance(adapter, OpenAICompatible):
            await adapter.learn(model)

    async def aclose(self) -> None:
        """Closes the adapters made here."""
        made, self._made = self._made, {}
        for adapter in made.values():
            await adapter.aclose()

    def check(self, model: str) -> None:
        """Raises :class:`ConfigurationError` if ``model`` cannot be asked: unknown, shut down, no key, no address."""
        self.adapter(model)

    def adapter(self, model: str) -> Models:
        """The adapter for ``model``, made if need be. Raises :class:`ConfigurationError` for one that leads nowhere."""
        written, _, name = model.partition(":")
        given = self._given.get(model) or self._given.get(written)
        if given is not None:
            return given
        provider = ALIASES.get(written.strip().casefold(), written.strip().casefold())
        if provider == OFFLINE and not name:
            return self._make(OFFLINE, _offline)
        if provider == ANY_SERVER:
            _need_name(model, name, f"{ANY_SERVER}:llama3.1")
            return self._make(ANY_SERVER, self._any_server)
        self._refuse_retired(provider, name)
        if provider in ABSENT:
            absent = ABSENT[provider]
            raise ConfigurationError(f"{absent.title} has no name of its own in this release", absent.instead)
        if own := OWN_PROTOCOLS.get(provider):
            _need_name(model, name, f"{provider}:{own.example}")
            return self._make(provider, lambda: self._own_protocol(own))
        known = PROVIDERS.get(provider)
        if known is None:
            names = ", ".join([OFFLINE, *(f"{p}:" for p in (*OWN_PROTOCOLS, *PROVIDERS)), f"{ANY_SERVER}:"])
            raise ConfigurationError(
                f"unknown model {model!r}" if model.strip() else "the model name is empty",
                f"use provider:model; the providers are {names}",
            )
        _need_name(model, name, f"{provider}:{known.default_model or 'llama3.1'}")
        return self._make(provider, lambda: self._provider(known))

    def _make(self, name: str, build: Callable[[], Models]) -> Models:
        if name not in self._made:
            self._made[name] = build()
        return self._made[name]

    def _any_server(self) -> Models:
        url, variable = next(
            ((self._env[variable], variable) for variable in _URL_VARIABLES if self._env.get(variable)), ("", "")
        )
        if not url:
            raise ConfigurationError(
                f"{ANY_SERVER}: has no address",
                "set LEADHAND_BASE_URL, for example LEADHAND_BASE_URL=http://127.0.0.1:8000/v1",
            )
        from .openai.adapter import OpenAICompatible

        return OpenAICompatible(
            _named(url, variable),
            self._key(("OPENAI_API_KEY",)),
            key_setting="OPENAI_API_KEY",
            ca_file=self._ca_file,
            connections=self._connections,
            first_byte_timeout_s=600.0 if is_loopback(url) else 60.0,
        )

    def _provider(self, provider: Provider) -> Models:
        moved = self._env.get(provider.url_variable)
        key = self._key(provider.key_variables)
        if provider.key_needed and not key and not moved:
            raise _no_key(provider)
        from .openai.adapter import OpenAICompatible
        from .prices import known_cost, known_profile

        priced = provider.key_needed
        return OpenAICompatible(
            _named(moved, provider.url_variable) if moved else provider.base_url,
            key,
            name=provider.name,
            key_setting=provider.key_variable
            or f"OPENAI_API_KEY, with {ANY_SERVER}:NAME and LEADHAND_BASE_URL instead of {provider.name}:",
            ca_file=self._ca_file,
            connections=self._connections,
            first_byte_timeout_s=provider.first_byte_timeout_s,
            profiles=known_profile if priced else None,
            costs=known_cost if priced else None,
        )

    def _own_protocol(self, provider: OwnProtocol) -> Models:
        from .pydantic_ai.extras import require

        require(provider)
        variable = next((name for name in provider.url_variables if self._env.get(name)), "")
        key = self._key(provider.key_variables)
        if provider.key_needed and not key and not variable:
            raise _no_key(provider)
        if not provider.key_needed and not key and not variable and not self._has_place(provider):
            places = " or ".join(provider.place_variables[:2])
            raise ConfigurationError(f"{provider.title} is not set up: {places} is not set", f"set {places}")
        from .prices import known_cost, known_profile
        from .pydantic_ai.client import PydanticAI
        from .pydantic_ai.connection import Connection

        return PydanticAI(
            Connection(
                provider=provider.name,
                title=provider.title,
                base_url=_named(self._env[variable], variable) if variable else provider.base_url,
                key=key or "",
                key_variables=provider.key_variables,
                ca_file=self._ca_file,
                connections=self._connections,
                env=self._env,
            ),
            profiles=known_profile,
            costs=known_cost,
        )

    @property
    def _window(self) -> int | None:
        """The context window from the environment, for every model. Raises ConfigurationError unless it is a number."""
        said = self._env.get(WINDOW_VARIABLE, "").strip().replace("_", "").replace(",", "")
        if not said:
            return None
        if not (said.isascii() and said.isdecimal() and int(said) >= LEAST_WINDOW):
            raise ConfigurationError(
                f"{WINDOW_VARIABLE} is {self._env[WINDOW_VARIABLE][:40]!r}, which is not a number of tokens "
                f"({LEAST_WINDOW:,} or more)",
                f"set it to the model's context window, for example {WINDOW_VARIABLE}=32768, or unset it",
            )
        return int(said)

    def _has_place(self, provider: OwnProtocol) -> bool:
        """Whether something says where to go: a project or region, or the file in which AWS keeps one."""
        if any(self._env.get(name) for name in provider.place_variables):
            return True
        return provider.name == "bedrock" and (Path(self._env.get("HOME", "~")).expanduser() / ".aws/config").is_file()

    def _key(self, variables: tuple[str, ...]) -> str | None:
        """The key in the first of these variables that is set. Raises ConfigurationError for one no header carries."""
        variable = next((name for name in variables if self._env.get(name)), None)
        if variable is None:
            return None
        key = self._env[variable]
        if not key.isascii() or not key.isprintable() or " " in key:
            raise ConfigurationError(
                f"{variable} contains a space, a line break or a character that keys do not have",
                "copy the key again from the provider's page, and set it without quotes, spaces or line breaks",
            )
        return key

    def _refuse_retired(self, provider: str, name: str) -> None:
        """Refuse a model that its provider has shut down, unless another address is set."""
        instead = instead_of(provider, name)
        if instead is None or any(self._env.get(variable) for variable in _url_variables(provider)):
            return
        raise ConfigurationError(f"{provider}:{name} has been shut down by its provider", f"use --model {instead}")


def _no_key(provider: Provider | OwnProtocol) -> ConfigurationError:
    variables = provider.key_variables
    missing = f"{variables[0]} is not set" if len(variables) == 1 else f"neither {' nor '.join(variables)} is set"
    return ConfigurationError(
        f"the key for {provider.title} is missing: {missing}",
        f"set {variables[0]}, or choose another model (--model offline needs none)",
    )


def _url_variables(provider: str) -> tuple[str, ...]:
    """The environment variables that move a provider elsewhere."""
    if own := OWN_PROTOCOLS.get(provider):
        return own.url_variables
    known = PROVIDERS.get(provider)
    return (known.url_variable,) if known is not None else ()


def _offline() -> Models:
    from .offline import OfflineModels

    return OfflineModels()


def _need_name(model: str, name: str, example: str) -> None:
    if not name.strip():
        raise ConfigurationError(f"{model!r} names a provider but no model", f"add the model, for example {example}")


def _named(url: str, variable: str) -> str:
    """``url``, checked under the name of the variable it came from."""
    from .base_url import checked_base_url

    return checked_base_url(url, setting=variable)
