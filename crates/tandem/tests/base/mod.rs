// SPDX-License-Identifier: GPL-2.0-only
//! What the base promises (`bpf/base`): numbers worked out by hand, in the simulator.

mod clocks;
mod confined;
mod energy;
mod feed;
mod fluid;
mod groups;
mod homes;
mod hotplug;
mod idle_class;
mod kernels;
mod limits;
mod lines;
mod many;
mod mechanisms;
mod mixes;
mod patience;
mod pinned;
mod pressure;
mod run;
mod sorted;
mod staying;
mod steering;
mod turns;
mod wakeups;
mod weights;
