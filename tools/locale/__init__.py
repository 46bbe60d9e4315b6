"""Korean catalogue: extract, check, compile."""
