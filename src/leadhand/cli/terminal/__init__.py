"""What the command line shows a person: streams, messages, live progress and prompts."""
