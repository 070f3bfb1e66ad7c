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
# # A sweep
#
# Many machines, schedulers and settings, as many runs of each as it takes. The rows are a Parquet data set; the same call goes on where
# an earlier one ended. With `engine="ray"` the same grid runs on a cluster, with the same bytes as result.

# %%
import tempfile

import duckdb
import tandem

grid = tandem.Grid(
    workloads=["forkjoin", "pipeline"],
    machines=["hikey960", "rk3399"],
    schedulers=["fair", "tandem"],
    parameters={"hz": [250, 1000]},
    runs=16,
    least_runs=4,
    until={"energy": 0.02},
    batch=32,
    duration="200ms",
)
grid

# %%
folder = tempfile.mkdtemp()
swept = tandem.sweep(grid, out=folder)
swept

# %% [markdown]
# Cells stopped once the interval of their energy was within 2 %.

# %%
rows = duckdb.sql(f"from '{folder}/part-*.parquet'")
duckdb.sql(
    "select machine, workload, scheduler, hz, count(*) as runs, round(avg(energy_j), 3) as energy_j from rows group by all order by all"
)

# %% [markdown]
# Nothing is run twice, also where the grid has grown.

# %%
again = tandem.sweep(grid, out=folder)
assert again.found == again.runs == swept.runs
counts = duckdb.sql("select count(*) as runs from rows group by machine, workload, scheduler, hz").fetchall()
assert len(counts) == grid.cells == 16 and all(4 <= count <= 16 for (count,) in counts)
