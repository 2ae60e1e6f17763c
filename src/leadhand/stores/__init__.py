"""The context store in a database: SQLite or PostgreSQL, one implementation. :func:`.opening.open_store` opens it."""
