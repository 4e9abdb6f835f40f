"""What `doctor` looks at beyond the registration: pure judgements of what was read."""
