// SPDX-License-Identifier: GPL-2.0-only
//! Tests that simulate for many seconds, or feed thousands of damaged inputs. `make check` leaves out what is in a module called
//! `long`; `make test` runs everything.

mod ci;
pub mod combinations;
mod documents;
mod effects;
mod experiment;
mod fuzzing;
mod readme;
mod tune;
