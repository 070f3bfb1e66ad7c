// SPDX-License-Identifier: MIT OR Apache-2.0
//! `frames`: a pipeline that makes a picture for each refresh of a screen.

use super::document::{Document, Object};
use super::options::options;
use super::value::Usec;
use super::{Generator, OptionError, value};

options! {
    /// A graphics pipeline that makes a frame for each refresh of a screen. At a refresh the input thread reads what happened, the
    /// ui thread lays the frame out, the render thread draws it, and the compose thread puts it together.
    ///
    /// A frame is a round of the compose thread: its response is from the refresh at which the frame began to the end of its
    /// composition, all stages included, and the frame is late where that is behind the next refresh. A late frame delays those
    /// behind it, but none is dropped. Responses of the other threads are those of their stages.
    ///
    /// Work of the stages is assumed, of the order of a mid-range phone's; it varies log-normally from frame to frame, drawn by the
    /// simulation's seed. What a GPU does is left out.
    "frames" => Frames from "no paper: stages as in Android's graphics pipeline (source.android.com, Graphics)" {
        /// Refreshes per second: 60, 90, 120 or others.
        "rate" rate: u32 = 60, 1..=1000;
        /// Work of the input thread.
        "input" input: Usec = Usec(300), Usec(1)..=Usec::s(1);
        /// Mean work of the ui thread.
        "ui" ui: Usec = Usec::ms(3), Usec(1)..=Usec::s(1);
        /// Mean work of the render thread.
        "render" render: Usec = Usec::ms(5), Usec(1)..=Usec::s(1);
        /// Mean work of the compose thread.
        "compose" compose: Usec = Usec(1500), Usec(1)..=Usec::s(1);
        /// Sigma of the logarithm of the work of ui, render and compose; 0: all frames are equal.
        "spread" spread: f64 = 0.3, 0.0..=3.0;
        /// Threads that compute beside the pipeline.
        "background" background: u32 = 0, 0..=8192;
        /// Run time, in whole seconds.
        "duration" duration: Usec = Usec::s(10), Usec::s(1)..=Usec::s(100_000);
    }
}

impl Generator for Frames {
    fn document(&self) -> Result<Document, OptionError> {
        let seconds = value::steps("duration", self.duration, Usec::s(1))?;
        let mut document = Document::new(format!(
            "A frame for each of {} refreshes a second; response of compose: from the refresh to the composed frame.",
            self.rate
        ));
        let work = self.input.0 + self.ui.0 + self.render.0 + self.compose.0;
        document.note(format!("Work of a frame: {work} us in the mean, of {} us.", self.period()));
        document.duration = Some(seconds as u32);
        let input = Object::new().with("tandem", pipeline()).with("timer", self.timer()).with("run", self.input.0);
        document.task("input", input.with("sem_post", "ui"));
        document.task("ui", self.stage("ui", self.ui, "render"));
        document.task("render", self.stage("render", self.render, "composition"));
        document.task("compose", self.composition());
        if self.background > 0 {
            let tandem = Object::new().with("application", "background");
            let task = Object::new().with("instance", self.background).with("tandem", tandem);
            document.task("background", task.with("run", 100_000u32));
        }
        Ok(document)
    }
}

/// What the threads of the pipeline have in common.
fn pipeline() -> Object {
    Object::new().with("application", "pipeline")
}

impl Frames {
    /// Microseconds from refresh to refresh.
    fn period(&self) -> u64 {
        1_000_000 / u64::from(self.rate)
    }

    fn timer(&self) -> Object {
        Object::new().with("ref", "unique").with("period", self.period()).with("mode", "absolute")
    }

    /// How work varies from frame to frame.
    fn varied(&self, tandem: Object) -> Object {
        tandem.with_some("run_spread", (self.spread > 0.0).then(|| Object::new().with("log_normal", self.spread)))
    }

    /// A thread that waits for `own`, works, and hands the frame on to `next`.
    fn stage(&self, own: &str, work: Usec, next: &str) -> Object {
        let task = Object::new().with("tandem", self.varied(pipeline()));
        task.with("sem_wait", own).with("run", work.0).with("sem_post", next)
    }

    /// The thread whose rounds are the frames: each begins with the refresh and waits for what the others make of it.
    fn composition(&self) -> Object {
        let same_round = self.varied(Object::new().with("same_round", true));
        let frame =
            Object::new().with("sem_wait", "composition").with("run", self.compose.0).with("tandem", same_round);
        let phases = Object::new().with("refresh", Object::new().with("timer", self.timer())).with("frame", frame);
        Object::new().with("tandem", pipeline().with("frame", true)).with("phases", phases)
    }
}
