"""What is registered with the API server: configurations, conditions, fallback policy."""
