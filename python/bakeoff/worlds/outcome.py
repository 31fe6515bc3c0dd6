"""How a run can end other than well."""


class RunStopped(Exception):  # noqa: N818 - what happened
    """The run ended with an error; the message is one sentence."""


class RunInvalid(Exception):  # noqa: N818 - what happened
    """The run ended and cannot be trusted: its packets do not add up."""
