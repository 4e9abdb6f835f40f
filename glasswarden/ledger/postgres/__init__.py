"""The ledger for replicas and fleets: PostgreSQL, in monthly partitions. Needs psycopg 3."""
