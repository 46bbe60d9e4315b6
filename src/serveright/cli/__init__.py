"""The command line: parse, call `api`, hand the result to `outputs`."""
