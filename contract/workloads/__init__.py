"""One module a workload: its words and shapes."""
