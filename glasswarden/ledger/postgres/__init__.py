"""The ledger in PostgreSQL, for several replicas, partitioned by month. Needs psycopg 3."""
