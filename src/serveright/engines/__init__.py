"""One package per engine: its automatic choices, cache layout, memory split and capacity, and Launch <-> flags both ways."""
