// SPDX-License-Identifier: GPL-2.0-only
//! Results for people: [`text`] on a terminal, [`documents`] in files, of which [`markdown`] is one.

pub mod documents;
mod markdown;
pub mod numbers;
pub mod sensitivity;
pub mod text;
