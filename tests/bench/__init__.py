"""The machinery of the benchmarks, not the machine."""
