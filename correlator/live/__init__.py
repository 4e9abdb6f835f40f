"""What is live: the cluster's objects kind by kind, or a folder that holds some of them."""
