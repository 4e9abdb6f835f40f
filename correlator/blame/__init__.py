"""Who set each line of a live object, when, why, under which ticket."""
