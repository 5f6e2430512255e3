//! What the host keeps and runs beside the turns: store, artifacts, interaction, continuations, jobs.

use super::Shape::{Bool, Choice, Either, EnvName, Int, Map, Rows, Text, Url};
use super::engine::MS_OR_NULL;
use super::{
    BYTES_MAX, COUNT_MAX, DAY_MS, Default, EFFORT, FOLDER_PATH, Field, GIB, MIB, PORT, Section, Shape, TEXTS,
    field,
};

pub(super) const SECTIONS: &[Section] = &[
    Section { key: "store", doc: "The log that everything is kept in.", fields: STORE },
    Section {
        key: "artifacts",
        doc: "Files that runs leave behind, and how long they stay.",
        fields: ARTIFACTS,
    },
    Section {
        key: "interaction",
        doc: "Questions to people and progress from servers.",
        fields: INTERACTION,
    },
    Section {
        key: "continuations",
        doc: "Results that come long after the run that asked for them. On when the section is there.",
        fields: CONTINUATIONS,
    },
    Section { key: "processJobs", doc: "Commands that go on in the background.", fields: PROCESS_JOBS },
    Section { key: "subagents", doc: "Helpers that the agent can start.", fields: SUBAGENTS },
    Section {
        key: "traceability",
        doc: "How other programs on this machine find the agent.",
        fields: TRACEABILITY,
    },
    Section { key: "observability", doc: "Where traces are sent.", fields: OBSERVABILITY },
    Section { key: "monitors", doc: "Removed; accepted and ignored.", fields: MONITORS },
];

const STORE: &[Field] = &[field(
    "store.durability",
    Choice(&["default", "full"]),
    "`default` outlives the death of the process, `full` that of the power too.",
)
.text("default")];

const AGE_DAYS: Shape = Int(1, 3650);
const COUNT: Shape = Int(1, 1_000_000);

const ARTIFACTS: &[Field] = &[
    field("artifacts.dir", FOLDER_PATH, "The folder for artifacts.")
        .text(".mono-agent/artifacts")
        .env("MONO_AGENT_ARTIFACT_DIR"),
    field("artifacts.retention.maxAgeDays", AGE_DAYS, "How many days artifacts stay.")
        .int(365)
        .env("MONO_AGENT_ARTIFACT_RETENTION_MAX_AGE_DAYS"),
    field("artifacts.retention.maxCount", COUNT, "How many runs keep their artifacts.")
        .int(50_000)
        .env("MONO_AGENT_ARTIFACT_RETENTION_MAX_COUNT"),
    field("artifacts.retention.dryRun", Bool, "Whether it is only said what would be removed.")
        .on(false)
        .env("MONO_AGENT_ARTIFACT_RETENTION_DRY_RUN"),
    field("artifacts.memoryRetention.maxAgeDays", AGE_DAYS, "The same for memory runs.")
        .int(7)
        .env("MONO_AGENT_ARTIFACT_MEMORY_RETENTION_MAX_AGE_DAYS"),
    field("artifacts.memoryRetention.maxCount", COUNT, "The same for memory runs.")
        .int(5000)
        .env("MONO_AGENT_ARTIFACT_MEMORY_RETENTION_MAX_COUNT"),
    field("artifacts.memoryRetention.dryRun", Bool, "The same for memory runs.")
        .computed("as `artifacts.retention.dryRun`")
        .env("MONO_AGENT_ARTIFACT_MEMORY_RETENTION_DRY_RUN"),
    field("artifacts.replyFiles.maxFileBytes", Int(1, 20 * MIB), "How large a file in a reply may be.")
        .int(20 * MIB),
    field(
        "artifacts.replyFiles.maxStorageBytes",
        Either(&[Int(MIB + 1, BYTES_MAX), Choice(&["unlimited"])]),
        "How much all files of replies may take, or `\"unlimited\"`.",
    )
    .int(2 * GIB),
];

const INTERACTION: &[Field] = &[
    field(
        "interaction.askUser.timeoutMs",
        MS_OR_NULL,
        "How long a question waits; `null` (variable: `none`) is for ever.",
    )
    .int(600_000)
    .env("MONO_AGENT_ASK_USER_TIMEOUT_MS"),
    field("interaction.bridge.host", Text, "The address of the bridge for progress and questions.")
        .text("127.0.0.1")
        .env("MONO_AGENT_INTERACTION_BRIDGE_HOST"),
    field("interaction.bridge.port", PORT, "Its port; 0 is any free one.")
        .int(0)
        .env("MONO_AGENT_INTERACTION_BRIDGE_PORT"),
    field("interaction.progress.enabled", Bool, "Whether servers may report progress.")
        .on(true)
        .env("MONO_AGENT_PROGRESS_ENABLED"),
];

