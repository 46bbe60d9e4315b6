"""Real inputs, broken in many ways, handed to the real command: `make fuzz`, and a small fixed budget in the suite."""
