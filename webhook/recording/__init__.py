"""Making a decided write durable: the record, its batch, the ledger and the spool."""
