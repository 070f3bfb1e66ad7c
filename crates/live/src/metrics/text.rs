// SPDX-License-Identifier: MIT OR Apache-2.0
//! OpenMetrics text of a snapshot.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use super::Snapshot;
use crate::meter::{Energy, Method};

/// Labels of a sample.
type Labels = Vec<(&'static str, String)>;

impl Snapshot {
    /// The snapshot as OpenMetrics 1.0 text.
    pub fn text(&self) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self.clone()));
        let mut text = String::new();
        // Only the writer could fail, and this one cannot.
        let _ = encode(&mut text, &registry);
        text
    }

    fn infos(&self) -> Labels {
        let scheduler = self.scheduler.clone().unwrap_or_default();
        vec![("backend", self.backend.clone()), ("scheduler", scheduler)]
    }

    /// By mechanism and state.
    fn state_samples(&self) -> impl Iterator<Item = (Labels, u64)> {
        self.states.iter().map(|(name, state)| {
            let mechanism = name.strip_suffix("_state").unwrap_or(name);
            (vec![("mechanism", mechanism.to_owned()), ("state", state.clone())], 1)
        })
    }

    /// By mechanism and event.
    fn event_samples(&self) -> impl Iterator<Item = (Labels, u64)> {
        self.counters.iter().map(|(name, count)| {
            let (mechanism, event) = name.split_once('_').unwrap_or((name, name));
            (vec![("mechanism", mechanism.to_owned()), ("event", event.to_owned())], *count)
        })
    }

    fn energy_samples(&self) -> impl Iterator<Item = (Labels, f64)> {
        self.measured.energy.iter().map(|energy| (labels_of(energy), energy.joules))
    }

    fn total_samples(&self) -> impl Iterator<Item = (Labels, f64)> {
        self.measured.total().into_iter().map(|total| (vec![("covers", total.covers)], total.joules))
    }

    fn missing_samples(&self) -> impl Iterator<Item = (Labels, u64)> {
        let missing = self.measured.missing.iter();
        missing.map(|missing| (vec![("source", missing.source.clone()), ("why", missing.why.word().to_owned())], 1))
    }
}

fn labels_of(energy: &Energy) -> Labels {
    let method = match energy.method {
        Method::Counted => "counted",
        Method::Sampled { .. } => "sampled",
    };
    vec![
        ("source", energy.source.clone()),
        ("part", energy.domain.part.word().to_owned()),
        ("package", energy.domain.package.to_string()),
        ("die", energy.domain.die.to_string()),
        ("method", method.to_owned()),
    ]
}

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let info = Info::new(self.infos());
        info.encode(encoder.encode_descriptor("tandem", "What acts", None, info.metric_type())?)?;
        let mut family = Families { encoder, unit: None };
        family.gauges("mechanism_state", "The state that a mechanism is in", self.state_samples())?;
        family.counters("events", "What mechanisms did", self.event_samples())?;
        family.gauges("meter_missing", "A meter without a number", self.missing_samples())?;
        family.gauges("applications", "Applications that are known", [(Vec::new(), self.applications as u64)])?;
        let hinted = [(Vec::new(), self.hinted_threads as u64)];
        family.gauges("hinted_threads", "Threads of which somebody said how long they are", hinted)?;
        family.unit = Some(Unit::Seconds);
        family.gauges("running", "How long this has counted", [(Vec::new(), self.measured.time.as_secs_f64())])?;
        family.unit = Some(Unit::Joules);
        family.counters("energy", "What a meter counted", self.energy_samples())?;
        family.counters("machine_energy", "As much of the machine as can be summed", self.total_samples())
    }
}

/// Writes metrics with all of their samples.
struct Families<'a> {
    encoder: DescriptorEncoder<'a>,
    /// Of those that come.
    unit: Option<Unit>,
}

impl Families<'_> {
    fn gauges<N: EncodeGaugeValue>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Labels, N)>,
    ) -> Result<(), fmt::Error> {
        self.write(name, help, samples.into_iter().map(|(labels, value)| (labels, ConstGauge::new(value))))
    }

    fn counters<N: EncodeCounterValue>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Labels, N)>,
    ) -> Result<(), fmt::Error> {
        self.write(name, help, samples.into_iter().map(|(labels, value)| (labels, ConstCounter::new(value))))
    }

    /// Without samples it writes nothing.
    fn write<M: EncodeMetric>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl Iterator<Item = (Labels, M)>,
    ) -> Result<(), fmt::Error> {
        let mut samples = samples.peekable();
        let Some((_, first)) = samples.peek() else { return Ok(()) };
        let (name, unit) = (format!("tandem_{name}"), self.unit.clone());
        let mut metric = self.encoder.encode_descriptor(&name, help, unit.as_ref(), first.metric_type())?;
        for (labels, value) in samples {
            value.encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
