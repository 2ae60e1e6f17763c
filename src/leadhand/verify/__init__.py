"""What an answer rests on: its claims, the exact checks of code, and the judge. Nothing here reads a human language."""
