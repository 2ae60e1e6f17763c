"""One process that drives runs, alone or among others that share its database."""
