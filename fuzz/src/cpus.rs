// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sets of CPUs from any text: as lists and as masks.

use tandem_loader::cpus::CpuList;

/// Reads bytes as a list, and as a mask.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let read = [CpuList::parse(text), CpuList::from_mask(text)];
    for cpus in read.into_iter().flatten() {
        assert_eq!(CpuList::parse(&cpus.to_string()).as_ref(), Some(&cpus));
        assert_eq!(CpuList::from_mask(&cpus.mask()).as_ref(), Some(&cpus));
        assert_eq!(cpus.iter().count(), cpus.len());
        assert!(cpus.iter().all(|cpu| cpu < 8192 && cpus.contains(cpu)));
    }
}
