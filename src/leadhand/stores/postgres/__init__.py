"""PostgreSQL: the database of many machines, which process is alive, messages between them, and their queue."""
