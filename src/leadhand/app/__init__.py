"""Application services, and the one place where stores, models and tools are connected."""
