"""Who may write what: values in, a verdict out. No I/O, no clock, no logging."""
