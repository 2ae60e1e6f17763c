"""Application services, and the one place where concrete parts are joined."""
