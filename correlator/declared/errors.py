"""Errors for declared state that cannot be read, or not completely."""


class DeclaredUnreadable(Exception):
    """What is declared cannot be read at all; the message says what to mend."""


class ProgramMissing(DeclaredUnreadable):
    """A program that is needed is not installed; the message names it."""
