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
# # A machine of one's own
#
# Machines are TOML files; docs/machines.md has every key. A description that is there is the best start.

# %%
import polars
import tandem

hikey = tandem.machine("hikey960")
print(hikey.text[:600])

# %% [markdown]
# `with_` gives the same machine with other values. What would memory of half the bandwidth do?

# %%
half = hikey.with_({"memory.dram.gb_per_s": 3.0, "memory.dram.thread_gb_per_s": 3.0}, name="half-memory")
comparison = tandem.compare("mixed-memory", [hikey, half], "fair", runs=3, alone=False)
times = polars.DataFrame(comparison).filter(polars.col("metric") == "time_s").select("machine", "mean", "half_width")
times

# %% [markdown]
# A mistake says where it is, and what was expected.

# %%
try:
    tandem.Machine.parse(hikey.text.replace("gb_per_s", "gb_per_z", 1), "mine")
except tandem.InputError as error:
    mistake = error
    print(error)

# %%
assert mistake.file == "mine.toml" and mistake.line > 1 and mistake.column >= 1
assert times["mean"][1] > times["mean"][0], "less bandwidth, more time"
