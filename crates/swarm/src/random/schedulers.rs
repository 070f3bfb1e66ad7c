// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random schedulers: Linux's own, and objects with random settings, some with damaged instructions.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::BoxedStrategy;
use tandem_simulator::simulation::{Profile, SchedExt, Scheduler};

use super::mutation::{Mutation, any_mutation, mutated};
use crate::objects::{Object, Objects, Values};

/// A scheduler and how it is set up.
#[derive(Debug, Clone)]
pub enum SchedulerPlan {
    /// Linux's own.
    Fair,
    /// An object.
    Loaded {
        /// The number of the object among the [`Objects`].
        object: usize,
        /// Variables to set.
        settings: Vec<(String, String)>,
        /// The kernel whose interface it has, if not the one that it was compiled for.
        profile: Option<&'static str>,
        /// Damage to its instructions.
        mutations: Vec<Mutation>,
    },
}

/// Any scheduler of these objects.
pub fn any_scheduler_plan(objects: &Objects) -> BoxedStrategy<SchedulerPlan> {
    // The little scheduler and Tandem have more to set than others.
    let weight = |object: &Object| if matches!(object.name, "little" | "tandem") { 5 } else { 1 };
    if objects.0.is_empty() {
        return Just(SchedulerPlan::Fair).boxed();
    }
    let each = objects.0.iter().enumerate().map(|(number, object)| (weight(object), loaded(number, object).boxed()));
    let loaded = proptest::strategy::Union::new_weighted(each.collect());
    prop_oneof![2 => Just(SchedulerPlan::Fair), 5 => loaded].boxed()
}

fn loaded(object: usize, of: &Object) -> impl Strategy<Value = SchedulerPlan> + use<> {
    let chosen: Vec<BoxedStrategy<(String, String)>> = of
        .settings
        .iter()
        .map(|variable| {
            let name = variable.name.clone();
            value(&variable.values).prop_map(move |value| (name.clone(), value)).boxed()
        })
        .collect();
    let count = chosen.len();
    // The little scheduler is nothing without settings; others mostly have a few.
    let share = if of.name == "little" { 0.6 } else { (4.0 / count.max(4) as f64).min(0.5) };
    let settings: Vec<_> = chosen.into_iter().map(|each| prop::option::weighted(share, each)).collect();
    let settings = settings.prop_map(|settings| settings.into_iter().flatten().collect());
    let profile =
        prop_oneof![6 => Just(None), 1 => Just(Some("6.12")), 1 => Just(Some("6.18")), 2 => Just(Some("7.1"))];
    let mutations = prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(any_mutation(), 1..4)];
    (settings, profile, mutations).prop_map(move |(settings, profile, mutations)| SchedulerPlan::Loaded {
        object,
        settings,
        profile,
        mutations,
    })
}

/// A value of a setting, the ends of its range more often than others.
fn value(values: &Values) -> BoxedStrategy<String> {
    match values {
        Values::Named(names) => prop::sample::select(names.clone()).boxed(),
        Values::Range(least, most) => {
            let (least, most) = (*least, *most);
            let low = least.saturating_add(20).min(most);
            prop_oneof![2 => least..=low, 1 => Just(most), 3 => least..=most]
                .prop_map(|value| value.to_string())
                .boxed()
        }
    }
}

impl SchedulerPlan {
    /// The scheduler, or why it cannot be used.
    ///
    /// # Errors
    /// Damage, or settings that do not go together.
    pub fn build(&self, objects: &Objects) -> Result<Scheduler, String> {
        let Self::Loaded { object, settings, profile, mutations } = self else { return Ok(Scheduler::Fair) };
        let Object { name, bytes, sidecar, .. } = &objects.0[*object];
        let bytes = mutated(bytes, mutations);
        let open = || SchedExt::embedded(name, &bytes, sidecar, "")?.with_settings(settings.clone());
        let mut scheduler = open().map_err(|error| error.to_string())?;
        scheduler.profile = profile.and_then(|name| name.parse::<Profile>().ok());
        Ok(Scheduler::SchedExt(Arc::new(scheduler)))
    }

    /// The scheduler as a user would name it.
    pub fn words(&self, objects: &Objects) -> String {
        let Self::Loaded { object, settings, profile, mutations } = self else { return "fair".to_owned() };
        let settings = settings.iter().map(|(name, value)| format!(",{name}={value}"));
        let profile = profile.map_or_else(String::new, |name| format!(" on the interface of {name}"));
        let damage = mutations.iter().map(|mutation| format!(", {mutation:?}"));
        format!("{}{}{profile}{}", objects.0[*object].name, settings.collect::<String>(), damage.collect::<String>())
    }

    /// The scheduler's kind, for the summary.
    pub fn kind(&self, objects: &Objects) -> String {
        match self {
            Self::Fair => "fair".to_owned(),
            Self::Loaded { object, mutations, .. } if mutations.is_empty() => objects.0[*object].name.to_owned(),
            Self::Loaded { .. } => "damaged".to_owned(),
        }
    }
}
