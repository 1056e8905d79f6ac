"""One module a workload: its stages as functions DataFrame → DataFrame."""
