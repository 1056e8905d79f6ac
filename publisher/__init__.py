"""Send the observations when they are due, and keep evidence of it; knows nothing of engines."""
