"""What was recorded cannot be lost, and cannot be changed unseen."""
