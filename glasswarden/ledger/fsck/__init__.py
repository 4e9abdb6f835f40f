"""Verification of a ledger: every chain is derived again from the stored bytes.

The checks are pure: rows in, findings out. `run` reads the ledger and the state of the last run,
`witness` the API server's audit log.
"""
