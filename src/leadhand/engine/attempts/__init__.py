"""Attempts at steps: the conversation with a model, or the code of a flow."""
