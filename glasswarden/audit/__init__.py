"""The API server's audit log: its events, and the files that contain them."""
