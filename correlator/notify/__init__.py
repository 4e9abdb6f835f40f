"""Telling people what concerns them: events are routed to their owner, grouped, and sent."""
