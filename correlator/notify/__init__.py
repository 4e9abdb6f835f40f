"""Notifications: events are routed to their owner, grouped, and sent."""
