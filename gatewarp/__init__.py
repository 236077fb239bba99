"""The command line, and the registry of what can be proved, built and measured."""
