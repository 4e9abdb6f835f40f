"""The API server's audit log as a source: who really wrote, and what passed us by."""
