"""The errors a user may meet: each message names the culprit, what was expected and the next step."""


class HarnessError(Exception):
    """Something the user can put right; the command line prints it without a traceback and exits with 2."""


class UnknownName(HarnessError):
    """A name that no plugin gives; the message carries the nearest ones."""


class AmbiguousName(HarnessError):
    """One name, several distributions; the message says how to pick one."""


class SpecError(HarnessError):
    """An experiment that cannot be run as written: the message names file, table and key."""


class DataError(HarnessError):
    """A data set that cannot be used: not to be had, malformed, or unfit for the learner it was given to."""


class StoreError(HarnessError):
    """A results folder that cannot be read or written; what is in it is left as it was."""


class ContractError(Exception):
    """A plugin broke its promise (wrong shape, wrong type, changed its input); becomes the record's message."""
