"""Benchmarks: every module of this folder is one, `lab` holds what they share.

A benchmark has `GOALS`, the rows that it fills, and `run(lab)`, which measures and judges them. It
is found by being here. Everything runs on loopback, against real processes, started as their users
start them; what is compared is measured by turns in the same run, for a machine's speed drifts.
"""
