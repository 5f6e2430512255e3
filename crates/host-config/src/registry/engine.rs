//! The agent itself: runtime, context, sessions, concurrency.

use super::Default::Number as Num;
use super::Shape::{Bool, Choice, Int, Model, Null, Number, Rows, Text, Zone};
use super::{COUNT_MAX, DAY_MS, EFFORT, FOLDER_PATH, Field, Section, Shape, TEXTS, field};

pub(super) const SECTIONS: &[Section] = &[
    Section { key: "agent", doc: "What the agent is called.", fields: AGENT },
    Section {
        key: "runtime",
        doc: "The model, what happens when it fails, how long a run may go on, and how a conversation is kept.",
        fields: RUNTIME,
    },
    Section {
        key: "context",
        doc: "The files that tell the model who it is and what it can do.",
        fields: CONTEXT,
    },
    Section {
        key: "concurrency",
        doc: "How many runs there may be at a time. Both limits count per channel.",
        fields: CONCURRENCY,
    },
];

const AGENT: &[Field] =
    &[field("agent.name", Text, "A name for people; it is never in paths, ids or prompts.")
        .env("MONO_AGENT_NAME")];

const ATTEMPTS: Shape = Int(1, 10);

const RUNTIME: &[Field] = &[
    field(
        "runtime.model",
        Model,
        "The model, `<provider>:<model>`; a config needs it here or in the variable.",
    )
    .env("MONO_AGENT_MODEL"),
    field("runtime.effort", EFFORT, "How hard the model thinks.")
        .computed("the provider's own")
        .env("MONO_AGENT_EFFORT"),
    field("runtime.fallbacks", Rows, "Models to try next, in order, where the one before is not available.")
        .none()
        .env("MONO_AGENT_FALLBACKS_JSON"),
    field("runtime.fallbacks[].model", Model, "The model, `<provider>:<model>`.").required(),
    field("runtime.fallbacks[].effort", EFFORT, "How hard it thinks; not taken over from `runtime.effort`."),
    field("runtime.fallbacks[].attempts", ATTEMPTS, "How often it is tried.").int(1),
    field("runtime.retry.primaryAttempts", ATTEMPTS, "How often the first model is tried in all.")
        .int(2)
        .env("MONO_AGENT_RETRY_PRIMARY_ATTEMPTS"),
    field(
        "runtime.retry.backoffMs",
        Int(0, 600_000),
        "The wait before the second try; it doubles with each.",
    )
    .int(1000)
    .env("MONO_AGENT_RETRY_BACKOFF_MS"),
    field("runtime.retry.maxBackoffMs", Int(0, 3_600_000), "The longest wait between two tries.")
        .int(15_000)
        .env("MONO_AGENT_RETRY_MAX_BACKOFF_MS"),
    field(
        "runtime.maxTurns",
        Int(0, 100),
        "How often the model may be asked in one run; 0 is without limit.",
    )
    .int(0)
    .env("MONO_AGENT_MAX_TURNS"),
    field("runtime.workspace", FOLDER_PATH, "The folder that the tools work in.")
        .text(".")
        .env("MONO_AGENT_WORKSPACE"),
    field(
        "runtime.permissionMode",
        Choice(&["default", "plan", "acceptEdits", "bypassPermissions"]),
        "Accepted and checked for older configs; it changes nothing (see `tools.approvals`).",
    )
    .env("MONO_AGENT_PERMISSION_MODE"),
    field("runtime.compaction.enabled", Bool, "Whether long prompts are shortened by a summary.")
        .on(true)
        .env("MONO_AGENT_COMPACTION_ENABLED"),
    field(
        "runtime.compaction.triggerRatio",
        Number(0.2, 0.95),
        "The part of the context window that triggers it.",
    )
    .or(Num(0.9))
    .env("MONO_AGENT_COMPACTION_TRIGGER_RATIO"),
    field("runtime.compaction.keepRecentTokens", Int(4000, 200_000), "How much of the end stays as it is.")
        .computed("from the context window")
        .env("MONO_AGENT_COMPACTION_KEEP_RECENT_TOKENS"),
    field("runtime.compaction.summaryMaxTokens", Int(1000, 64_000), "How long the summary may be.")
        .computed("from the context window")
        .env("MONO_AGENT_COMPACTION_SUMMARY_MAX_TOKENS"),
    field("runtime.compaction.minSavingsTokens", Int(0, 500_000), "How much it must save to be used.")
        .computed("from the context window")
        .env("MONO_AGENT_COMPACTION_MIN_SAVINGS_TOKENS"),
    field("runtime.compaction.fixedOverheadEnabled", Bool, "Whether instructions and tools count as well.")
        .on(true)
        .env("MONO_AGENT_COMPACTION_FIXED_OVERHEAD_ENABLED"),
    field(
        "runtime.compaction.contextWindowOverride",
        Int(32_000, 10_000_000),
        "The size of the context window in tokens, where the model's own is wrong or unknown.",
    )
    .computed("the model's")
    .env("MONO_AGENT_COMPACTION_CONTEXT_WINDOW_OVERRIDE"),
    field("runtime.session.mode", Choice(&["continuous", "per-message"]), "Whether a conversation goes on.")
        .text("continuous")
        .env("MONO_AGENT_SESSION_MODE"),
    field(
        "runtime.session.idleTimeoutMs",
        Int(0, 30 * DAY_MS),
        "After how long without a turn it is put to rest.",
    )
    .int(1_800_000)
    .env("MONO_AGENT_SESSION_IDLE_TIMEOUT_MS"),
    field("runtime.session.isolateProactive", Bool, "Whether scheduled runs stay out of the conversation.")
        .on(false)
        .env("MONO_AGENT_SESSION_ISOLATE_PROACTIVE"),
    field("runtime.session.rollover", Choice(&["none", "daily"]), "Whether each day begins a new session.")
        .text("none")
        .env("MONO_AGENT_SESSION_ROLLOVER"),
    field("runtime.session.rolloverTimezone", Zone, "The time zone in which a day begins.")
        .computed("the system's zone")
        .env("MONO_AGENT_SESSION_ROLLOVER_TIMEZONE"),
    field("runtime.session.rolloverNotice", Bool, "Whether the conversation is told of a new session.")
        .on(false)
        .env("MONO_AGENT_SESSION_ROLLOVER_NOTICE"),
];

