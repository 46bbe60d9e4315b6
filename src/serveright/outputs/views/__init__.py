"""One module per verb: report -> Document. What a reader sees, in which order; knows no format."""
