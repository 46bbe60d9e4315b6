"""The nouns. Plain frozen data: no I/O, no arithmetic beyond reading their own fields."""
