"""The HTTP server: gunicorn, TLS, accepting connections, and routing requests."""
