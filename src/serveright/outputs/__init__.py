"""One module per output format; the only layer that turns messages into prose."""
