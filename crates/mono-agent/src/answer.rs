//! How the program answers: text for people, one JSON object for programs, and the exit code.

use crate::args::Place;
use host_app::OpenError;
use host_app::operator::ClientError;
use host_app::operator::protocol::UNKNOWN_CHANNEL;
use host_config::Finding;
use host_http::ConnectError;
use host_vocab::{Code, Diagnostic, Kind};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

/// Why a verb could not do its work.
#[derive(Debug)]
pub struct Failure {
    /// What is wrong, most important first; never empty.
    pub diagnostics: Vec<Diagnostic>,
    code: u8,
}

impl Failure {
    /// One reason. Misuse ends with 2, everything else with 1.
    pub fn of(diagnostic: Diagnostic) -> Self {
        let code = if diagnostic.kind == Kind::Usage { 2 } else { 1 };
        Failure { diagnostics: vec![diagnostic], code }
    }

    /// Several reasons, at least one; misuse where the first is.
    pub fn of_all(diagnostics: Vec<Diagnostic>) -> Self {
        let code = if diagnostics.first().is_some_and(|it| it.kind == Kind::Usage) { 2 } else { 1 };
        Failure { diagnostics, code }
    }

    /// The command was called wrongly.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::of(Diagnostic::new(Kind::Usage, Code::new("usage"), message))
    }

    /// The same with ways out for its first reason.
    pub fn hints<'a>(mut self, hints: impl Iterator<Item = &'a str>) -> Self {
        if let Some(first) = self.diagnostics.first_mut() {
            first.hints.extend(hints.map(str::to_owned));
        }
        self
    }

    /// The machine said no.
    pub fn system(error: impl std::fmt::Display) -> Self {
        Self::of(Diagnostic::new(Kind::Environment, Code::new("system"), error.to_string()))
    }

    /// Several reasons at once; never none.
    pub fn all(diagnostics: Vec<Diagnostic>) -> Self {
        Failure { diagnostics, code: 1 }
    }

    /// The findings that keep an agent from starting; `misuse` where the command named what isn't there.
    pub fn of_findings(findings: &[Finding], misuse: bool) -> Self {
        let fatal = findings.iter().filter(|it| it.fatal).map(|it| it.diagnostic.clone()).collect();
        Failure { diagnostics: fatal, code: if misuse { 2 } else { 1 } }
    }

    /// What another process of this program told on its standard output with `--json`: a line of [`Failure::tell`].
    /// `None` where the line is no failure.
    pub fn told(line: &str, code: Option<i32>) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        let diagnostics: Vec<Diagnostic> = value["all"].as_array()?.iter().filter_map(diagnostic).collect();
        let code = if code == Some(2) { 2 } else { 1 };
        (!diagnostics.is_empty()).then_some(Failure { diagnostics, code })
    }

    /// Tells it and gives the exit code.
    pub fn tell(&self, json: bool) -> ExitCode {
        if json {
            let first = self.diagnostics.first();
            let error = json!({
                "ok": false,
                "error": {
                    "kind": first.map(|it| it.kind),
                    "code": first.map(|it| it.code.clone()),
                    "message": first.map(|it| it.message.clone()),
                    "place": first.and_then(|it| it.place.clone()),
                    "hints": first.map(|it| it.hints.clone()),
                },
                "all": self.diagnostics,
            });
            print_line(&error.to_string());
        }
        for diagnostic in &self.diagnostics {
            // Standard error may be a log on a full disk; that must not end the program in another way.
            let _ = writeln!(std::io::stderr(), "error: {diagnostic}");
        }
        ExitCode::from(self.code)
    }
}

fn diagnostic(value: &Value) -> Option<Diagnostic> {
    let kind = match value["kind"].as_str()? {
        "usage" => Kind::Usage,
        "config" => Kind::Config,
        "environment" => Kind::Environment,
        "external" => Kind::External,
        _ => Kind::Bug,
    };
    let code = serde_json::from_value(value["code"].clone()).ok()?;
    let mut made =
        Diagnostic { kind, code, message: value["message"].as_str()?.to_owned(), place: None, hints: vec![] };
    let number = |value: &Value| value.as_u64().and_then(|it| u32::try_from(it).ok());
    if let Some(place) = value.get("place").filter(|it| it.is_object()) {
        made.place = Some(host_vocab::Place {
            file: place["file"].as_str().unwrap_or_default().to_owned(),
            line: number(&place["line"]),
            column: number(&place["column"]),
            path: place["path"].as_str().map(str::to_owned),
        });
    }
    made.hints
        .extend(value["hints"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned));
    Some(made)
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let misuse = error.0.iter().any(|it| it.kind == Kind::Usage);
        Failure { diagnostics: error.0, code: if misuse { 2 } else { 1 } }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        if matches!(&error, ClientError::Refused { code, .. } if code == UNKNOWN_CHANNEL) {
            return Self::usage(error.to_string());
        }
        let code = match &error {
            ClientError::Connect(ConnectError::NotRunning) => "not_running",
            ClientError::Connect(_) => "socket",
            ClientError::Refused { .. } => "refused",
            _ => "connection",
        };
        Self::of(Diagnostic::new(Kind::Environment, Code::new(code), error.to_string()))
    }
}

/// Prints one line on standard output.
pub fn print_line(line: &str) {
    write_out(&format!("{line}\n"));
}

/// Writes to standard output. A closed pipe ends the program quietly, as it should; anything else that can't
/// be written is a failure that a script must see.
pub fn write_out(text: &str) {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            eprintln!("error: the answer could not be written: {error}");
            std::process::exit(1);
        }
    }
}

/// Prints an answer: one JSON object, or text made only where it is wanted.
pub fn print<T: Serialize>(place: &Place, value: &T, text: impl FnOnce() -> String) {
    if place.json {
        print_line(&serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned()));
    } else {
        let text = text();
        print_line(text.trim_end_matches('\n'));
    }
}

/// Whether standard error may have colour.
pub fn colour() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}
