"""The known providers: address, environment variable of the key, default model.

Imports only the standard library, because every cold start reads these tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider behind the chat-completions protocol, or behind its own (:class:`OwnProtocol`).

    The key is in the first of ``key_variables`` that is set in the environment; ``key_needed`` says whether a key is
    required. Any of ``url_variables`` sets another address (a proxy, another machine). ``default_model`` is used if the
    key is set and no model is named: small, cheap, able to call tools; "" to prevent that.
    """

    name: str
    title: str
    base_url: str = ""
    key_variables: tuple[str, ...] = ()
    url_variables: tuple[str, ...]
    key_needed: bool = True
    default_model: str = ""

    def key_variable(self, env: Mapping[str, str]) -> str:
        """The variable that holds the key; "" if none is set."""
        return next((name for name in self.key_variables if env.get(name)), "")

    def url_variable(self, env: Mapping[str, str]) -> str:
        """The variable that holds another address; "" if none is set."""
        return next((name for name in self.url_variables if env.get(name)), "")


ANY_SERVER = Provider(
    name="openai_compatible",
    title="the server",
    key_variables=("OPENAI_API_KEY",),
    url_variables=("LEADHAND_BASE_URL", "OPENAI_BASE_URL"),
    key_needed=False,
)
"""The server at the address that the user sets."""

_HOSTED = (
    ("openai", "OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-6-luna"),
    ("groq", "Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", "openai/gpt-oss-120b"),
    ("mistral", "Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", "mistral-small-latest"),
    ("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "openai/gpt-6-luna"),
    ("deepseek", "DeepSeek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "deepseek-flash"),
    ("xai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY", "grok-4.3"),
    # No default model: a Hugging Face token is often set for downloads only, and must not cause costs.
    ("huggingface", "Hugging Face", "https://router.huggingface.co/v1", "HF_TOKEN", ""),
)
"""Name, title, base URL, environment variable of the key, default model."""

_LOCAL = (
    ("ollama", "Ollama", "http://127.0.0.1:11434/v1", "", ""),
    ("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1", "", ""),
    ("vllm", "vLLM", "http://127.0.0.1:8000/v1", "VLLM_API_KEY", ""),
    ("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1", "", ""),
)
"""The same for servers that people run themselves; the key is optional."""

LOCAL = frozenset(name for name, *_ in _LOCAL)
"""The providers whose models cost nothing on this machine."""

PROVIDERS = {
    name: Provider(
        name=name,
        title=title,
        base_url=url,
        key_variables=(key,) if key else (),
        url_variables=(f"{name.upper()}_BASE_URL",),
        key_needed=hosted,
        default_model=model,
    )
    for hosted, table in ((True, _HOSTED), (False, _LOCAL))
    for name, title, url, key, model in table
}
"""Providers with the chat-completions protocol, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnProtocol(Provider):
    """A provider with its own protocol, used through pydantic-ai and one of our extras.

    ``module`` is the import name of the provider's package. If no key is required, one of ``place_variables`` sets the
    place (a project, a region); ``base_url`` is "" if it depends on the place. ``example`` is a model for messages.
    """

    extra: str
    module: str
    example: str
    place_variables: tuple[str, ...] = ()


_OWN_PROTOCOLS = (
    OwnProtocol(
        name="anthropic",
        title="Anthropic",
        extra="anthropic",
        module="anthropic",
        key_variables=("ANTHROPIC_API_KEY",),
        url_variables=("ANTHROPIC_BASE_URL",),
        base_url="https://api.anthropic.com",
        default_model="claude-haiku-5-5",
        example="claude-haiku-5-5",
    ),
    OwnProtocol(
        name="google",
        title="Google Gemini",
        extra="google",
        module="google.genai",
        key_variables=("GOOGLE_API_KEY", "GEMINI_API_KEY"),  # the order of Google's own package
        url_variables=("GOOGLE_BASE_URL", "GOOGLE_GEMINI_BASE_URL"),
        base_url="https://generativelanguage.googleapis.com",
        default_model="gemini-3.5-flash-lite",
        example="gemini-3.5-flash-lite",
    ),
    OwnProtocol(
        name="google-cloud",
        title="Google Cloud (Vertex AI)",
        extra="google",
        module="google.genai",
        key_variables=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        key_needed=False,
        place_variables=("GOOGLE_CLOUD_PROJECT", "GOOGLE_APPLICATION_CREDENTIALS"),
        url_variables=("GOOGLE_CLOUD_BASE_URL", "GOOGLE_VERTEX_BASE_URL"),
        example="gemini-3.5-flash-lite",
    ),
    OwnProtocol(
        name="bedrock",
        title="Amazon Bedrock",
        extra="bedrock",
        module="boto3",
        key_variables=("AWS_BEARER_TOKEN_BEDROCK",),
        key_needed=False,
        place_variables=("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_CONFIG_FILE"),
        url_variables=("BEDROCK_BASE_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"),
        example="global.amazon.nova-2-lite-v1:0",
    ),
    OwnProtocol(
        name="cohere",
        title="Cohere",
        extra="cohere",
        module="cohere",
        key_variables=("CO_API_KEY", "COHERE_API_KEY"),
        url_variables=("COHERE_BASE_URL", "CO_BASE_URL"),
        base_url="https://api.cohere.com",
        default_model="command-a-03-2025",
        example="command-a-03-2025",
    ),
)
OWN_PROTOCOLS = {provider.name: provider for provider in _OWN_PROTOCOLS}
"""Providers with their own protocol, by name."""

BY_KEY = ("anthropic", "openai", "google", "groq", "mistral", "openrouter", "deepseek", "xai", "cohere")
"""The providers that a key alone selects, in the order in which keys are looked up."""

AZURE = (
    "set OPENAI_BASE_URL=https://RESOURCE.openai.azure.com/openai/v1 and OPENAI_API_KEY, and name the deployment: "
    "--model openai_compatible:DEPLOYMENT"
)
"""How to use the models of Azure OpenAI, for which there is no provider name."""

ALIASES = {
    "gemini": "google",
    "google-gla": "google",
    "google-genai": "google",
    "google-vertex": "google-cloud",
    "vertex": "google-cloud",
    "vertexai": "google-cloud",
    "claude": "anthropic",
    "aws": "bedrock",
    "grok": "xai",
    "x-ai": "xai",
    "hf": "huggingface",
    "openai-chat": "openai",
    "azure-openai": "azure",
    "llama.cpp": "llamacpp",
    "lm-studio": "lmstudio",
    "openai-compatible": "openai_compatible",
}
"""Other common names of the providers."""


def ollama_url(env: Mapping[str, str]) -> str:
    """The URL of Ollama: ``OLLAMA_BASE_URL``, else ``OLLAMA_HOST`` as Ollama reads it, else the default."""
    if env.get("OLLAMA_BASE_URL"):
        return env["OLLAMA_BASE_URL"]
    host = env.get("OLLAMA_HOST", "").strip().rstrip("/")
    if not host:
        return PROVIDERS["ollama"].base_url
    address = host if "://" in host else f"http://{host}"
    try:
        parts = urlsplit(address)
        port = parts.port or (443 if parts.scheme == "https" else 80 if "://" in host else 11434)
    except ValueError:
        return PROVIDERS["ollama"].base_url
    # A server that listens on all addresses is reached on this machine through loopback.
    name = "127.0.0.1" if parts.hostname in (None, "0.0.0.0", "::") else parts.hostname  # noqa: S104
    return f"{parts.scheme}://{f'[{name}]' if ':' in name else name}:{port}/v1"
