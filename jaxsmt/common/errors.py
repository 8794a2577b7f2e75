"""The one exception that a person is meant to read."""


class UserError(Exception):
    """Something in the input or the configuration is wrong and a person can mend it.

    The message is one sentence: what was found, where (file, line or key), and what to do.
    The command-line entry points print it without a traceback and exit with code 1.
    """
