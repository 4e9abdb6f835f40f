"""Program 3: the authority and the certificate by which the API server trusts the webhook."""
