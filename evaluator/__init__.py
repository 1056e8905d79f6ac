"""Collects a run's topics, judges its outputs, measures them, and doubts the figures."""
