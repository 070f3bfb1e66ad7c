// SPDX-License-Identifier: MIT OR Apache-2.0
//! Short names of enumerators: without the words that all names of an enumeration begin with. `TANDEM_ISOLATE_OFF` is
//! `off` beside `TANDEM_ISOLATE_SHARED`.

use crate::btf::{Enum, EnumValue};

/// The names of these enumerators in lower case, without the words that all of them begin with.
pub fn short_names<'v>(values: impl IntoIterator<Item = &'v EnumValue>) -> Vec<String> {
    let names: Vec<&str> = values.into_iter().map(|value| value.name.as_str()).collect();
    let prefix = common_words(&names);
    names.iter().map(|name| name[prefix..].to_ascii_lowercase()).collect()
}

/// Length in bytes of the words that all names begin with, the `_` behind them included. Something is left of each
/// name.
fn common_words(names: &[&str]) -> usize {
    let [first, others @ ..] = names else { return 0 };
    if others.is_empty() {
        return 0;
    }
    let shared = |end: usize| names.iter().all(|name| name.len() > end && name.starts_with(&first[..end]));
    let ends = first.match_indices('_').map(|(at, _)| at + 1);
    ends.take_while(|end| shared(*end)).last().unwrap_or(0)
}

/// The enumerator that a text names, short or in full, in upper or lower case.
pub(super) fn value_named<'e>(values: &'e Enum, text: &str) -> Option<&'e EnumValue> {
    let exact = values.values.iter().find(|value| value.name == *text);
    exact.or_else(|| {
        let short = short_names(&values.values);
        let named = |(value, short): &(&EnumValue, String)| {
            value.name.as_str().eq_ignore_ascii_case(text) || short.eq_ignore_ascii_case(text)
        };
        values.values.iter().zip(short).find(named).map(|(value, _)| value)
    })
}
