"""Where an engine's CPU goes: sampled while a campaign runs; no test, and nothing is timed."""
