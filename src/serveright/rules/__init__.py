"""One module per audit or diagnosis rule; its docstring is its page."""
