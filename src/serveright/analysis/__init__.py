"""Pure functions from nouns to nouns: no I/O, no clock, no environment, no unseeded randomness."""
