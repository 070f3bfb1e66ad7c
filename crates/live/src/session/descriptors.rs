// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which descriptors of this process a program would have that it becomes: none but the standard streams may be.
//!
//! All that Tandem opens is closed where it becomes another program (`O_CLOEXEC`). This is the last line of defence, for what
//! a library opens otherwise, and for what Tandem itself was started with.

use std::fs;
use std::io;
use std::os::fd::RawFd;

use nix::fcntl::OFlag;
use nix::unistd::close;

/// Standard input, output and error are below.
const FIRST: RawFd = 3;

/// The descriptors beside the standard streams that stay open where this process becomes another program.
///
/// # Errors
/// `/proc` is not there.
pub(crate) fn reaching_commands() -> io::Result<Vec<RawFd>> {
    let mut reaching = Vec::new();
    for entry in fs::read_dir("/proc/self/fdinfo")? {
        let number = entry?.file_name().to_string_lossy().parse().ok().filter(|number| *number >= FIRST);
        // Another thread of this process may have closed it since.
        let Some((number, Ok(text))) =
            number.map(|number: RawFd| (number, fs::read_to_string(format!("/proc/self/fdinfo/{number}"))))
        else {
            continue;
        };
        if !closes_itself(&text) {
            reaching.push(number);
        }
    }
    Ok(reaching)
}

/// Closes them. Nothing of this process that is still in use is among them: Rust opens everything with `O_CLOEXEC`.
///
/// # Errors
/// As for [`reaching_commands`].
pub(super) fn close_reaching_commands() -> io::Result<()> {
    for number in reaching_commands()? {
        let _ = close(number);
    }
    Ok(())
}

/// Whether a `/proc/PID/fdinfo/FD` has the flag `O_CLOEXEC`; false if it does not say.
fn closes_itself(text: &str) -> bool {
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok()).unwrap_or(0);
    flags & OFlag::O_CLOEXEC.bits() != 0
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsRawFd;

    use nix::fcntl::{FcntlArg, FdFlag, fcntl};

    use super::*;

    #[test]
    fn a_descriptor_reaches_commands_unless_it_closes_itself() {
        let file = File::open("/dev/null").unwrap();
        assert!(!reaching_commands().unwrap().contains(&file.as_raw_fd()));
        fcntl(&file, FcntlArg::F_SETFD(FdFlag::empty())).unwrap();
        assert!(reaching_commands().unwrap().contains(&file.as_raw_fd()));
        assert!(reaching_commands().unwrap().iter().all(|number| *number > 2));
    }

    /// 02000000 is `O_CLOEXEC` where most machines are.
    #[test]
    fn a_file_that_does_not_say_is_taken_to_stay_open() {
        let flags = OFlag::O_CLOEXEC.bits() | 2;
        assert!(closes_itself(&format!("pos:\t0\nflags:\t0{flags:o}\nmnt_id:\t15\n")));
        assert!(!closes_itself("pos:\t0\nflags:\t0100002\n"));
        assert!(!closes_itself(""));
    }
}
