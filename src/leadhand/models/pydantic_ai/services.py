"""Open a provider: import its package, which takes seconds and belongs on a thread, and create its client.

The packages' own retries are disabled, because the engine retries.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable
from functools import cache, partial
from importlib import import_module
from typing import Any

import pydantic_ai

from leadhand.models.failures import LARGEST_BODY, UNBILLED, failed, too_long
from leadhand.models.server_settings import is_loopback

from .connection import Connection, Service

CONNECT_TIMEOUT_S = 10.0
LONGEST_READ_S = 600.0
NO_KEY = "none"
"""Sent to another address of a provider if no key is set, because their packages require a key."""


def open_service(connection: Connection) -> Service:
    """The models of ``connection.provider``. Raises what its package raises, ImportError among it."""
    pydantic_ai.BANNER_ENABLED = False
    return _OPENERS[connection.provider](connection)


def _anthropic(connection: Connection) -> Service:
    import httpx2
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = http_client(httpx2, connection)
    provider = AnthropicProvider(
        api_key=connection.key or NO_KEY, base_url=connection.base_url.removesuffix("/v1"), http_client=client
    )
    return Service(cache(partial(AnthropicModel, provider=provider)), client.aclose)


def _google(connection: Connection) -> Service:
    import httpx2
    from pydantic_ai.models.google import GoogleModel

    client = http_client(httpx2, connection)
    provider: Any
    if connection.provider == "google":
        from pydantic_ai.providers.google import GoogleProvider

        url = connection.base_url.removesuffix("/v1beta")
        provider = GoogleProvider(api_key=connection.key or NO_KEY, base_url=url, http_client=client)
    else:
        from pydantic_ai.providers.google_cloud import GoogleCloudProvider

        project = connection.env.get("GOOGLE_CLOUD_PROJECT")
        by_key = connection.key and not project and not connection.env.get("GOOGLE_APPLICATION_CREDENTIALS")
        provider = GoogleCloudProvider(
            api_key=connection.key if by_key else None,
            project=project,
            location=None if by_key else connection.env.get("GOOGLE_CLOUD_LOCATION") or "global",
            base_url=connection.base_url or None,
            http_client=client,
        )

    async def close() -> None:
        provider.client.close()  # the blocking client that comes with it, unused
        await client.aclose()

    return Service(cache(partial(GoogleModel, provider=provider)), close)


def _bedrock(connection: Connection) -> Service:
    from pydantic_ai.models.bedrock import BedrockConverseModel
    from pydantic_ai.providers.bedrock import BedrockProvider

    boto3: Any = import_module("boto3")
    config: Any = import_module("botocore.config").Config
    env = connection.env
    options: dict[str, Any] = {
        "retries": {"total_max_attempts": 1, "mode": "standard"},
        "connect_timeout": CONNECT_TIMEOUT_S,
        "read_timeout": LONGEST_READ_S,  # its threads cannot be stopped, so this ends abandoned requests
        "max_pool_connections": connection.connections,
    }
    if is_loopback(connection.base_url):
        options["proxies"] = {}
    session: dict[str, Any] = {
        "region_name": env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION"),
        "profile_name": env.get("AWS_PROFILE"),
    }
    if connection.key:
        session["botocore_session"] = _bearer_session(connection.key)
        options["signature_version"] = "bearer"
    elif env.get("AWS_ACCESS_KEY_ID"):
        session["aws_access_key_id"] = env.get("AWS_ACCESS_KEY_ID")
        session["aws_secret_access_key"] = env.get("AWS_SECRET_ACCESS_KEY")
        session["aws_session_token"] = env.get("AWS_SESSION_TOKEN")
    client = boto3.Session(**session).client(
        "bedrock-runtime",
        config=config(**options),
        endpoint_url=connection.base_url or None,
    )
    provider = BedrockProvider(bedrock_client=client)

    async def close() -> None:
        client.close()

    return Service(cache(partial(BedrockConverseModel, provider=provider)), close)


def _bearer_session(key: str) -> Any:
    """Return a session with a Bedrock API key and no other credentials, whatever is in the environment."""
    base: Any = import_module("botocore.session").Session
    token: Any = import_module("botocore.tokens").FrozenAuthToken(key)

    class BearerSession(base):
        def get_auth_token(self, **_: Any) -> Any:
            return token

        def get_credentials(self) -> None:
            return None

    return BearerSession()


def _cohere(connection: Connection) -> Service:
    from pydantic_ai.models.cohere import CohereModel
    from pydantic_ai.providers.cohere import CohereProvider

    client = http_client(import_module("httpx"), connection)
    cohere: Any = import_module("cohere")
    provider = CohereProvider(
        cohere_client=cohere.AsyncClientV2(
            api_key=connection.key or NO_KEY, base_url=connection.base_url, httpx_client=client
        )
    )
    return Service(cache(partial(CohereModel, provider=provider)), client.aclose)


def http_client(library: Any, connection: Connection) -> Any:
    """An ``AsyncClient`` of httpx2 or httpx, with our timeouts, certificates, proxies and size limit.

    Only connecting has a time limit here; the caller limits the whole call. Raises ModelError for an unusable proxy.
    """
    timeouts = {"connect": CONNECT_TIMEOUT_S, "read": None, "write": None, "pool": None}

    async def patient(request: Any) -> None:
        # Their packages set their own timeout on each request and would wait minutes for a connection.
        request.extensions = {**request.extensions, "timeout": timeouts}
        request.headers["User-Agent"] = "leadhand"  # instead of theirs, of which some send two

    class Bounded(library.AsyncByteStream):
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in self._stream:
                size += len(chunk)
                if size > LARGEST_BODY:
                    raise too_long()
                yield chunk

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def checked(response: Any) -> None:
        # Checked here, because their packages only report that they cannot read the answer.
        status, said = response.status_code, ""
        if 300 <= status < 400:  # another address must not receive the key
            said = f"answered {status}, a redirect to another address"
        elif status in (200, 400, 404, 405, 410) and "text/html" in response.headers.get("content-type", "").casefold():
            said = f"answered {status} with a web page"
        if said:
            title = connection.title
            raise failed("not_an_api", f"{title} {said}", UNBILLED, f"fix the base URL of {title}")
        response.stream = Bounded(response.stream)

    options = {
        "verify": ssl.create_default_context(),
        # Loopback needs no proxy.
        "trust_env": not is_loopback(connection.base_url),
        "limits": library.Limits(
            max_connections=connection.connections, max_keepalive_connections=connection.connections
        ),
        "timeout": library.Timeout(LONGEST_READ_S, connect=CONNECT_TIMEOUT_S),  # used by their packages
        "event_hooks": {"request": [patient], "response": [checked]},
    }
    try:
        return library.AsyncClient(**options)
    except (ImportError, ValueError) as error:  # other kinds of proxies need another package
        what = f"the proxy that the environment names cannot be used: {str(error).partition(' Make sure')[0]}"
        action = "set HTTPS_PROXY and ALL_PROXY to an http:// address, or unset them"
        raise failed("proxy", what, UNBILLED, action) from None


_OPENERS: dict[str, Callable[[Connection], Service]] = {
    "anthropic": _anthropic,
    "bedrock": _bedrock,
    "cohere": _cohere,
    "google": _google,
    "google-cloud": _google,
}
