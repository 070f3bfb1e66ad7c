// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the page's requests do.

use hyper::{Method, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::catalogue::{self, Carried, Catalogue};
use crate::check::Text;
use crate::jobs::Jobs;
use crate::page::{self, POLICY, REPORT_POLICY};
use crate::request::{PAGE, REPORT, Request};

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

/// What an answer has beside its length.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub kind: &'static str,
    pub body: Vec<u8>,
    /// What the browser may do with it.
    pub policy: &'static str,
    /// The name of the file that the browser saves it as.
    pub saved_as: Option<String>,
    /// Whether the connection ends with it.
    pub is_last: bool,
}

impl Answer {
    /// Nothing but a status.
    pub fn empty(status: StatusCode) -> Self {
        Self::new(status, TEXT, Vec::new())
    }

    fn new(status: StatusCode, kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { status, kind, body: body.into(), policy: POLICY, saved_as: None, is_last: false }
    }

    /// The same, and the connection ends with it.
    pub fn last(self) -> Self {
        Self { is_last: true, ..self }
    }

    fn json(status: StatusCode, value: &impl Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => Self::new(status, JSON, body),
            Err(error) => Self::new(StatusCode::INTERNAL_SERVER_ERROR, TEXT, error.to_string()),
        }
    }

    fn wrong(status: StatusCode, why: &dyn std::fmt::Display) -> Self {
        Self::json(status, &json!({ "error": why.to_string() }))
    }
}

/// What the page works with.
pub struct Api {
    pub carried: Carried,
    pub jobs: Jobs,
}

impl Api {
    /// The answer to a request that was let in; `path` is what stands behind the token.
    pub fn answer(&self, method: &Method, path: &str, body: &[u8]) -> Answer {
        let parts: Vec<&str> = path.split('/').collect();
        if *method == Method::POST {
            return match parts[..] {
                ["check"] => read(body, |text: Text| Answer::json(StatusCode::OK, &text.check())),
                ["jobs"] => read(body, |request: Request| self.add(&request)),
                ["jobs", id, "cancel"] => self.cancel(id),
                _ => Answer::empty(StatusCode::NOT_FOUND),
            };
        }
        match parts[..] {
            ["catalogue"] => Answer::json(StatusCode::OK, &Catalogue::new(&self.carried)),
            ["text", what, name] => match catalogue::text(what, name) {
                Some(text) => Answer::new(StatusCode::OK, TEXT, text),
                None => Answer::empty(StatusCode::NOT_FOUND),
            },
            ["jobs"] => Answer::json(StatusCode::OK, &self.jobs.all()),
            ["jobs", id] => match number(id).and_then(|id| self.jobs.one(id)) {
                Some(job) => Answer::json(StatusCode::OK, &job),
                None => Answer::empty(StatusCode::NOT_FOUND),
            },
            ["jobs", id, name] => self.file(id, name, false),
            ["jobs", id, name, "save"] => self.file(id, name, true),
            _ => match page::file(path) {
                Some(file) => Answer::new(StatusCode::OK, file.kind, file.content),
                None => Answer::empty(StatusCode::NOT_FOUND),
            },
        }
    }

    fn add(&self, request: &Request) -> Answer {
        let task = match request.task() {
            Ok(task) => task,
            Err(error) => return Answer::wrong(StatusCode::BAD_REQUEST, &error),
        };
        match self.jobs.add(task) {
            Ok(id) => Answer::json(StatusCode::CREATED, &json!({ "id": id })),
            Err(error) => Answer::wrong(StatusCode::TOO_MANY_REQUESTS, &error),
        }
    }

    fn cancel(&self, id: &str) -> Answer {
        match number(id).map(|id| self.jobs.cancel(id)) {
            Some(cancelled) => Answer::json(StatusCode::OK, &json!({ "cancelled": cancelled })),
            None => Answer::empty(StatusCode::NOT_FOUND),
        }
    }

    fn file(&self, id: &str, name: &str, save: bool) -> Answer {
        let Some((id, body)) = number(id).and_then(|id| Some((id, self.jobs.file(id, name)?))) else {
            return Answer::empty(StatusCode::NOT_FOUND);
        };
        let (kind, policy, ending) = match name {
            PAGE => (HTML, REPORT_POLICY, "html"),
            REPORT => (JSON, POLICY, "json"),
            _ => return Answer::empty(StatusCode::NOT_FOUND),
        };
        let saved_as = save.then(|| format!("tandem-{}.{ending}", id + 1));
        Answer { policy, saved_as, ..Answer::new(StatusCode::OK, kind, body) }
    }
}

/// Only digits: no sign, no space.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

fn read<T: DeserializeOwned>(body: &[u8], act: impl FnOnce(T) -> Answer) -> Answer {
    match serde_json::from_slice(body) {
        Ok(value) => act(value),
        Err(error) => Answer::wrong(StatusCode::BAD_REQUEST, &error),
    }
}
