"""The weekly drift review: what keeps coming back, what is owed, and what nobody can explain."""
