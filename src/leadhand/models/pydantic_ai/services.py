"""Open a provider: import its package, which takes seconds and belongs on a thread, and create its client.

The packages' own retries are disabled, because the engine retries.
"""

from __future__ import annotations

import ssl
from functools import cache, partial
from importlib import import_module
from typing import Any

import pydantic_ai

from leadhand.models.failures import UNBILLED, failed
from leadhand.models.server_settings import is_loopback

from .connection import Connection, Service

CONNECT_TIMEOUT_S = 10.0
LONGEST_READ_S = 600.0
NO_KEY = "none"
"""Sent to another address of a provider if no key is set, because their packages require a key."""


def open_service(connection: Connection) -> Service:
    """The models of ``connection.provider``. Raises what its package raises, ImportError among it."""
    pydantic_ai.BANNER_ENABLED = False
    key, url = connection.key or NO_KEY, connection.base_url
    client: Any
    match connection.provider:
        case "anthropic":
            from pydantic_ai.models.anthropic import AnthropicModel
            from pydantic_ai.providers.anthropic import AnthropicProvider

            client = _http_client("httpx2", connection)
            provider = AnthropicProvider(api_key=key, base_url=url.removesuffix("/v1"), http_client=client)
            return Service(cache(partial(AnthropicModel, provider=provider)), client.aclose)
        case "cohere":
            from pydantic_ai.models.cohere import CohereModel
            from pydantic_ai.providers.cohere import CohereProvider

            client = _http_client("httpx", connection)
            cohere: Any = import_module("cohere")
            api = cohere.AsyncClientV2(api_key=key, base_url=url, httpx_client=client)
            return Service(cache(partial(CohereModel, provider=CohereProvider(cohere_client=api))), client.aclose)
        case "bedrock":
            from pydantic_ai.models.bedrock import BedrockConverseModel
            from pydantic_ai.providers.bedrock import BedrockProvider

            client = _bedrock_client(connection)

            async def close() -> None:
                client.close()

            return Service(cache(partial(BedrockConverseModel, provider=BedrockProvider(bedrock_client=client))), close)
        case _:
            return _google(connection)


def _google(connection: Connection) -> Service:
    from pydantic_ai.models.google import GoogleModel

    client = _http_client("httpx2", connection)
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


def _bedrock_client(connection: Connection) -> Any:
    boto3: Any = import_module("boto3")
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
        names = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
        session |= {name: env.get(name.upper()) for name in names}
    config: Any = import_module("botocore.config").Config(**options)
    return boto3.Session(**session).client("bedrock-runtime", config=config, endpoint_url=connection.base_url or None)


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


def _http_client(library: str, connection: Connection) -> Any:
    """An ``AsyncClient`` of httpx2 or httpx with our certificates and proxies; the caller limits the whole call.

    Raises ModelError for an unusable proxy.
    """
    http: Any = import_module(library)
    most = connection.connections
    try:
        return http.AsyncClient(
            verify=ssl.create_default_context(),
            trust_env=not is_loopback(connection.base_url),  # this machine needs no proxy
            limits=http.Limits(max_connections=most, max_keepalive_connections=most),
            timeout=http.Timeout(LONGEST_READ_S, connect=CONNECT_TIMEOUT_S),
        )
    except (ImportError, ValueError) as error:  # other kinds of proxies need another package
        what = f"the proxy that the environment names cannot be used: {str(error).partition(' Make sure')[0]}"
        action = "set HTTPS_PROXY and ALL_PROXY to an http:// address, or unset them"
        raise failed("proxy", what, UNBILLED, action) from None
