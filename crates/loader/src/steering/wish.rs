// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a person wants of the machine: speed, energy, or something between, as said to Tandem, to a daemon, to the firmware, or by
//! the preference that was found.

use std::fmt;

use super::knobs::Preference;

/// What a scheduler is after besides time (`mode`), in the order of the object's enumeration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Nothing: the machine's knobs stay as they are.
    #[default]
    None,
    /// What the person wishes, as far as that can be found out.
    Auto,
    /// Speed.
    Performance,
    /// Energy where that costs no time.
    Balanced,
    /// Energy, at the price of some time.
    Powersave,
}

impl Mode {
    /// The modes as they are written, in order.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("none", Self::None),
        ("auto", Self::Auto),
        ("performance", Self::Performance),
        ("balanced", Self::Balanced),
        ("powersave", Self::Powersave),
    ];

    /// The mode of a number; one that is unknown is none.
    pub fn of_number(number: u64) -> Self {
        usize::try_from(number).ok().and_then(|at| Self::NAMES.get(at)).map_or(Self::None, |(_, mode)| *mode)
    }

    /// The mode of a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, mode)| *mode)
    }

    /// What is wished in this mode; `None`: that is to be found out, or nothing is.
    pub fn wish(self) -> Option<Wish> {
        match self {
            Self::None | Self::Auto => None,
            Self::Performance => Some(Wish::Performance),
            Self::Balanced => Some(Wish::Balanced),
            Self::Powersave => Some(Wish::Powersave),
        }
    }
}

/// What `auto` comes to, in the order of the numbers that an object knows (`wish`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    /// Speed, whatever it draws.
    Performance,
    /// Less energy where nothing gets slower.
    #[default]
    Balanced,
    /// Less energy, and a little slower.
    Powersave,
}

impl Wish {
    /// The number that an object knows.
    pub fn number(self) -> u32 {
        match self {
            Self::Performance => 0,
            Self::Balanced => 1,
            Self::Powersave => 2,
        }
    }

    /// What a profile of power-profiles-daemon or tuned-ppd (`ActiveProfile`) or of the firmware (`platform_profile`) wishes. `None`
    /// for a name that says nothing of it, as `custom`.
    pub fn of_profile(name: &str) -> Option<Self> {
        match name {
            "performance" | "max-power" => Some(Self::Performance),
            "balanced" | "balanced-performance" => Some(Self::Balanced),
            "power-saver" | "low-power" | "quiet" | "cool" => Some(Self::Powersave),
            _ => None,
        }
    }

    /// What a preference that somebody else has set wishes. What the firmware or the driver begins with says nothing: `balanced`.
    pub fn of_preference(preference: Preference) -> Self {
        match preference.number() {
            // 64 is between `performance` and `balance_performance`, 160 between that and `balance_power`.
            Some(..64) => Self::Performance,
            Some(64..160) | None => Self::Balanced,
            Some(160..) => Self::Powersave,
        }
    }
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Performance => "performance",
            Self::Balanced => "balanced",
            Self::Powersave => "powersave",
        })
    }
}

/// Who said what is wished.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Source {
    /// The mode that Tandem was given.
    Mode,
    /// power-profiles-daemon, or what answers in its place.
    Daemon,
    /// The firmware's profile.
    Platform,
    /// The preference that was found, or that somebody has set since.
    Preference,
    /// Nobody.
    #[default]
    Nobody,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mode => "the mode",
            Self::Daemon => "the power profile",
            Self::Platform => "the platform profile",
            Self::Preference => "energy_performance_preference",
            Self::Nobody => "nobody",
        })
    }
}

/// What others have said, as texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// `ActiveProfile` of a daemon that holds power profiles.
    pub daemon: Option<String>,
    /// The firmware's `platform_profile`.
    pub platform: Option<String>,
}

/// What is wished, and who said so. The mode first; then the daemon, which people turn by hand; then the firmware's profile;
/// then the preferences that others have set: what most of them wish, the more sparing of two.
pub fn resolve(mode: Mode, said: &Said, preferences: &[Preference]) -> (Wish, Source) {
    let of = |name: &Option<String>| name.as_deref().and_then(Wish::of_profile);
    let named =
        [(mode.wish(), Source::Mode), (of(&said.daemon), Source::Daemon), (of(&said.platform), Source::Platform)];
    if let Some((wish, source)) = named.into_iter().find_map(|(wish, source)| Some((wish?, source))) {
        return (wish, source);
    }
    let wishes = preferences.iter().filter(|preference| **preference != Preference::Default);
    let mut counts = [0_usize; 3];
    wishes.for_each(|preference| counts[Wish::of_preference(*preference).number() as usize] += 1);
    let all = [Wish::Performance, Wish::Balanced, Wish::Powersave];
    match all.into_iter().max_by_key(|wish| counts[wish.number() as usize]) {
        Some(wish) if counts != [0; 3] => (wish, Source::Preference),
        _ => (Wish::Balanced, Source::Nobody),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(daemon: Option<&str>, platform: Option<&str>) -> Said {
        Said { daemon: daemon.map(str::to_owned), platform: platform.map(str::to_owned) }
    }

    #[test]
    fn a_person_is_believed_before_a_daemon_the_firmware_and_the_preference() {
        let preferences = [Preference::Power];
        let all = said(Some("performance"), Some("low-power"));
        assert_eq!(resolve(Mode::Balanced, &all, &preferences), (Wish::Balanced, Source::Mode));
        assert_eq!(resolve(Mode::Auto, &all, &preferences), (Wish::Performance, Source::Daemon));
        assert_eq!(resolve(Mode::Auto, &said(None, Some("quiet")), &[]), (Wish::Powersave, Source::Platform));
        assert_eq!(
            resolve(Mode::Auto, &said(None, Some("custom")), &preferences),
            (Wish::Powersave, Source::Preference)
        );
        assert_eq!(resolve(Mode::Auto, &Said::default(), &[Preference::Default]), (Wish::Balanced, Source::Nobody));
    }

    #[test]
    fn of_preferences_the_one_of_most_clocks_counts_and_of_two_the_more_sparing_one() {
        let of = |preferences: &[Preference]| resolve(Mode::Auto, &Said::default(), preferences).0;
        assert_eq!(of(&[Preference::Performance, Preference::Number(200), Preference::Performance]), Wish::Performance);
        assert_eq!(of(&[Preference::Performance, Preference::BalancePower]), Wish::Powersave);
        assert_eq!(of(&[Preference::Number(84)]), Wish::Balanced);
    }

    #[test]
    fn modes_and_wishes_have_the_numbers_of_the_object() {
        let numbered: Vec<Mode> = (0..6).map(Mode::of_number).collect();
        let modes = [Mode::None, Mode::Auto, Mode::Performance, Mode::Balanced, Mode::Powersave, Mode::None];
        assert_eq!(numbered, modes);
        assert_eq!([Wish::Performance, Wish::Balanced, Wish::Powersave].map(Wish::number), [0, 1, 2]);
        assert_eq!(Mode::of_name("powersave"), Some(Mode::Powersave));
    }
}
