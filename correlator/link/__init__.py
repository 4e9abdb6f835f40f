"""From a drifted field to whoever drifted it. Pure: records, objects and keys in, links out."""
