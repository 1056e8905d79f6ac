"""One module a workload: where its observations come from."""
