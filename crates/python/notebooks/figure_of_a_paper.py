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
# # A figure of a paper
#
# How much more energy does a program take where its threads fight for a critical section, if half of the cores, or all, are
# slowed down? Figure 7 of the paper in `papers/asymmetry` shows it for sections that are entered once in a million instructions (f10)
# up to once in a thousand (f10000). `tandem reproduce asymmetry` has every number of the paper beside ours; this is one figure by hand.

# %%
import polars
import tandem

FREQUENCIES = ["f10", "f100", "f1000", "f10000"]
CLOCKS = ["all-fast", "half-half", "all-slow"]
energy = {}
for frequency in FREQUENCIES:
    workload = tandem.generate("global-sum", section=75, frequency=frequency, mips=250, total="400ms")
    for clocks in CLOCKS:
        report = tandem.simulate(
            f"opteron-8350:{clocks}",
            workload,
            scheduler="fair+performance",
            quiet=True,
            capacity_aware=False,
            base_slice_us=100000,
            load_balance=False,
        )
        energy[clocks, frequency] = report.energy_j.total

# %% [markdown]
# Each number is relative to all cores being fast.

# %%
rows = [
    {"clocks": clocks, "frequency": frequency, "increase_percent": 100 * (energy[clocks, frequency] / energy["all-fast", frequency] - 1)}
    for clocks in CLOCKS[1:]
    for frequency in FREQUENCIES
]
table = polars.DataFrame(rows)
table.pivot("frequency", index="clocks", values="increase_percent")

# %%
import matplotlib.pyplot as plt

for place, clocks in enumerate(CLOCKS[1:]):
    of_clocks = table.filter(polars.col("clocks") == clocks)
    plt.bar([x + 0.4 * place for x in range(4)], of_clocks["increase_percent"], width=0.4, label=clocks)
plt.xticks([x + 0.2 for x in range(4)], FREQUENCIES)
plt.ylabel("energy increase, %")
plt.legend();

# %% [markdown]
# The paper says that frequent entries narrow the gap between f10 and f10000.

# %%
half = table.filter(polars.col("clocks") == "half-half")["increase_percent"]
assert half[0] >= half[3], half
