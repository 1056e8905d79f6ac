"""One module a workload: how its topics are read and what its stages must answer."""
