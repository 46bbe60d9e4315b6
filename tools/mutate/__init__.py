"""Mutation testing of the pure layers: small faults are put into the code one at a time, and some test must fail."""
