"""Choose the adapter for a model by its name, ``provider:model``; adapters are created on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from leadhand.core.errors import ConfigurationError
from leadhand.ports import Models
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest

from .failures import UNSENT, failed
from .offline import OfflineModels
from .openai.adapter import OpenAICompatible
from .prices import known_cost, known_profile, price_of_a_token
from .providers import (
    ALIASES,
    ANY_SERVER,
    AZURE,
    LOCAL,
    OWN_PROTOCOLS,
    PROVIDERS,
    OwnProtocol,
    Provider,
    ollama_url,
)
from .pydantic_ai.client import PydanticAI
from .pydantic_ai.connection import Connection, require
from .server_settings import checked_base_url, checked_key, is_loopback

OFFLINE = "offline"
WINDOW_VARIABLE = "LEADHAND_WINDOW"
PRICE_VARIABLE = "LEADHAND_PRICE"
LEAST_WINDOW = 2_048


class ModelRouter:
    """All models behind one port.

    ``env`` is where keys and base URLs are looked up. ``connections`` bounds those to one server.
    """

    def __init__(self, *, env: Mapping[str, str], connections: int = 100) -> None:
        self._env = env
        self._connections = connections
        self._made: dict[str, Models] = {}

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        """Pass the request on. An unknown name raises :class:`ModelError` (``unavailable``)."""
        try:
            adapter = self.adapter(request.model)
        except ConfigurationError as error:
            raise failed("configuration", error.what, UNSENT, error.how) from None
        return await adapter.ask(request, on_text)

    def profile(self, model: str) -> ModelProfile:
        """See :class:`~leadhand.ports.Models`. Raises ConfigurationError for an unknown name."""
        profile = self.adapter(model).profile(model)
        if model == OFFLINE:
            return profile
        window, price = self._window, self._price
        if window is not None:
            profile = profile.evolve(window=window)
        if price is not None and profile.highest_cost(0, 0) is None:
            profile = profile.evolve(input_nanousd=price[0], output_nanousd=price[1], free=not any(price))
        return profile

    async def models(self) -> list[str]:
        """The models that the server behind ``openai_compatible:`` lists.

        Raises ConfigurationError if no address is set, :class:`ModelError` where the server does not list them.
        """
        server = self.adapter(f"{ANY_SERVER.name}:any")
        return await server.models() if isinstance(server, OpenAICompatible) else []

    async def learn(self, model: str) -> None:
        """Query what the server of ``model`` says of it, for some seconds at most; its profile then includes that.

        Raises ConfigurationError as :meth:`adapter`; a server that fails is ignored.
        """
        adapter = self.adapter(model)
        if isinstance(adapter, OpenAICompatible):
            await adapter.learn(model)

    async def aclose(self) -> None:
        """Close the adapters made here."""
        made, self._made = self._made, {}
        for adapter in made.values():
            await adapter.aclose()

    def check(self, model: str) -> None:
        """Raise :class:`ConfigurationError` if ``model`` cannot be used: unknown, no key, no address."""
        self.adapter(model)

    def adapter(self, model: str) -> Models:
        """The adapter for ``model``, created at first use. Raises :class:`ConfigurationError` as :meth:`check`."""
        written, _, name = model.partition(":")
        written = written.strip().casefold()
        provider = ALIASES.get(written, written)
        if provider == OFFLINE and not name:
            return self._make(OFFLINE, OfflineModels)
        if provider == "azure":
            raise ConfigurationError("Azure OpenAI has no provider name in this release", AZURE)
        own = OWN_PROTOCOLS.get(provider)
        known = ANY_SERVER if provider == ANY_SERVER.name else own or PROVIDERS.get(provider)
        if known is None:
            names = ", ".join([OFFLINE, *(f"{p}:" for p in (*OWN_PROTOCOLS, *PROVIDERS, ANY_SERVER.name))])
            raise ConfigurationError(
                f"unknown model {model!r}" if model.strip() else "the model name is empty",
                f"use provider:model; the providers are {names}",
            )
        if not name.strip():
            example = f"{provider}:{own.example if own else known.default_model or 'llama3.1'}"
            raise ConfigurationError(
                f"{model!r} names a provider but no model", f"add the model, for example {example}"
            )
        return self._make(provider, lambda: self._own_protocol(own) if own else self._server(known))

    def _make(self, name: str, build: Callable[[], Models]) -> Models:
        if name not in self._made:
            self._made[name] = build()
        return self._made[name]

    def _server(self, provider: Provider) -> Models:
        url, key = self._url(provider), self._key(provider)
        if not url:
            raise ConfigurationError(
                f"{provider.name}: has no address",
                "set LEADHAND_BASE_URL, for example LEADHAND_BASE_URL=http://127.0.0.1:8000/v1",
            )
        return OpenAICompatible(
            url,
            key,
            name=provider.name,
            key_setting=provider.key_variables[0]
            if provider.key_variables
            else f"OPENAI_API_KEY, with openai_compatible:NAME and LEADHAND_BASE_URL instead of {provider.name}:",
            connections=self._connections,
            profiles=known_profile if provider.key_needed else None,
            costs=known_cost if provider.key_needed else None,
            free=provider.name in LOCAL and is_loopback(url),
        )

    def _own_protocol(self, provider: OwnProtocol) -> Models:
        require(provider)
        url, key = self._url(provider), self._key(provider)
        moved = provider.url_variable(self._env)
        if not provider.key_needed and not key and not moved and not self._has_place(provider):
            places = " or ".join(provider.place_variables[:2])
            raise ConfigurationError(f"{provider.title} is not set up: {places} is not set", f"set {places}")
        return PydanticAI(
            Connection(
                provider=provider.name,
                title=provider.title,
                base_url=url,
                key=key,
                key_variables=provider.key_variables,
                connections=self._connections,
                env=self._env,
            )
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

    @property
    def _price(self) -> tuple[int, int] | None:
        """The price from the environment, for models without a known one: nano-dollars a token, of input and output.

        Raises ConfigurationError unless it is one amount or two.
        """
        said = self._env.get(PRICE_VARIABLE, "").strip()
        if not said:
            return None
        try:
            amounts = [price_of_a_token(part) for part in said.split("/")]
        except ValueError:
            amounts = []
        if len(amounts) not in (1, 2):
            raise ConfigurationError(
                f"{PRICE_VARIABLE} is {said[:40]!r}, which is not a price in US dollars per million tokens",
                f"set it to the prices of input and output, for example {PRICE_VARIABLE}=0.15/0.60, or to 0 if free",
            )
        return amounts[0], amounts[-1]

    def _has_place(self, provider: OwnProtocol) -> bool:
        """Whether the place is set: a project or region, or the file in which AWS stores one."""
        if any(self._env.get(name) for name in provider.place_variables):
            return True
        return provider.name == "bedrock" and (Path(self._env.get("HOME", "~")).expanduser() / ".aws/config").is_file()

    def _url(self, provider: Provider) -> str:
        """The address of ``provider``, the default or another one. Raises :class:`ConfigurationError` if malformed."""
        variable = provider.url_variable(self._env)
        if provider.name == "ollama":
            return checked_base_url(ollama_url(self._env), setting=variable or "OLLAMA_HOST")
        return checked_base_url(self._env[variable], setting=variable) if variable else provider.base_url

    def _key(self, provider: Provider) -> str:
        """The key of ``provider``, "" for none. Raises :class:`ConfigurationError` if it is unusable or missing."""
        if variable := provider.key_variable(self._env):
            return checked_key(self._env[variable], variable)
        if provider.key_needed and not provider.url_variable(self._env):
            variables = provider.key_variables
            missing = f"{variables[0]} is not" if len(variables) == 1 else f"neither {' nor '.join(variables)} is"
            raise ConfigurationError(
                f"the key for {provider.title} is missing: {missing} set",
                f"set {variables[0]}, or choose another model (--model offline needs no key)",
            )
        return ""