const CONTEXT: &[Field] = &[
    field("context.identityPath", FOLDER_PATH, "The file that says who the agent is; a config needs it.")
        .env("MONO_AGENT_IDENTITY_PATH"),
    field("context.soulPath", FOLDER_PATH, "A file in place of the built-in guardrails.").env("MONO_AGENT_SOUL_PATH"),
    field("context.skillsRoot", FOLDER_PATH, "The folder with `<name>/SKILL.md`.")
        .text("skills")
        .env("MONO_AGENT_SKILLS_ROOT"),
    field("context.selectedSkills", TEXTS, "The skills that this agent has, in order.")
        .none()
        .env("MONO_AGENT_SELECTED_SKILLS"),
    field("context.skillMaxBytes", Int(256, 1_000_000), "How much of one skill's file is read.")
        .int(48_000)
        .env("MONO_AGENT_SKILL_MAX_BYTES"),
    field(
        "context.skillDisclosure",
        Choice(&["index", "full"]),
        "`index` shows names and lets the model read a skill (`ReadSkill`); `full` puts every skill in the prompt.",
    )
    .text("full")
    .env("MONO_AGENT_SKILL_DISCLOSURE"),
];

const CONCURRENCY: &[Field] = &[
    field("concurrency.maxConcurrentRuns", Int(1, COUNT_MAX), "How many runs a channel may have at a time.")
        .computed("without limit")
        .env("MONO_AGENT_CONCURRENCY_MAX_CONCURRENT_RUNS"),
    field("concurrency.maxPendingRuns", Int(0, COUNT_MAX), "How many runs of a channel may wait.")
        .computed("without limit")
        .env("MONO_AGENT_CONCURRENCY_MAX_PENDING_RUNS"),
];

/// A whole number of milliseconds or `null`.
pub(super) const MS_OR_NULL: Shape = Shape::Either(&[Int(1000, 30 * DAY_MS), Null]);
