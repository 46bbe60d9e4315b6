"""Live probes of a running OpenAI-compatible server, one module each. Nothing is sent without being asked for, and each says what it sends."""
