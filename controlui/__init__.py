"""The Control UI: where an agent's questions meet a person."""
