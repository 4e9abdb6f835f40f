"""The record of every attempt to write by hand: canonical, chained, durable before the answer."""
