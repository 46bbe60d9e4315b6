"""One module a view, found by its name; `web.app` says what each must have."""
