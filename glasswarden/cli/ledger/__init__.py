"""`glasswarden ledger`: look into what was recorded, and look after it."""
