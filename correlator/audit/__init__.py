"""The API server's audit log as a source: who wrote, and which writes bypassed the webhook."""
