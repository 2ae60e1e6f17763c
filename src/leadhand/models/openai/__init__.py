"""A thin client for the protocol that OpenAI, Ollama, vLLM and most other servers speak."""
