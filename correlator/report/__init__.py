"""The report for an incident review: what was changed by hand, by whom, and what is left to do."""
