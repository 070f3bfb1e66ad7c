// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be asked over the control socket: one line each, words with a space between them.

/// The largest relative length: the largest number that a double, and so every language, has exactly.
pub const MAX_LENGTH: u64 = 1 << 53;

/// What somebody asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// `hint TID LENGTH`: a thread is so long, relative to other threads of its program.
    Hint {
        /// The thread.
        thread: u32,
        /// 1 to [`MAX_LENGTH`].
        length: u64,
    },
    /// `hint-next TID LENGTH`: the next thread that a thread creates is so long.
    HintNext {
        /// The thread that will create it.
        thread: u32,
        /// 1 to [`MAX_LENGTH`].
        length: u64,
    },
    /// `application PID`: a process, and what descends from it, is an application.
    Application {
        /// The process.
        process: u32,
    },
    /// `status`: what runs, as one line of JSON.
    Status,
}

/// Why a line is no request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The line begins with no word that is known.
    #[error("expected `hint THREAD LENGTH`, `hint-next THREAD LENGTH`, `application PROCESS` or `status`")]
    Unknown,
    /// The line is too long, or no text.
    #[error("a request is one line of at most {} printable characters", super::MAX_LINE)]
    Line,
    /// No thread or process has such a number.
    #[error("`{0}` is no number of a thread or a process")]
    Id(String),
    /// No length.
    #[error("`{0}` is no relative length: expected a whole number from 1 to 2^53")]
    Length(String),
}

impl Request {
    /// Reads a line, without its end.
    ///
    /// # Errors
    /// [`RequestError`], to be told to whoever asked.
    pub fn parse(line: &str) -> Result<Self, RequestError> {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["hint", thread, length] => Ok(Self::Hint { thread: id(thread)?, length: relative_length(length)? }),
            ["hint-next", thread, length] => {
                Ok(Self::HintNext { thread: id(thread)?, length: relative_length(length)? })
            }
            ["application", process] => Ok(Self::Application { process: id(process)? }),
            ["status"] => Ok(Self::Status),
            _ => Err(RequestError::Unknown),
        }
    }
}

/// The number of a process: a positive one of 31 bits.
fn id(word: &str) -> Result<u32, RequestError> {
    let known =
        number(word).and_then(|id| u32::try_from(id).ok()).filter(|id| (1..=i32::MAX.unsigned_abs()).contains(id));
    known.ok_or_else(|| RequestError::Id(word.to_owned()))
}

/// A length that a program can mean.
fn relative_length(word: &str) -> Result<u64, RequestError> {
    let known = number(word).filter(|length| (1..=MAX_LENGTH).contains(length));
    known.ok_or_else(|| RequestError::Length(word.to_owned()))
}

/// Digits only: `parse` alone takes a sign, too.
fn number(word: &str) -> Option<u64> {
    word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_is_one_line_of_words() {
        assert_eq!(Request::parse("hint 12 700"), Ok(Request::Hint { thread: 12, length: 700 }));
        assert_eq!(Request::parse("hint-next 12 700"), Ok(Request::HintNext { thread: 12, length: 700 }));
        assert_eq!(Request::parse("application 1"), Ok(Request::Application { process: 1 }));
        assert_eq!(Request::parse("status"), Ok(Request::Status));
    }

    #[test]
    fn lengths_that_no_program_means_are_refused() {
        for length in
            ["0", "9007199254740993", "9223372036854775808", "18446744073709551616", "-1", "+1", "1.5", "x", ""]
        {
            for word in ["hint", "hint-next"] {
                let refused = Request::parse(&format!("{word} 12 {length}"));
                assert_eq!(refused, Err(RequestError::Length(length.to_owned())));
            }
        }
        assert!(Request::parse("hint 12 9007199254740992").is_ok());
    }

    #[test]
    fn numbers_that_no_thread_has_are_refused() {
        for id in ["0", "-5", "2147483648", "4294967297", "self"] {
            assert_eq!(Request::parse(&format!("hint {id} 1")), Err(RequestError::Id(id.to_owned())));
        }
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for line in
            ["", "hint", "hint 1", "hint 1 2 3", "HINT 1 2", "hint-next 1", " status", "status ", "hint  1 2", "stop"]
        {
            assert_eq!(Request::parse(line), Err(RequestError::Unknown), "{line:?}");
        }
    }
}
