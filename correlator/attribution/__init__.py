"""Links a drifted field to the record, the audit event or the field manager that explains it."""
