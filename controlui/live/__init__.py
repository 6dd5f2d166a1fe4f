"""Live updates: group names, signed tickets, publishing and the consumer. Imports nothing of ours."""
