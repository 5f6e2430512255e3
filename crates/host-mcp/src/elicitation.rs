//! What a server asks in the middle of a call: a form or a visit for a person, the agent's model, the roots (MCP-14).
//!
//! A question belongs to the call that the server is busy with. Where calls of more than one run are in flight
//! on a connection, nobody can tell whose it is, and it is declined.

use crate::sampling;
use host_ports::CancellationToken;
use host_ports::elicit::{Elicit, ElicitAnswer, ElicitRequest, Wanted};
use host_ports::sample::{Sample, SampleParent};
use host_surface::{CallContext, InputSchema};
use host_vocab::{ServerName, Untrusted, text};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::Instant;
use url::Url;

/// The most questions of one round.
const REQUESTS_MAX: usize = 16;
/// The most of a question's words, in bytes.
const MESSAGE_BYTES_MAX: usize = 4096;
/// The largest form, in bytes of its schema.
const FORM_BYTES_MAX: usize = 32 * 1024;
/// The longest address.
const URL_BYTES_MAX: usize = 2048;

/// Who answers a server during one call.
#[derive(Clone)]
pub(crate) struct Asker {
    port: Option<Arc<dyn Elicit>>,
    server: ServerName,
    roots: Arc<[PathBuf]>,
    context: CallContext,
    /// Who writes what the server wants of the agent's model; none = sampling is off.
    model: Option<Arc<dyn Sample>>,
    /// The questions: while a person thinks, the server's time stands still.
    questions: Arc<Mutex<Questions>>,
}

impl Asker {
    pub(crate) fn new(
        port: Option<Arc<dyn Elicit>>,
        server: ServerName,
        roots: Arc<[PathBuf]>,
        context: CallContext,
    ) -> Self {
        Asker { port, server, roots, context, model: None, questions: Arc::default() }
    }

    /// The same for a server that may have the agent's model write something.
    pub(crate) fn with_model(mut self, model: Option<Arc<dyn Sample>>) -> Self {
        self.model = model;
        self
    }

    /// Whether two calls belong to the same run.
    pub(crate) fn same_run(&self, other: &Asker) -> bool {
        self.context.run == other.context.run
    }

    /// Since when the server's time counts again, if a person was asked: now while one still thinks.
    pub(crate) fn waited_until(&self) -> Option<Instant> {
        let questions = self.questions.lock().unwrap_or_else(PoisonError::into_inner);
        if questions.open > 0 { Some(Instant::now()) } else { questions.answered_at }
    }

    /// Fires when the call is over.
    pub(crate) fn cancel(&self) -> &CancellationToken {
        &self.context.cancel
    }

    /// Answers an `elicitation/create` with the result of the protocol. What is no proper question is declined.
    pub(crate) async fn elicit(&self, params: &Value) -> Value {
        let (Some(port), Some((message, wanted))) = (&self.port, question(params)) else {
            return outcome("decline", None);
        };
        let form = match &wanted {
            Wanted::Form(schema) => Some(schema.clone()),
            Wanted::Visit(_) => None,
        };
        let request = ElicitRequest {
            conversation: self.context.conversation.clone(),
            run: self.context.run.clone(),
            call: self.context.call.clone(),
            server: self.server.clone(),
            message: Untrusted::new(message),
            wanted: Untrusted::new(wanted),
        };
        let _open = Open::new(&self.questions);
        let answer = tokio::select! {
            answer = port.elicit(request) => answer,
            () = self.context.cancel.cancelled() => ElicitAnswer::Cancelled,
        };
        match (answer, form) {
            (ElicitAnswer::Declined, _) => outcome("decline", None),
            (ElicitAnswer::Cancelled, _) => outcome("cancel", None),
            (ElicitAnswer::Accepted(_), None) => outcome("accept", None),
            (ElicitAnswer::Accepted(content), Some(schema)) => match filled(&schema, content) {
                Some(content) => outcome("accept", Some(content)),
                None => {
                    tracing::warn!(server = %self.server, "an answer did not fit the server's form");
                    outcome("cancel", None)
                }
            },
        }
    }

    /// Answers a `sampling/createMessage` with the result of the protocol.
    ///
    /// # Errors
    /// Why not, in words for the server.
    pub(crate) async fn sample(&self, params: &Value) -> Result<Value, String> {
        let model = self.model.as_ref().ok_or("using the agent's model is off for this server")?;
        let CallContext { conversation, run, call, cancel, .. } = &self.context;
        let (conversation, run, call) = (conversation.clone(), run.clone(), call.clone());
        let parent =
            SampleParent { conversation, run, call, server: self.server.clone(), cancel: cancel.clone() };
        let request = sampling::request(params)?;
        {
            let mut questions = self.questions.lock().unwrap_or_else(PoisonError::into_inner);
            if questions.sampled >= sampling::SAMPLES_MAX {
                return Err(format!("a call may use the agent's model {} times", sampling::SAMPLES_MAX));
            }
            questions.sampled += 1;
        }
        let _open = Open::new(&self.questions);
        tokio::select! {
            answer = model.sample(request, parent) => answer.map(|it| sampling::result(&it)),
            () = cancel.cancelled() => Err("the call was cancelled".to_owned()),
        }
    }

