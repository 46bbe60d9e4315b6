"""Maintenance programs; nothing of the product imports them."""
