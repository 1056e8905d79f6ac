"""The PySpark engine: stages as pure functions; one file does the I/O."""
