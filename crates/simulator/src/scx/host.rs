// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the instance asks of the kernel.
