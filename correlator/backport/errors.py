"""Why something cannot be backported."""


class CannotEdit(Exception):
    """A text cannot be made to say a value; the message says what is in the way."""


class CannotPlace(Exception):
    """A field cannot be placed there; the message says why, for whoever does it by hand."""


class RepositoryUnusable(Exception):
    """The repository cannot be read or written; the message says what to mend."""
