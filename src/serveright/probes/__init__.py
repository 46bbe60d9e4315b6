"""One module per live probe of a running server, and the measurement of step 6."""
