"""Whether a ledger is what its writers left: every chain derived anew from the stored bytes.

The checks are pure: rows in, findings out. `run` reads the ledger for them, `audit_log` the API
server's log, `state` what an earlier run has seen.
"""
