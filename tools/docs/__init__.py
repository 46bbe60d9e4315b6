"""The documentation: every command shown is run, every output shown is what it printed."""
