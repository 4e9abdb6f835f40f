"""What can keep the demo from being shown."""


class DemoFailed(Exception):
    """The story cannot be told."""


class StageFailed(DemoFailed):
    """The webhook did not start, or did not answer; the message says what to look at."""


class StoryDiffers(DemoFailed):
    """The product no longer does what it did in the recording: `make recording` renews it."""


class FolderUnusable(DemoFailed):
    """The folder cannot be written to, or holds something; name another."""
