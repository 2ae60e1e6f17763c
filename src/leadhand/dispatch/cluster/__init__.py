"""Dispatch attempts to processes on many machines, which share a database on PostgreSQL.

The process that drives a run carries out its share of the attempts itself, and offers the others as jobs of a queue.
Jobs hold names only: a host computes its work from the log of the run. The commit of an attempt's start decides who
carries it out, so a job that is delivered twice or late is harmless, and what nobody takes, the driver starts itself.
"""