    /// Answers the requests of one `input_required` round, by their keys.
    ///
    /// # Errors
    /// What of it nobody can answer.
    pub(crate) async fn round(&self, requests: &Map<String, Value>) -> Result<Map<String, Value>, String> {
        if requests.len() > REQUESTS_MAX {
            return Err(format!("it wants {} things at once, more than {REQUESTS_MAX}", requests.len()));
        }
        let mut answers = Map::new();
        for (key, request) in requests {
            let params = request.get("params").unwrap_or(&Value::Null);
            let answer = match request.get("method").and_then(Value::as_str) {
                Some("elicitation/create") if self.port.is_none() => {
                    return Err("it wants something of a person, and nobody can be asked here".to_owned());
                }
                Some("elicitation/create") => self.elicit(params).await,
                Some("roots/list") => roots_result(&self.roots),
                Some("sampling/createMessage") if self.model.is_none() => {
                    return Err(
                        "it wants to use the agent's model, which is off (tools.mcpSampling)".to_owned()
                    );
                }
                Some("sampling/createMessage") => {
                    let answer = self.sample(params).await;
                    answer.map_err(|why| format!("it wanted to use the agent's model: {why}"))?
                }
                other => {
                    let shown = text::one_line(other.unwrap_or("something without a name"), 60);
                    return Err(format!("it wants {shown}, which this host does not know"));
                }
            };
            answers.insert(key.clone(), answer);
        }
        Ok(answers)
    }
}

/// The questions of one call to its person.
#[derive(Debug, Default)]
struct Questions {
    open: usize,
    /// How often the agent's model was used.
    sampled: u32,
    /// When the last one was answered or withdrawn.
    answered_at: Option<Instant>,
}

/// Counts an open question for as long as it lives.
struct Open<'a>(&'a Mutex<Questions>);

impl<'a> Open<'a> {
    fn new(questions: &'a Mutex<Questions>) -> Self {
        questions.lock().unwrap_or_else(PoisonError::into_inner).open += 1;
        Open(questions)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let mut questions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        questions.open -= 1;
        questions.answered_at = Some(Instant::now());
    }
}

fn outcome(action: &str, content: Option<Value>) -> Value {
    let mut out = json!({"action": action});
    if let (Some(content), Some(map)) = (content, out.as_object_mut()) {
        map.insert("content".to_owned(), content);
    }
    out
}

/// The answer to `roots/list`.
pub(crate) fn roots_result(roots: &[PathBuf]) -> Value {
    let uris = roots.iter().filter_map(|path| Url::from_directory_path(path).ok());
    let roots: Vec<Value> = uris.map(|uri| json!({"uri": uri.as_str().trim_end_matches('/')})).collect();
    json!({"roots": roots})
}

/// A question within its bounds.
fn question(params: &Value) -> Option<(String, Wanted)> {
    let said = params.get("message").and_then(Value::as_str).unwrap_or_default();
    let message = text::printable(text::prefix(said, MESSAGE_BYTES_MAX));
    if params.get("mode").and_then(Value::as_str) == Some("url") {
        let address = params.get("url").and_then(Value::as_str).filter(|url| url.len() <= URL_BYTES_MAX)?;
        let url = Url::parse(address).ok()?;
        let plain =
            matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none();
        return plain.then_some((message, Wanted::Visit(url)));
    }
    let schema = params.get("requestedSchema").filter(|schema| schema.is_object())?;
    let fits =
        schema.to_string().len() <= FORM_BYTES_MAX && InputSchema::new(schema.clone()).usable().is_ok();
    fits.then(|| (message, Wanted::Form(schema.clone())))
}

/// A form with the defaults of what was left out, where it then fits the schema (SEP-1034).
fn filled(schema: &Value, content: Value) -> Option<Value> {
    let mut content = match content {
        Value::Object(map) => map,
        Value::Null => Map::new(),
        _ => return None,
    };
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if let (false, Some(default)) = (content.contains_key(name), property.get("default")) {
            content.insert(name.clone(), default.clone());
        }
    }
    let content = Value::Object(content);
    InputSchema::new(schema.clone()).check(&content).is_ok().then_some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    // MCP-14
    #[test]
    fn a_question_is_bounded_and_an_address_is_plain() {
        let form = json!({"message": "m\u{1b}[2J", "requestedSchema": {"type": "object", "properties": {}}});
        assert!(!question(&form).unwrap().0.contains('\u{1b}'));
        assert!(question(&json!({"message": "no schema"})).is_none());
        let huge = "x".repeat(FORM_BYTES_MAX);
        let huge = json!({"requestedSchema": {"type": "object", "title": huge}});
        assert!(question(&huge).is_none());
        let visit = |url: &str| question(&json!({"mode": "url", "message": "go", "url": url})).is_some();
        assert!(visit("https://example.com/x") && visit("http://127.0.0.1/x"));
        for bad in ["javascript:alert(1)", "file:///etc/passwd", "https://user:pw@example.com", "", "x"] {
            assert!(!visit(bad), "{bad}");
        }
        assert!(!visit(&format!("https://example.com/{}", "a".repeat(URL_BYTES_MAX))));
    }

    // MCP-14
    #[test]
    fn defaults_fill_what_is_left_out_and_the_rest_must_fit() {
        let schema = json!({"type": "object", "required": ["n"], "properties": {
            "n": {"type": "integer", "default": 42}, "s": {"type": "string"}, "b": {"type": "boolean", "default": true}}});
        assert_eq!(filled(&schema, json!({})).unwrap(), json!({"n": 42, "b": true}));
        assert_eq!(filled(&schema, json!({"n": 1, "b": false})).unwrap(), json!({"n": 1, "b": false}));
        assert_eq!(filled(&schema, json!({"n": "one"})), None);
        assert_eq!(filled(&schema, json!([1])), None);
    }
}
