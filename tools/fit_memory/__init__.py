"""Fits what an engine's profile run takes beyond the weights on public start-up logs. Maintenance only; the product reads the result as data."""
