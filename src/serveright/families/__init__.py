"""One module per config dialect: config.json -> ModelShape. See `families.read` for the way in."""
