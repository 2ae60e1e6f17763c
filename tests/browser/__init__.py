"""The console in a real Chromium: what a person sees and does, in front of a real server."""
