"""Break-glass: who may write by hand for a while, how they ask, and the stamp that proves it."""
