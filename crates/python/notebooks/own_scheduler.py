# SPDX-License-Identifier: MIT OR Apache-2.0
# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A sched_ext scheduler of one's own
#
# Any object that a kernel would load is a scheduler, by its path. `make objects` compiles the four C examples of the kernel's source into
# `out/schedulers`; here it may be any other one, which OBJECT names.

# %%
import os
from importlib.resources import files

import polars
import tandem

OBJECT = os.environ.get("OBJECT", str(files(tandem) / "schedulers" / "tandem.bpf.o"))
report = tandem.simulate("hikey960", "forkjoin", scheduler=OBJECT)
report

# %% [markdown]
# What did its callbacks cost, and did it stay to the end?

# %%
print(report.ejected)
polars.DataFrame([{"callback": name, **of} for name, of in report.sched_ext["callbacks"].items()]).sort("calls", descending=True)

# %% [markdown]
# Is it better than Linux's own scheduler, on machines that are not at hand?

# %%
comparison = tandem.compare(["forkjoin", "pipeline"], ["hikey960", "rk3399"], ["fair", OBJECT], runs=3, alone=False)
means = polars.DataFrame(comparison.means).filter(polars.col("metric").is_in(["time_s", "energy_j"]))
means

# %% [markdown]
# Why was a thread late? What threads waited for is in a trace, and `tandem why` of the command tells it as a story.

# %%
trace = tandem.simulate("hikey960", "pipeline", scheduler=OBJECT, duration="100ms", trace=True).trace
waits = polars.DataFrame(trace.waits).filter(polars.col("on") == "cpu").with_columns(
    us=(polars.col("end_ns") - polars.col("start_ns")) / 1e3
)
waits.sort("us", descending=True).head()

# %%
assert report.ejected is None and len(means) == 2 and len(waits) > 0
