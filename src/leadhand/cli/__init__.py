"""The command line: an entry point, one parser, and one module per group of commands."""
