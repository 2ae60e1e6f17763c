"""Choose the adapter for a model by its name, ``provider:model``; adapters are created on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from leadhand.core.errors import ConfigurationError
from leadhand.ports import Models
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest

from .failures import UNSENT, failed
from .offline import OfflineModels
from .openai.adapter import OpenAICompatible
from .prices import known_cost, known_profile, near_model, price_of_a_token
from .providers import ANY_SERVER, KNOWN, LOCAL, Provider, ollama_url, provider_of
from .pydantic_ai.client import PydanticAI
from .pydantic_ai.connection import Connection, require
from .server_settings import checked_base_url, checked_key, is_loopback

OFFLINE = "offline"
LEAST_WINDOW = 2_048
_Read = TypeVar("_Read")


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
        window = self._setting("LEADHAND_WINDOW", _window, "a context window in tokens, such as 32768")
        price = self._setting("LEADHAND_PRICE", _prices, "prices in US dollars per million tokens, such as 0.15/0.60")
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
        if written.strip().casefold() == OFFLINE and not name:
            return self._make(OFFLINE, OfflineModels)
        known = provider_of(model)
        if known is None:
            near = near_model(model, KNOWN)
            names = ", ".join([OFFLINE, *(f"{each}:" for each in KNOWN)])
            raise ConfigurationError(
                f"unknown model {model!r}" if model.strip() else "the model name is empty",
                f"use provider:model; the providers are {names} (any other server, such as Azure OpenAI, at "
                f"LEADHAND_BASE_URL){f'; did you mean {near}?' if near else ''}",
            )
        if not name.strip():
            example = f"{known.name}:{known.default_model or 'llama3.1'}"
            raise ConfigurationError(
                f"{model!r} names a provider but no model", f"add the model, for example {example}"
            )
        return self._make(known.name, lambda: self._own_protocol(known) if known.extra else self._server(known))

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

    def _own_protocol(self, provider: Provider) -> Models:
        require(provider)
        url, key = self._url(provider), self._key(provider)
        places = provider.place_variables
        if places and not key and not provider.url_variable(self._env) and not any(map(self._env.get, places)):
            named = " or ".join(places[:2])
            raise ConfigurationError(f"{provider.title} is not set up: {named} is not set", f"set {named}")
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

    def _setting(self, variable: str, read: Callable[[str], _Read], what: str) -> _Read | None:
        """Return a number from the environment, None if it is not set. Raises ConfigurationError if it is malformed."""
        said = self._env.get(variable, "").strip()
        try:
            return read(said) if said else None
        except ValueError:
            raise ConfigurationError(f"{variable} is {said[:40]!r}", f"set it to {what}, or unset it") from None

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


def _window(said: str) -> int:
    if not said.isascii() or int(said.replace(",", "")) < LEAST_WINDOW:
        raise ValueError
    return int(said.replace(",", ""))


def _prices(said: str) -> tuple[int, int]:
    """Nano-dollars a token, of input and output."""
    sent, _, written = said.partition("/")
    return price_of_a_token(sent), price_of_a_token(written or sent)
