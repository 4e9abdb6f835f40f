"""What is peculiar to the ledger in PostgreSQL; `test_contract` has what all ledgers do."""
