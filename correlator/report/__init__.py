"""The report for an incident review: what was changed by hand, by whom, and the open follow-ups."""
