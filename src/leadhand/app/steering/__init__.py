"""What people ask of runs that exist, and how new ones follow them."""
