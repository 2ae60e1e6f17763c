"""The known providers: address, environment variable of the key, default model.

Imports only the standard library, because every cold start reads these tables.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider behind the chat-completions protocol.

    ``key_variable`` is the environment variable of its key, or ""; ``key_needed`` whether a key is required.
    ``default_model`` is used if the key is set and no model is named: small, cheap, able to call tools.
    ``first_byte_timeout_s`` is how long an answer may take to start; local models have to be loaded first.
    """

    name: str
    title: str
    base_url: str
    key_variable: str = ""
    key_needed: bool = False
    default_model: str = ""
    first_byte_timeout_s: float = 60.0

    @property
    def url_variable(self) -> str:
        """The environment variable for another address of the provider (a proxy, another machine)."""
        return f"{self.name.upper()}_BASE_URL"

    @property
    def key_variables(self) -> tuple[str, ...]:
        return (self.key_variable,) if self.key_variable else ()


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
    ("ollama", "Ollama", "http://127.0.0.1:11434/v1", ""),
    ("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1", ""),
    ("vllm", "vLLM", "http://127.0.0.1:8000/v1", "VLLM_API_KEY"),
    ("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1", ""),
)
"""Name, title, base URL, environment variable of the key, which is optional."""

PROVIDERS = {
    name: Provider(name=name, title=title, base_url=url, key_variable=key, key_needed=True, default_model=model)
    for name, title, url, key, model in _HOSTED
} | {
    name: Provider(name=name, title=title, base_url=url, key_variable=key, first_byte_timeout_s=600.0)
    for name, title, url, key in _LOCAL
}
"""Providers with the chat-completions protocol, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnProtocol:
    """A provider with its own protocol, used through pydantic-ai and one of our extras.

    ``module`` is the import name of the provider's package. The key is in the first of ``key_variables`` that is set;
    where none is needed, one of ``place_variables`` says where to go (a project, a region). ``base_url`` is "" where
    the place decides. Any of ``url_variables`` sets another address. ``default_model`` is used if its key is set and
    no model is named, "" to prevent that; ``example`` is named in messages.
    """

    name: str
    title: str
    extra: str
    module: str
    key_variables: tuple[str, ...]
    url_variables: tuple[str, ...]
    example: str
    key_needed: bool = True
    place_variables: tuple[str, ...] = ()
    base_url: str = ""
    default_model: str = ""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """A provider without its own name here; ``instead`` says how to use its models."""

    title: str
    instead: str


ABSENT = {
    "azure": Absent(
        title="Azure OpenAI",
        instead="set OPENAI_BASE_URL=https://RESOURCE.openai.azure.com/openai/v1 and OPENAI_API_KEY, and name the "
        "deployment: --model openai_compatible:DEPLOYMENT",
    ),
}

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Retired:
    """Models of ``provider`` that it has shut down: ``names`` are whole names, or end in ``*``.

    ``instead`` is the full name of what to use, ``source`` a reference.
    """

    provider: str
    names: tuple[str, ...]
    instead: str
    source: str


_ANTHROPIC_PAGE = "https://platform.claude.com/docs/en/about-claude/model-deprecations"
_OPENAI_PAGE = "https://developers.openai.com/api/docs/deprecations"
_GOOGLE_PAGE = "https://ai.google.dev/gemini-api/docs/deprecations"
_CLOUD_PAGE = "https://cloud.google.com/vertex-ai/generative-ai/docs/learn/model-versions"
_GROQ_PAGE = "https://console.groq.com/docs/deprecations"
_DEEPSEEK_PAGE = "https://api-docs.deepseek.com/updates"


def _retired(provider: str, instead: str, source: str, *names: str) -> Retired:
    return Retired(provider=provider, names=names, instead=f"{provider}:{instead}", source=source)


RETIRED = (
    _retired("anthropic", "claude-haiku-5-5", _ANTHROPIC_PAGE, "claude-instant*", "claude-3-haiku*"),
    _retired("anthropic", "claude-haiku-5-5", _ANTHROPIC_PAGE, "claude-3-5-haiku*"),
    _retired("anthropic", "claude-sonnet-5-5", _ANTHROPIC_PAGE, "claude-1", "claude-1.*", "claude-v1*"),
    _retired("anthropic", "claude-sonnet-5-5", _ANTHROPIC_PAGE, "claude-2", "claude-2.*", "claude-v2*"),
    _retired("anthropic", "claude-sonnet-5-5", _ANTHROPIC_PAGE, "claude-3-sonnet*", "claude-3-5-sonnet*"),
    _retired("anthropic", "claude-sonnet-5-5", _ANTHROPIC_PAGE, "claude-3-7-sonnet*"),
    # The names of Claude 4 that pydantic-ai lists as retired too (DEPRECATED_ANTHROPIC_MODELS).
    _retired("anthropic", "claude-sonnet-5-5", _ANTHROPIC_PAGE, "claude-sonnet-4-0", "claude-sonnet-4-20250514"),
    _retired("anthropic", "claude-opus-5-5", _ANTHROPIC_PAGE, "claude-3-opus*"),
    _retired("anthropic", "claude-opus-5-5", _ANTHROPIC_PAGE, "claude-opus-4-0", "claude-opus-4-20250514"),
    _retired("google", "gemini-3.8-flash", _GOOGLE_PAGE, "gemini-pro", "gemini-pro-vision", "gemini-1.0*"),
    _retired("google", "gemini-3.8-flash", _GOOGLE_PAGE, "gemini-1.5-pro*", "gemini-2.0-pro*"),
    _retired("google", "gemini-3.5-flash-lite", _GOOGLE_PAGE, "gemini-1.5-flash*", "gemini-2.0-flash*"),
    _retired("google", "gemini-3.1-pro-preview", _GOOGLE_PAGE, "gemini-3-pro-preview"),
    _retired("google-cloud", "gemini-3.8-flash", _CLOUD_PAGE, "gemini-pro", "gemini-1.0*", "gemini-1.5-pro*"),
    _retired("google-cloud", "gemini-3.5-flash-lite", _CLOUD_PAGE, "gemini-1.5-flash*"),
    _retired("openai", "gpt-6-luna", _OPENAI_PAGE, "text-davinci-*", "text-curie-*", "text-babbage-*", "text-ada-*"),
    _retired("openai", "gpt-6-luna", _OPENAI_PAGE, "code-davinci-*", "code-cushman-*", "codex-mini-latest"),
    _retired("openai", "gpt-5.6-terra", _OPENAI_PAGE, "gpt-3.5-turbo", "gpt-3.5-turbo-0613", "gpt-3.5-turbo-16k*"),
    _retired("openai", "gpt-5.6-sol", _OPENAI_PAGE, "gpt-4", "gpt-4-turbo", "gpt-4-turbo-preview"),
    _retired("openai", "gpt-5.6-sol", _OPENAI_PAGE, "gpt-4-32k*", "gpt-4-vision-preview", "gpt-4.5-preview*"),
    _retired("openai", "gpt-5.6-sol", _OPENAI_PAGE, "gpt-4-0125-preview", "gpt-4-1106-preview", "chatgpt-4o-latest"),
    _retired("openai", "gpt-5.6-luna", _OPENAI_PAGE, "gpt-4.1-nano"),
    _retired("openai", "gpt-5.6-sol", _OPENAI_PAGE, "o1", "o1-pro", "o1-preview*", "o1-mini*", "o3-mini"),
    _retired("openai", "gpt-5.6-terra", _OPENAI_PAGE, "o4-mini"),
    _retired("groq", "openai/gpt-oss-120b", _GROQ_PAGE, "llama-3.3-70b-versatile"),
    _retired("deepseek", "deepseek-flash", _DEEPSEEK_PAGE, "deepseek-chat", "deepseek-reasoner"),
)
"""Models that were shut down by November 2026. Models that still answer some requests, or redirect, are not listed."""


def instead_of(provider: str, model: str) -> str | None:
    """What to use instead of a model that its provider has shut down; None for any other."""
    for retired in RETIRED:
        for name in retired.names:
            if retired.provider == provider and (model == name or (name[-1] == "*" and model.startswith(name[:-1]))):
                return retired.instead
    return None
