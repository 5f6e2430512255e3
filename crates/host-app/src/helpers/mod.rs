//! Helpers: child runs that a run starts by `Agent` (TOO-6), and collaborators that it asks.
//!
//! An agent has one [`HelperOffice`], made from its settings. Each turn's surface gets a [`TurnSource`], whose tools
//! lend that surface, or a part of it, to what they start.

mod lists;
mod turn;

pub use self::collaborator::AgentResponder;
pub(crate) use self::turn::TurnSource;

mod collaborator;

use crate::load::read;
use crate::parts::models::{Maker, effort};
use crate::parts::prompt::Texts;
use host_config::{AgentSpec, ModelRef};
use host_policy::{KnownNames, ToolPolicyError};
use host_ports::model::{Effort, Model};
use host_run::Engine;
use host_tools::HelperMenu;
use host_vocab::{Code, Diagnostic, Kind, Place};
use lists::Lists;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// What a helper is told of itself, where nobody gave it instructions.
const HELPER_IDENTITY: &str = "You are a helper. Another agent gave you one task; it sees nothing but your last \
                               message. Do the task with the tools that you have, then answer once, completely and \
                               briefly, with what you found and where. Nobody can answer questions.";

/// One kind of helper.
struct Helper {
    name: Option<String>,
    description: String,
    instructions: String,
    lists: Lists,
    model: Option<Arc<dyn Model>>,
    effort: Option<Effort>,
    turns_max: u32,
    timeout: Duration,
}

/// The helpers that an agent can start.
pub(crate) struct HelperOffice {
    named: Vec<Helper>,
    /// One that the model describes; none = it may not.
    inline: Option<Helper>,
    /// Other models that a helper may have, by reference.
    models: Vec<(String, Option<Arc<dyn Model>>)>,
    per_turn_max: u32,
    slots: Arc<Semaphore>,
    engine: Option<Engine>,
    texts: Texts,
}

impl HelperOffice {
    /// Of an agent's settings; none where helpers are off. `maker` makes their models; without one there is no
    /// model in this process, and the tool says so.
    ///
    /// # Errors
    /// Everything that is wrong with `subagents`.
    pub(crate) fn of(
        spec: &AgentSpec,
        known: &KnownNames,
        maker: Option<&Maker<'_>>,
        engine: Option<&Engine>,
        texts: &Texts,
    ) -> Result<Option<Arc<Self>>, Vec<Diagnostic>> {
        let settings = &spec.subagents;
        if !settings.enabled {
            return Ok(None);
        }
        let mut faults = Vec::new();
        let at =
            |row: usize, key: &str| spec.settings.place("subagents.definitions", &format!("[{row}]{key}"));
        let of_inline = spec.settings.place("subagents.inline.allowedTools", "");
        let mut model = |reference: &ModelRef, setting: &str| {
            let made = maker?.model(reference, setting);
            made.map_err(|fault| faults.push(fault)).ok()
        };
        let models =
            settings.models.iter().map(|it| (it.to_string(), model(it, "subagents.models"))).collect();
        let models_named: Vec<_> = settings
            .definitions
            .iter()
            .enumerate()
            .map(|(n, it)| {
                it.model.as_ref().and_then(|it| model(it, &format!("subagents.definitions[{n}].model")))
            })
            .collect();
        let plain = Helper {
            name: None,
            description: String::new(),
            instructions: HELPER_IDENTITY.to_owned(),
            lists: Lists::of(None, None, "subagents", known).map_err(|error| of_lists(&error, &of_inline))?,
            model: None,
            effort: None,
            turns_max: settings.max_turns,
            timeout: Duration::from_millis(settings.timeout_ms),
        };
        let mut named: Vec<Helper> = Vec::new();
        for (n, (it, model)) in settings.definitions.iter().zip(models_named).enumerate() {
            let setting = format!("subagents.definitions[{n}]");
            if settings.definitions[..n].iter().any(|other| other.name.eq_ignore_ascii_case(&it.name)) {
                faults.push(wrong(format!("two helpers are named {}", it.name), at(n, ".name")));
            }
            let lists =
                Lists::of(it.allowed_tools.as_deref(), it.disallowed_tools.as_deref(), &setting, known);
            let instructions = instructions(it.prompt.as_deref(), it.prompt_path.as_deref(), &setting);
            let instructions = instructions.map_err(|fault| faults.push(fault)).ok();
            let lists = lists.map_err(|error| faults.extend(of_lists(&error, &at(n, "")))).ok();
            let (Some(lists), Some(instructions)) = (lists, instructions) else { continue };
            named.push(Helper {
                name: Some(it.name.clone()),
                description: it.description.clone(),
                instructions,
                lists,
                model,
                effort: it.effort.map(effort),
                turns_max: it.max_turns.unwrap_or(plain.turns_max),
                timeout: it.timeout_ms.map_or(plain.timeout, Duration::from_millis),
            });
        }
        let inline = settings.inline.enabled.then(|| {
            let allowed = settings.inline.allowed_tools.as_deref();
            let lists = Lists::of(allowed, None, "subagents.inline", known);
            let lists = lists.map_err(|error| faults.extend(of_lists(&error, &of_inline))).ok();
            Helper { lists: lists.unwrap_or_else(|| plain.lists.clone()), ..plain }
        });
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Some(Arc::new(HelperOffice {
            named,
            inline,
            models,
            per_turn_max: settings.max_per_turn,
            slots: Arc::new(Semaphore::new(settings.max_concurrent as usize)),
            engine: engine.cloned(),
            texts: texts.clone(),
        })))
    }

    /// What the tool says of itself.
    fn menu(&self) -> HelperMenu {
        let named = self.named.iter().filter_map(|it| Some((it.name.clone()?, it.description.clone())));
        HelperMenu {
            named: named.collect(),
            inline: self.inline.is_some(),
            models: self.models.iter().map(|(reference, _)| reference.clone()).collect(),
            read_only: self.named.iter().chain(&self.inline).all(|it| it.lists.read_only()),
            per_turn_max: self.per_turn_max,
        }
    }
}

fn wrong(message: String, place: Place) -> Diagnostic {
    Diagnostic::new(Kind::Config, Code::new("config_subagents"), message).at(place)
}

/// The faults of a list, at the list's place in the file.
fn of_lists(error: &ToolPolicyError, place: &Place) -> Vec<Diagnostic> {
    if error.problems.is_empty() {
        return vec![wrong(format!("{} ({})", error.message, error.names.join(", ")), place.clone())];
    }
    let fault = |it: &host_policy::PolicyFinding| {
        let found = wrong(format!("{}: {}", it.place, it.message), place.clone());
        match &it.hint {
            Some(hint) => found.hint(hint.clone()),
            None => found,
        }
    };
    error.problems.iter().map(fault).collect()
}

/// A helper's instructions: its text, or its file's.
fn instructions(prompt: Option<&str>, file: Option<&Path>, setting: &str) -> Result<String, Diagnostic> {
    let Some(path) = file else { return Ok(prompt.unwrap_or(HELPER_IDENTITY).to_owned()) };
    let place = Place {
        file: path.display().to_string(),
        path: Some(format!("{setting}.promptPath")),
        ..Place::default()
    };
    let bytes = read(path).map_err(|error| {
        wrong(format!("the file can't be read: {}", error.kind()), place.clone())
            .hint("make the file, or change promptPath")
    })?;
    String::from_utf8(bytes).map_err(|_| wrong("the file is not UTF-8 text".to_owned(), place))
}
