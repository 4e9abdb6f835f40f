"""`glasswarden ledger`: read, verify and maintain the ledger."""
