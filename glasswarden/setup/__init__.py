"""Setting the product up in a cluster, examining it there, and taking it off again."""
