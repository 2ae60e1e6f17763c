"""The providers we know: where they are, which environment variable holds the key, which model is taken by default.

Models come and go; the table of retired ones says what to use instead. Checked against the providers' own pages in
November 2026.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider behind the chat-completions protocol.

    ``key_variable`` is the environment variable of its key, "" where there is none; ``key_needed`` whether nothing goes
    without. ``default_model`` is taken when its key is found and no model was named: small, cheap, able to call tools.
    ``first_byte_timeout_s`` is how long an answer may take to begin: a model on this machine is loaded first.
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
        """The environment variable that moves the provider elsewhere (a proxy, another machine)."""
        return f"{self.name.upper()}_BASE_URL"


_HOSTED = (
    Provider(
        name="openai",
        title="OpenAI",
        base_url="https://api.openai.com/v1",
        key_variable="OPENAI_API_KEY",
        key_needed=True,
        default_model="gpt-6-luna",
    ),
    Provider(
        name="groq",
        title="Groq",
        base_url="https://api.groq.com/openai/v1",
        key_variable="GROQ_API_KEY",
        key_needed=True,
        default_model="openai/gpt-oss-120b",
    ),
    Provider(
        name="mistral",
        title="Mistral",
        base_url="https://api.mistral.ai/v1",
        key_variable="MISTRAL_API_KEY",
        key_needed=True,
        default_model="mistral-small-latest",
    ),
    Provider(
        name="openrouter",
        title="OpenRouter",
        base_url="https://openrouter.ai/api/v1",
        key_variable="OPENROUTER_API_KEY",
        key_needed=True,
        default_model="openai/gpt-6-luna",
    ),
    Provider(
        name="deepseek",
        title="DeepSeek",
        base_url="https://api.deepseek.com/v1",
        key_variable="DEEPSEEK_API_KEY",
        key_needed=True,
        default_model="deepseek-flash",
    ),
    Provider(
        name="xai",
        title="xAI",
        base_url="https://api.x.ai/v1",
        key_variable="XAI_API_KEY",
        key_needed=True,
        default_model="grok-4.3",
    ),
)
_LOCAL = (
    Provider(name="ollama", title="Ollama", base_url="http://127.0.0.1:11434/v1", first_byte_timeout_s=600.0),
    Provider(name="lmstudio", title="LM Studio", base_url="http://127.0.0.1:1234/v1", first_byte_timeout_s=600.0),
    Provider(
        name="vllm",
        title="vLLM",
        base_url="http://127.0.0.1:8000/v1",
        key_variable="VLLM_API_KEY",
        first_byte_timeout_s=600.0,
    ),
    Provider(name="llamacpp", title="llama.cpp", base_url="http://127.0.0.1:8080/v1", first_byte_timeout_s=600.0),
)

PROVIDERS = {provider.name: provider for provider in (*_HOSTED, *_LOCAL)}
"""By name; those that hold keys stand in the order in which a key in the environment is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """A provider with a protocol of its own, which this release does not speak; ``instead`` is a way to its models."""

    title: str
    key_variables: tuple[str, ...]
    instead: str


ABSENT = {
    "anthropic": Absent(
        title="Anthropic",
        key_variables=("ANTHROPIC_API_KEY",),
        instead="openrouter:anthropic/claude-haiku-5.5",
    ),
    "google": Absent(
        title="Google Gemini",
        key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        instead="openrouter:google/gemini-3.5-flash-lite",
    ),
    "bedrock": Absent(title="Amazon Bedrock", key_variables=(), instead="openrouter:amazon/nova-2-lite-v1"),
    "azure": Absent(title="Azure OpenAI", key_variables=(), instead="openai_compatible:NAME with OPENAI_BASE_URL"),
    "cohere": Absent(
        title="Cohere", key_variables=("COHERE_API_KEY", "CO_API_KEY"), instead="openrouter:cohere/command-a"
    ),
}

ALIASES = {
    "gemini": "google",
    "google-gla": "google",
    "google-vertex": "google",
    "vertex": "google",
    "claude": "anthropic",
    "aws": "bedrock",
    "grok": "xai",
    "x-ai": "xai",
    "openai-chat": "openai",
    "llama.cpp": "llamacpp",
    "lm-studio": "lmstudio",
    "openai-compatible": "openai_compatible",
}
"""Other names people use for the same."""

RETIRED = {
    "openai:gpt-3.5-turbo": "openai:gpt-5.6-terra",
    "openai:gpt-4": "openai:gpt-5.6-sol",
    "openai:gpt-4-turbo": "openai:gpt-5.6-sol",
    "openai:gpt-4.1-nano": "openai:gpt-5.6-luna",
    "openai:o1": "openai:gpt-5.6-sol",
    "openai:o1-pro": "openai:gpt-5.6-sol",
    "openai:o3-mini": "openai:gpt-5.6-sol",
    "openai:o4-mini": "openai:gpt-5.6-terra",
    "groq:llama-3.3-70b-versatile": "groq:openai/gpt-oss-120b",
    "deepseek:deepseek-chat": "deepseek:deepseek-flash",
    "deepseek:deepseek-reasoner": "deepseek:deepseek-flash",
    "xai:grok-3": "xai:grok-4.3",
    "xai:grok-4-0709": "xai:grok-4.3",
    "xai:grok-4-fast-reasoning": "xai:grok-4.3",
    "xai:grok-4-fast-non-reasoning": "xai:grok-4.3",
    "xai:grok-4-1-fast-reasoning": "xai:grok-4.3",
    "xai:grok-4-1-fast-non-reasoning": "xai:grok-4.3",
    "google:gemini-pro": "openrouter:google/gemini-3.8-flash",
    "google:gemini-1.5-pro": "openrouter:google/gemini-3.8-flash",
    "google:gemini-1.5-flash": "openrouter:google/gemini-3.5-flash-lite",
    "google:gemini-1.5-flash-8b": "openrouter:google/gemini-3.5-flash-lite",
    "google:gemini-2.0-flash": "openrouter:google/gemini-3.5-flash-lite",
    "google:gemini-2.0-flash-lite": "openrouter:google/gemini-3.5-flash-lite",
}
"""Models that their providers have shut down, and what they recommend."""
