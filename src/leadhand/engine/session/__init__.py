"""Sessions: one attempt at a step each, a conversation with a model or the code of a flow."""
