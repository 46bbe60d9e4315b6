"""Prints how far predictions are from what machines showed. Maintenance only."""
