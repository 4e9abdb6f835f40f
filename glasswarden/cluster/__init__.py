"""The way to an API server, for the programs: access, a thin client, and what the server serves."""
