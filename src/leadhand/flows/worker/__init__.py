"""The worker flow: a worker of the project leads a run."""
