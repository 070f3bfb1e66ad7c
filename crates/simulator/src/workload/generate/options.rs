// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of a generator, declared once: type, default, range and text. The command line and the guide read the
//! declaration.

use thiserror::Error;

/// An option as the command line and the guide show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionInfo {
    /// The option's name without the dashes: `memory-bound`.
    pub name: &'static str,
    /// The option's meaning, with its unit.
    pub help: String,
    /// The option's value as it is written on the command line; in a struct of defaults, the default.
    pub value: String,
    /// The values that are valid.
    pub valid: String,
    /// What stands for a value in a usage text: `TIME`.
    pub value_name: &'static str,
    /// Whether the option is given without a value.
    pub flag: bool,
    /// Whether the option is a list, whose entries may be given one by one.
    pub list: bool,
}

/// Why options do not make a workload.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OptionError {
    /// A value cannot be read, or lies outside of the range.
    #[error("--{option} {value}: expected {valid}")]
    Value {
        /// The option's name.
        option: &'static str,
        /// The value that was given.
        value: String,
        /// The values that are valid.
        valid: String,
    },
    /// There is no such option.
    #[error("no option --{option}; {valid}")]
    Unknown {
        /// The name that was given.
        option: String,
        /// The nearest name, and all names.
        valid: String,
    },
    /// The options do not go together.
    #[error("--{option}: {reason}")]
    Conflict {
        /// The option to change.
        option: &'static str,
        /// What does not fit, and what would fit.
        reason: String,
    },
}

impl OptionError {
    /// The error of an `option` that does not fit the others.
    pub(super) fn conflict(option: &'static str, reason: impl Into<String>) -> Self {
        Self::Conflict { option, reason: reason.into() }
    }
}

/// The options of a generator; `options!` implements this trait from a declaration.
pub trait Options {
    /// The generator's name on the command line.
    fn command(&self) -> &'static str;

    /// What the generator makes: paragraphs, of which the first sentence is a summary.
    fn about(&self) -> String;

    /// Where the workload is described.
    fn source(&self) -> &'static str;

    /// The options with their present values.
    fn options(&self) -> Vec<OptionInfo>;

    /// Sets `option` to the value that `text` says.
    ///
    /// # Errors
    /// There is no such option, or the value is not valid.
    fn set(&mut self, option: &str, text: &str) -> Result<(), OptionError>;

    /// Checks every option's range, for programs that filled in the struct themselves.
    ///
    /// # Errors
    /// The first value that is not valid.
    fn check(&self) -> Result<(), OptionError>;
}

/// Joins the lines of a doc comment: paragraphs stay.
pub(super) fn paragraphs(lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines.iter().map(|line| line.trim()) {
        match line {
            "" => text += "\n\n",
            _ if text.is_empty() || text.ends_with('\n') => text += line,
            _ => text = text + " " + line,
        }
    }
    text
}

/// Declares a generator's options:
///
/// ```text
/// options! {
///     /// What it generates.
///     "name" => Struct from "the source" {
///         /// What the option means.
///         "memory-bound" memory_bound: f64 = 0.5, 0.0..=1.0;
///     }
/// }
/// ```
macro_rules! options {
    (
        $(#[doc = $about:literal])+
        $command:literal => $name:ident from $source:literal {
            $($(#[doc = $help:literal])+ $option:literal $field:ident: $type:ty = $default:expr, $limits:expr;)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $($(#[doc = $help])+ pub $field: $type,)+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }

        impl $crate::workload::generate::options::Options for $name {
            fn command(&self) -> &'static str {
                $command
            }

            fn about(&self) -> String {
                $crate::workload::generate::options::paragraphs(&[$($about),+])
            }

            fn source(&self) -> &'static str {
                $source
            }

            fn options(&self) -> Vec<$crate::workload::generate::options::OptionInfo> {
                use $crate::workload::generate::value::Value;
                vec![$($crate::workload::generate::options::OptionInfo {
                    name: $option,
                    help: $crate::workload::generate::options::paragraphs(&[$($help),+]),
                    value: self.$field.show(),
                    valid: <$type as Value>::valid(&$limits),
                    value_name: <$type as Value>::NAME,
                    flag: <$type as Value>::FLAG,
                    list: <$type as Value>::LIST,
                },)+]
            }

            fn set(
                &mut self,
                option: &str,
                text: &str,
            ) -> Result<(), $crate::workload::generate::options::OptionError> {
                match option {
                    $($option => {
                        self.$field = $crate::workload::generate::value::read($option, text, &$limits)?;
                        Ok(())
                    })+
                    _ => Err($crate::workload::generate::options::OptionError::Unknown {
                        option: option.to_owned(),
                        valid: $crate::input::valid_names(option, &[$($option),+]),
                    }),
                }
            }

            fn check(&self) -> Result<(), $crate::workload::generate::options::OptionError> {
                $($crate::workload::generate::value::check($option, &self.$field, &$limits)?;)+
                Ok(())
            }
        }
    };
}
pub(super) use options;

/// Declares an enum that is given by name.
macro_rules! names {
    ($(#[doc = $about:literal])+ $name:ident { $($(#[doc = $help:literal])+ $variant:ident = $text:literal,)+ }) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[doc = $help])+ $variant,)+
        }

        impl $crate::workload::generate::value::Value for $name {
            type Limits = ();

            fn read(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(Self::$variant),)+
                    _ => None,
                }
            }

            fn within(&self, _limits: &()) -> bool {
                true
            }

            fn valid(_limits: &()) -> String {
                $crate::workload::generate::value::one_of(&[$($text),+])
            }

            fn show(&self) -> String {
                match self {
                    $(Self::$variant => $text.to_owned(),)+
                }
            }
        }
    };
}
pub(super) use names;