const CONTINUATIONS: &[Field] = &[
    field("continuations.enabled", Bool, "Whether the service runs.").on(true),
    field("continuations.host", Text, "Its address, a loopback one.").text("127.0.0.1"),
    field("continuations.port", Int(1, 65_535), "Its port.").int(4319),
    field("continuations.stateDir", FOLDER_PATH, "Where it keeps its records.")
        .text(".mono-agent/continuations"),
    field("continuations.limits.maxActiveRecords", Int(1, 1_000_000), "How many may be open.").int(10_000),
    field(
        "continuations.limits.maxActivePerOrigin",
        Int(1, 1_000_000),
        "How many of one origin may be open.",
    )
    .int(500),
    field("continuations.limits.maxConcurrent", Int(1, 256), "How many are worked on at a time.").int(16),
    field("continuations.limits.synthesisTimeoutMs", Int(1, DAY_MS), "How long the last turn may take.")
        .int(600_000),
    field("continuations.limits.deliveryTimeoutMs", Int(1, DAY_MS), "How long a delivery may take.")
        .int(120_000),
    field("continuations.limits.operatorPageSize", Int(1, 500), "How many the operator sees on a page.")
        .int(100),
    field("continuations.retention.terminalMaxRecords", Int(1, COUNT_MAX), "How many ended ones are kept.")
        .int(50_000),
    field(
        "continuations.retention.terminalMaxAgeMs",
        Int(1, 10 * 365 * DAY_MS),
        "How long ended ones are kept.",
    )
    .int(365 * DAY_MS),
    field(
        "continuations.retention.capturedTextMaxRecords",
        Int(0, COUNT_MAX),
        "How many captured texts are kept.",
    )
    .int(1000),
    field(
        "continuations.retention.capturedTextMaxAgeMs",
        Int(1, 10 * 365 * DAY_MS),
        "How long they are kept.",
    )
    .int(30 * DAY_MS),
    field("continuations.namedRoutes", Map, "Routes for services without a run, by name.")
        .or(Default::EmptyObject),
    field(
        "continuations.namedRoutes.*.mode",
        Choice(&["notify_if_actionable", "capture", "silent"]),
        "What is done with a result.",
    )
    .required(),
    field("continuations.namedRoutes.*.conversationId", Text, "The conversation that it goes to."),
    field("continuations.detachedServices", Rows, "Services that may claim without a run.").none(),
    field("continuations.detachedServices[].name", Text, "The service's name.").required(),
    field("continuations.detachedServices[].tokenEnv", EnvName, "The variable with its token.").required(),
];

const PROCESS_JOBS: &[Field] = &[
    field("processJobs.enabled", Bool, "Whether `Exec` and `Bash` may run in the background.").on(false),
    field("processJobs.stateDir", FOLDER_PATH, "Where the jobs are kept.").text(".mono-agent/process-jobs"),
    field("processJobs.maxConcurrent", Int(1, 32), "How many run at a time.").int(4),
    field("processJobs.maxActivePerConversation", Int(1, 8), "How many of one conversation run at a time.")
        .int(2),
    field("processJobs.maxQueued", Int(0, 64), "How many may wait.").int(8),
    field("processJobs.maxRuntimeMs", Int(1000, DAY_MS), "How long a job may run.").int(1_800_000),
    field("processJobs.maxQueueAgeMs", Int(1000, 3_600_000), "How long a job may wait.").int(300_000),
    field("processJobs.maxOutputBytes", Int(1024, 8 * MIB), "How much output is kept.").int(MIB),
    field("processJobs.previewChars", Int(0, 8000), "How much output is shown.").int(2000),
    field("processJobs.maxChainDepth", Int(1, 64), "How often a job's end may start another.").int(4),
    field("processJobs.retention.maxRecords", Int(1, 10_000), "How many ended jobs are kept.").int(1000),
    field("processJobs.retention.maxAgeMs", Int(1000, 30 * DAY_MS), "How long ended jobs are kept.")
        .int(7 * DAY_MS),
    field("processJobs.retention.artifactMaxBytes", Int(1024, GIB), "How much their output may take.")
        .int(256 * MIB),
    field("processJobs.unsafeAllowUnprotectedState", Bool, "Whether tools may read the jobs' state.")
        .on(false),
];

