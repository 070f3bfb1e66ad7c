// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a loader program does before it loads a scheduler, and after it has gone.
