"""What rooms share: words, settings, topics, shapes of files, errors. Imports no room."""
