"""The command line, the choreography of runs and campaigns, the runtimes. Only it starts things."""