const SUBAGENTS: &[Field] = &[
    field("subagents.enabled", Bool, "Whether `Agent` is there.").on(false),
    field("subagents.maxConcurrent", Int(1, 64), "How many run at a time.").int(5),
    field("subagents.maxPerTurn", Int(1, 1000), "How many one turn may start.").int(20),
    field("subagents.maxTurns", Int(1, 1000), "How often a helper's model may be asked.").int(100),
    field("subagents.timeoutMs", Int(1000, 14_400_000), "How long a helper may run.").int(300_000),
    field("subagents.commandTimeoutMs", Int(1000, DAY_MS), "How long a helper's command may run.")
        .int(1_800_000),
    field("subagents.inline.enabled", Bool, "Whether the model may describe a helper itself.").on(true),
    field("subagents.inline.allowedTools", TEXTS, "The tools such a helper may have at most.")
        .computed("read-only tools of the parent"),
    field("subagents.models", Shape::List(&Shape::Model), "The models a helper may have.").none(),
    field("subagents.definitions", Rows, "Helpers by name.").none(),
    field("subagents.definitions[].name", Text, "The helper's name.").required(),
    field("subagents.definitions[].description", Text, "What it is for.").required(),
    field("subagents.definitions[].prompt", Text, "Its instructions."),
    field("subagents.definitions[].promptPath", FOLDER_PATH, "A file with its instructions."),
    field("subagents.definitions[].allowedTools", TEXTS, "The tools it has, of those of the parent."),
    field("subagents.definitions[].disallowedTools", TEXTS, "The tools it has not."),
    field("subagents.definitions[].model", Shape::Model, "Its model."),
    field("subagents.definitions[].effort", EFFORT, "How hard it thinks."),
    field("subagents.definitions[].maxTurns", Int(1, 1000), "How often its model may be asked."),
    field("subagents.definitions[].timeoutMs", Int(1000, 14_400_000), "How long it may run."),
    field("subagents.instances.enabled", Bool, "Whether helpers may stay.").on(false),
    field("subagents.instances.root", FOLDER_PATH, "Where they are kept.").text(".mono-agent/subagents"),
    field("subagents.instances.maxPerConversation", Int(1, 32), "How many one conversation may keep.").int(8),
    field("subagents.instances.idleTtlMs", Int(60_000, 7 * DAY_MS), "How long an idle one is kept.")
        .int(DAY_MS),
    field("subagents.instances.maxTurns", Int(1, 500), "How often its model may be asked.").int(60),
];

const TRACEABILITY: &[Field] = &[
    field("traceability.registryDir", FOLDER_PATH, "Where the agent says that it runs.")
        .text(".mono-agent/trace-sources")
        .env("MONO_AGENT_TRACE_REGISTRY_DIR"),
    field("traceability.sourceId", Text, "Its id there.")
        .computed("from the folder")
        .env("MONO_AGENT_TRACE_SOURCE_ID"),
    field("traceability.sourceLabel", Text, "Its name there.")
        .computed("`agent.name`")
        .env("MONO_AGENT_TRACE_SOURCE_LABEL"),
    field("traceability.heartbeatMs", Int(250, DAY_MS), "How often it says so.")
        .int(10_000)
        .env("MONO_AGENT_TRACE_HEARTBEAT_MS"),
    field("traceability.staleAfterMs", Int(1000, 7 * DAY_MS), "After how long of silence it counts as gone.")
        .int(30_000)
        .env("MONO_AGENT_TRACE_STALE_AFTER_MS"),
    field("traceability.globalDiscovery", Bool, "Whether the whole machine can find it.")
        .on(true)
        .env("MONO_AGENT_TRACE_GLOBAL_DISCOVERY"),
];

const OBSERVABILITY: &[Field] = &[
    field("observability.exporters", Rows, "Where traces are sent.")
        .none()
        .env("MONO_AGENT_OBSERVABILITY_EXPORTERS"),
    field("observability.exporters[].type", Choice(&["phoenix", "otlp"]), "What it speaks.").required(),
    field("observability.exporters[].endpoint", Url, "Where it is.").required(),
    field("observability.exporters[].projectName", Text, "The project's name there."),
    field("observability.exporters[].includeSensitiveData", Bool, "Whether texts are sent too.").on(false),
    field("observability.exporters[].headers", Map, "Headers sent with every request."),
    field("observability.exporters[].headers.*", Text, "The header's value.").secret(),
    field("observability.exporters[].timeoutMs", Int(100, 600_000), "How long a request may take.")
        .int(10_000),
];

const MONITORS: &[Field] = &[field("monitors", Shape::Open, "Removed; accepted and ignored.")];
