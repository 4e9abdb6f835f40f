"""The certificates by which the API server trusts the webhook."""
