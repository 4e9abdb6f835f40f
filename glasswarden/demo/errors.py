"""What can keep the demo from being shown."""


class StageFailed(Exception):
    """The webhook did not start, or did not answer; the message says what to look at."""
