// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole sessions, from their first look at the machine to the machine given back. The machine is a folder ([`world`]), the
//! kernel, its threads and the command are fakes ([`fakes`]), and a test writes down what happens and when ([`script`]): no
//! rights are needed, no time passes, and every number can be checked by hand.

mod affinity;
mod around;
mod ending;
mod energy;
mod fakes;
mod first_moments;
mod flood;
mod left_behind;
mod limits;
mod reload;
mod script;
mod socket;
mod stay;
mod steered;
mod world;

use script::{Script, Step};
use world::{GOVERNORS, World};
