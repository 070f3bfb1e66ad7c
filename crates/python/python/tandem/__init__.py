# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tandem for Python: machines and workloads, simulated with time and energy under Linux's schedulers.

The manual is in __init__.pyi beside this file: every name with its types, units and examples.
"""

from importlib.resources import files as _files

from . import _tandem
from ._errors import BusyError, EjectedError, InputError, OutOfMemoryError, StuckError, TandemError
from ._sweep import Swept, sweep
from ._tandem import (
    Comparison,
    Energy,
    Grid,
    Machine,
    Report,
    Table,
    Trace,
    Workload,
    __version__,
    compare,
    generate,
    machine,
    machines,
    simulate,
    workload,
    workloads,
)

__all__ = [
    "BusyError",
    "Comparison",
    "EjectedError",
    "Energy",
    "Grid",
    "InputError",
    "Machine",
    "OutOfMemoryError",
    "Report",
    "StuckError",
    "Swept",
    "Table",
    "TandemError",
    "Trace",
    "Workload",
    "__version__",
    "compare",
    "generate",
    "machine",
    "machines",
    "simulate",
    "sweep",
    "workload",
    "workloads",
]

# The schedulers' objects are files beside this library, under a licence of their own.
_tandem._begin(str(_files(__name__) / "schedulers"), _tandem.__file__)
