"""SQLite: the database in one file, and the number of its last commit in another."""
