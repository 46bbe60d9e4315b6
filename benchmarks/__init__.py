"""Benchmarks print ratios against a baseline of the same run, never bare times."""
