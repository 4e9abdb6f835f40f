"""Break-glass at the terminal. It does what `kubectl annotate` could do as well, and reads back."""
