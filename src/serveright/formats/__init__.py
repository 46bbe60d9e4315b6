"""One module per quantisation dialect: config -> Checkpoint. See `formats.read` for the way in."""
