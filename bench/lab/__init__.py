"""What the benchmarks share: servers, load, reviews, rounds, and how results are told."""
