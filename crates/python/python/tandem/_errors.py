# SPDX-License-Identifier: MIT OR Apache-2.0
"""Exceptions, by kind. They can be sent to other processes."""


class TandemError(Exception):
    """What a run can fail by."""


class InputError(TandemError, ValueError):
    """A mistake in a file, a name or an option."""

    def __init__(self, text, file=None, line=None, column=None, help=None):
        super().__init__(text, file, line, column, help)
        self.file, self.line, self.column, self.help = file, line, column, help

    def __str__(self):
        return self.args[0]


class StuckError(TandemError):
    """The simulation cannot end."""


class EjectedError(TandemError):
    """The scheduler refused a thread, so that there are no results."""


class BusyError(TandemError):
    """Another sweep writes into the folder."""

    def __init__(self, text, folder=None, process=None, host=None, since=None):
        super().__init__(text, folder, process, host, since)
        self.folder, self.process, self.host, self.since = folder, process, host, since

    def __str__(self):
        return self.args[0]


class OutOfMemoryError(TandemError, MemoryError):
    """The simulation wants more memory than TANDEM_MEMORY allows."""
