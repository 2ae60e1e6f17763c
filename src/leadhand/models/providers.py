"""The known providers: address, environment variable of the key, default model.

Imports only the standard library, because every cold start reads these tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider behind the chat-completions protocol, or behind its own, through pydantic-ai and one of our extras.

    The key is in the first of ``key_variables`` that is set in the environment; ``key_needed`` says whether a key is
    required. If it is not, one of ``place_variables``, if there are any, sets the place (a project, a region). Any of
    :attr:`url_variables` sets another address (a proxy, another machine). ``default_model`` is small, cheap and able to
    call tools. A provider with its own protocol has an ``extra``, and ``module`` is the import name of its package.
    """

    name: str
    title: str
    base_url: str = ""
    key_variables: tuple[str, ...] = ()
    place_variables: tuple[str, ...] = ()
    key_needed: bool = True
    default_model: str = ""
    extra: str = ""
    module: str = ""

    @property
    def url_variables(self) -> tuple[str, ...]:
        own = f"{self.name.upper().replace('-', '_')}_BASE_URL"
        return ("LEADHAND_BASE_URL", "OPENAI_BASE_URL") if self.name == "openai_compatible" else (own,)

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
        key_needed=hosted,
        default_model=model,
    )
    for hosted, table in ((True, _HOSTED), (False, _LOCAL))
    for name, title, url, key, model in table
}
"""Providers with the chat-completions protocol, by name."""


_OWN_PROTOCOLS = (
    Provider(
        name="anthropic",
        title="Anthropic",
        extra="anthropic",
        module="anthropic",
        key_variables=("ANTHROPIC_API_KEY",),
        base_url="https://api.anthropic.com",
        default_model="claude-haiku-5-5",
    ),
    Provider(
        name="google",
        title="Google Gemini",
        extra="google",
        module="google.genai",
        key_variables=("GOOGLE_API_KEY", "GEMINI_API_KEY"),  # the order of Google's own package
        base_url="https://generativelanguage.googleapis.com",
        default_model="gemini-3.5-flash-lite",
    ),
    Provider(
        name="google-cloud",
        title="Google Cloud (Vertex AI)",
        extra="google",
        module="google.genai",
        key_variables=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        key_needed=False,
        place_variables=("GOOGLE_CLOUD_PROJECT", "GOOGLE_APPLICATION_CREDENTIALS"),
        default_model="gemini-3.5-flash-lite",
    ),
    Provider(
        name="bedrock",
        title="Amazon Bedrock",
        extra="bedrock",
        module="boto3",
        key_variables=("AWS_BEARER_TOKEN_BEDROCK",),
        key_needed=False,
        place_variables=("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_CONFIG_FILE"),
        default_model="global.amazon.nova-2-lite-v1:0",
    ),
    Provider(
        name="cohere",
        title="Cohere",
        extra="cohere",
        module="cohere",
        key_variables=("CO_API_KEY", "COHERE_API_KEY"),
        base_url="https://api.cohere.com",
        default_model="command-a-03-2025",
    ),
)
OWN_PROTOCOLS = {provider.name: provider for provider in _OWN_PROTOCOLS}
"""Providers with their own protocol, by name."""

BY_KEY = ("anthropic", "openai", "google", "groq", "mistral", "openrouter", "deepseek", "xai", "cohere")
"""The providers that a key alone selects, in the order in which keys are looked up. A Hugging Face token is not among
them: it is often set for downloads only, and must not cause costs."""

ALIASES = {
    "gemini": "google",
    "google-vertex": "google-cloud",
    "vertex": "google-cloud",
    "claude": "anthropic",
    "aws": "bedrock",
    "grok": "xai",
    "llama.cpp": "llamacpp",
    "lm-studio": "lmstudio",
    "openai-compatible": "openai_compatible",
}
"""Other common names of the providers."""

KNOWN = {**OWN_PROTOCOLS, **PROVIDERS, ANY_SERVER.name: ANY_SERVER}
"""Every provider of models on servers, by name."""


def provider_of(model: str) -> Provider | None:
    """The provider that a full name such as ``gemini:name`` begins with; None if it is not known."""
    written = model.partition(":")[0].strip().casefold()
    return KNOWN.get(ALIASES.get(written, written))


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
