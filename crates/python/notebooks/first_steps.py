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
# # First steps
#
# What does a workload cost on a machine, and which governor is better there? `pip install tandem-sched polars matplotlib` is all
# that this notebook needs.

# %%
import polars
import tandem

report = tandem.simulate("hikey960", "forkjoin", scheduler="fair+schedutil", seed=0)
report

# %% [markdown]
# Times are in seconds, energies in joules: the unit is in the name.

# %%
report.time_s, report.energy_j.total, report.power_w

# %% [markdown]
# Applications, threads and CPUs are tables. Polars, pandas, DuckDB and matplotlib take them without copying.

# %%
polars.DataFrame(report.cpus)

# %% [markdown]
# ## More than chance?
#
# Each governor runs with ten seeds. `half_width` is half of the 95 % confidence interval; `ratio` is to the first one.

# %%
comparison = tandem.compare("forkjoin", "hikey960", ["fair+performance", "fair+schedutil", "fair+powersave"])
table = polars.DataFrame(comparison).filter(polars.col("metric").is_in(["time_s", "energy_j"]))
table.select("governor", "metric", "mean", "half_width", "ratio", "ratio_half_width")

# %% [markdown]
# ## What happened
#
# With `trace=True` a run says who ran where and when, how clocks and power changed, and what threads waited for.

# %%
trace = tandem.simulate("hikey960", "pipeline", duration="100ms", trace=True).trace
waits = polars.DataFrame(trace.waits).with_columns(ms=(polars.col("end_ns") - polars.col("start_ns")) / 1e6)
waits.group_by("on").agg(polars.len(), polars.col("ms").sum()).sort("ms", descending=True).head()

# %%
import matplotlib.pyplot as plt

clocks = polars.DataFrame(trace.clocks)
for cpu in (0, 4):
    of_cpu = clocks.filter(polars.col("cpu") == cpu)
    plt.step(of_cpu["at_ns"] / 1e6, of_cpu["khz"] / 1e6, where="post", label=f"CPU {cpu}")
plt.xlabel("ms")
plt.ylabel("GHz")
plt.legend();

# %%
assert table.filter(polars.col("metric") == "time_s")["ratio"].max() > 2, "powersave takes more than twice as long"
assert len(clocks) > 0 and len(waits) > 0
