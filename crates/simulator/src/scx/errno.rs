// SPDX-License-Identifier: MIT OR Apache-2.0
//! Error numbers that kernel functions and callbacks return, as the kernel has them.

/// `EPERM`: not from there.
pub const EPERM: i64 = 1;
/// `ENOENT`: there is none.
pub const ENOENT: i64 = 2;
/// `ENOMEM`: the programs' memory is exhausted.
pub const ENOMEM: i64 = 12;
/// `EFAULT`: an address without memory.
pub const EFAULT: i64 = 14;
/// `EBUSY`: no CPU is idle.
pub const EBUSY: i64 = 16;
/// `EEXIST`: there is one already.
pub const EEXIST: i64 = 17;
/// `EINVAL`: a value that makes no sense.
pub const EINVAL: i64 = 22;
/// `EPROTO`: a callback returned what is no error number.
pub const EPROTO: i64 = 71;
/// `EOPNOTSUPP`: not as the scheduler was loaded.
pub const EOPNOTSUPP: i64 = 95;
