"""Live events and views of runs: one reader of a log for all its clients, and a cursor for each of them."""
