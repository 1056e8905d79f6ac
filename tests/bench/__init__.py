"""Benchmarks of the project's own parts: figures are told, nothing passes or fails by them."""
