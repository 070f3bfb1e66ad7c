// SPDX-License-Identifier: MIT OR Apache-2.0
//! Identifiers and units that every room of the simulator shares.

use std::fmt;

/// Simulated time or a span of it, in integer nanoseconds.
pub type Nanos = u64;

/// Nanoseconds in a microsecond, the unit of rt-app files.
pub const USEC: Nanos = 1_000;
/// Nanoseconds in a millisecond.
pub const MSEC: Nanos = 1_000_000;
/// Nanoseconds in a second.
pub const SEC: Nanos = 1_000_000_000;

/// The kernel's fixed-point 1.0 for capacity and utilisation (`SCHED_CAPACITY_SCALE`).
pub const CAPACITY_SCALE: u64 = 1024;

/// Seconds in `nanos`, for reports and energy; exact below 2^53 ns (104 days).
pub fn seconds(nanos: Nanos) -> f64 {
    nanos as f64 / SEC as f64
}

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The identifier as an index into the table it belongs to.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The identifier of entry `index` of its table.
            #[inline]
            pub fn at(index: usize) -> Self {
                Self(index as u32)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

identifier!(
    /// A logical CPU, numbered as the kernel of that machine numbers it.
    CpuId
);
identifier!(
    /// A core, which SMT siblings share.
    CoreId
);
identifier!(
    /// A kind of core.
    CoreTypeId
);
identifier!(
    /// Cores that share static power and, often, a clock and a cache.
    ClusterId
);
identifier!(
    /// A physical package (socket).
    PackageId
);
identifier!(
    /// A shared cache.
    CacheId
);
identifier!(
    /// CPUs that share a path to memory and its bandwidth.
    MemoryDomainId
);
identifier!(
    /// CPUs that share a clock.
    PerformanceDomainId
);
identifier!(
    /// A simulated thread.
    TaskId
);
identifier!(
    /// A cgroup, numbered from the root (0) in the order of their creation.
    CgroupId
);

impl TaskId {
    /// The number of a thread (`pid` in the kernel, `tid` in user space) in traces and for programs. 0 is the idle
    /// thread's number, and 1 is init's, which no run has.
    #[inline]
    pub fn pid(self) -> u32 {
        self.0 + 2
    }
}
