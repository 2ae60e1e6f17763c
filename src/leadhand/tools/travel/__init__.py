"""The tools that come with Leadhand: weather and directions."""
