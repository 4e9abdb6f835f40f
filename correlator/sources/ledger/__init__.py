"""The ledger as a source of findings: direct writes that were let in and still stand.

It needs no Git, and costs by the records and not by the cluster: each object that a record is about
is looked up once.
"""
