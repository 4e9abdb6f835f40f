"""The ledger: a canonical, chained record of every direct write, synced before the response."""
