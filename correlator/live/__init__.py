"""Live objects: those of a cluster, by kind, or those in a folder."""
