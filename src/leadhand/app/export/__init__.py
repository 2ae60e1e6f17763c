"""A run as documents and files, made from its state."""
