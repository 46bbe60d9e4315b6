"""Agents' front: eight read-only tools and the facts as resources, over the same API as the command. Needs the extra [mcp]; never uses the network."""
