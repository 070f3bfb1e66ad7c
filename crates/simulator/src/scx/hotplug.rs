// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs that come and go (`handle_hotplug`).

/// CPUs that come and go.
#[derive(Debug, Default)]
pub struct Hotplug {}
