//! What a config may ask for that this version reads and doesn't run. A row goes when its part is built.

use crate::settings::Origin;
use crate::spec::AgentSpec;
use host_vocab::Place;
use serde::Serialize;

/// One part that was asked for and is not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotBuilt {
    /// The setting that asks for it.
    pub path: &'static str,
    /// What is not run, in words that follow `read, not run:`.
    pub what: &'static str,
    /// Where it was asked for.
    pub place: Place,
}

/// When a part counts as asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// Somebody set anything in the section.
    Set,
    /// The setting is on.
    On,
    /// Somebody switched it on; its default doesn't count.
    SwitchedOn,
    /// Somebody filled the list or map.
    Filled,
}

const UNBUILT: &[(&str, Asked, &str)] = &[
    (
        "artifacts.memoryRetention",
        Asked::Set,
        "a retention of its own for the memory's runs; the log's holds for them",
    ),
    ("memory.operatorActions.enabled", Asked::On, "changing memories over the operator's endpoint"),
    ("memory.supermemory.exposeMcpServer", Asked::On, "Supermemory's own MCP server"),
    ("continuations.enabled", Asked::Set, "continuations"),
    ("tools.continuationServers", Asked::Filled, "continuations of MCP servers"),
    ("processJobs.enabled", Asked::On, "background commands"),
    ("subagents.commandTimeoutMs", Asked::Set, "a time of its own for the commands of helpers"),
    ("subagents.instances.enabled", Asked::On, "helpers that stay between turns"),
    ("webhook.enabled", Asked::On, "the webhook channel"),
    ("cron.enabled", Asked::On, "the cron channel"),
    ("openaiApi.enabled", Asked::On, "the OpenAI-compatible API"),
    ("tui.enabled", Asked::SwitchedOn, "the operator's endpoint"),
    ("telegram.enabled", Asked::On, "the Telegram channel"),
    ("slack.enabled", Asked::On, "the Slack channel"),
    ("channels.plugins", Asked::Filled, "channels from plugins"),
    ("observability.exporters", Asked::Filled, "trace exporters"),
    ("tools.web.search.codex", Asked::Set, "search by a subscription"),
    ("tools.web.search.ollama", Asked::Set, "search by Ollama"),
    ("tools.web.search.parallel", Asked::Set, "search by Parallel"),
    ("tools.web.fetch.parallel", Asked::Set, "fetching by Parallel"),
    ("tools.web.fetch.browserCommand", Asked::Set, "a browser for `WebFetch`"),
    ("traceability", Asked::Set, "the trace registry"),
    ("interaction.bridge", Asked::Set, "the interaction bridge"),
    ("providers.piAuthPath", Asked::Set, "credentials of the Pi runtime"),
    ("providers.piNative", Asked::Set, "settings of the Pi runtime"),
];

/// The sections of which no part is run yet, for the reference page.
pub(crate) fn is_unbuilt_section(key: &str) -> bool {
    const WHOLE: &[&str] = &[
        "continuations",
        "processJobs",
        "webhook",
        "cron",
        "openaiApi",
        "tui",
        "telegram",
        "slack",
        "channels",
        "observability",
        "traceability",
    ];
    WHOLE.contains(&key)
}

/// What the agent's settings ask for that this version doesn't run; `start` and `validate` say so.
pub fn not_built_yet(spec: &AgentSpec) -> Vec<NotBuilt> {
    let settings = &spec.settings;
    let asked = |path: &str, asked: Asked| match asked {
        Asked::Set if path == "continuations.enabled" => {
            settings.is_set_below("continuations") && settings.is_on("continuations.enabled")
        }
        Asked::Set => settings.is_set_below(path),
        Asked::On => settings.is_on(path),
        Asked::SwitchedOn => {
            settings.is_on(path)
                && settings.get(path).is_some_and(|setting| setting.origin != Origin::Default)
        }
        Asked::Filled => settings.get(path).and_then(|setting| setting.value()).is_some_and(|value| {
            value.as_array().is_some_and(|list| !list.is_empty())
                || value.as_object().is_some_and(|map| !map.is_empty())
        }),
    };
    let place = |path: &str| {
        let first = settings.iter().find(|setting| {
            setting.origin != Origin::Default && crate::mcp::is_within(setting.field.path, path)
        });
        first.map_or_else(|| settings.place(path, ""), |setting| setting.place(""))
    };
    UNBUILT
        .iter()
        .filter(|(path, when, _)| asked(path, *when))
        .map(|(path, _, what)| NotBuilt { path, what, place: place(path) })
        .collect()
}
