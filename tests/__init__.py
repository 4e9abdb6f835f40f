"""Tests; `tests.cluster` also holds the control plane they run on."""
