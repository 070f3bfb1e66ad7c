// SPDX-License-Identifier: GPL-2.0-only
//! Results for people: [`text`] on a terminal, [`documents`] in files, of which [`markdown`] is one and
//! [`page`] has the others.

mod cells;
pub mod documents;
mod markdown;
pub mod numbers;
mod page;
pub mod sensitivity;
pub mod text;
