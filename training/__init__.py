"""Self-play learning, and the referee that says how strong a player is."""
