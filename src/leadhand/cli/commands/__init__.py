"""The commands. A module is imported when one of its commands is called."""
