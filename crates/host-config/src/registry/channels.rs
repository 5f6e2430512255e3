//! Channels.

use super::Shape::{Bool, Choice, Either, Int, List, Map, Model, Open, Rows, Text, Url, Zone};
use super::{DAY_MS, Default, EFFORT, FOLDER_PATH, Field, GIB, MIB, PORT, Section, Shape, TEXTS, field};

pub(super) const SECTIONS: &[Section] = &[
    Section { key: "webhook", doc: "Turns by HTTP.", fields: WEBHOOK },
    Section { key: "cron", doc: "Turns by the clock.", fields: CRON },
    Section { key: "openaiApi", doc: "The agent as a model behind OpenAI's API.", fields: OPENAI_API },
    Section { key: "tui", doc: "The operator's endpoint, for the console and the terminal.", fields: TUI },
    Section { key: "telegram", doc: "Telegram, by long polling.", fields: TELEGRAM },
    Section { key: "slack", doc: "Slack, in socket mode.", fields: SLACK },
    Section { key: "channels", doc: "Channels from plugins.", fields: PLUGINS },
];

const RUN_MS: Shape = Int(0, DAY_MS);
const HOST: &str = "127.0.0.1";
const OPEN_HOST: &str = "Whether it may listen beyond this machine; it then needs a key.";

const WEBHOOK: &[Field] = &[
    field("webhook.enabled", Bool, "Whether it runs.").on(false).env("MONO_AGENT_WEBHOOK_ENABLED"),
    field("webhook.host", Text, "The address to listen on.").text(HOST).env("MONO_AGENT_WEBHOOK_HOST"),
    field("webhook.port", PORT, "The port; 0 is any free one.").int(0).env("MONO_AGENT_WEBHOOK_PORT"),
    field("webhook.path", Text, "The path.").text("/webhook/invoke").env("MONO_AGENT_WEBHOOK_PATH"),
    field("webhook.allowNonLoopback", Bool, OPEN_HOST).on(false).env("MONO_AGENT_WEBHOOK_ALLOW_NON_LOOPBACK"),
    field("webhook.apiKey", Text, "The key that callers send.").secret().env("MONO_AGENT_WEBHOOK_API_KEY"),
    field("webhook.defaultMode", Choice(&["sync", "async"]), "Whether a caller waits for the answer.")
        .text("sync")
        .env("MONO_AGENT_WEBHOOK_DEFAULT_MODE"),
    field("webhook.dir", FOLDER_PATH, "The folder with an endpoint in each `*.md`.")
        .text("webhook")
        .env("MONO_AGENT_WEBHOOK_DIR"),
    field("webhook.endpoints", Rows, "More endpoints.").none().env("MONO_AGENT_WEBHOOK_ENDPOINTS_JSON"),
    field("webhook.endpoints[].name", Text, "Its name.").required(),
    field("webhook.endpoints[].path", Text, "Its path.").required(),
    field("webhook.endpoints[].mode", Choice(&["sync", "async"]), "Whether a caller waits."),
    field("webhook.endpoints[].prompt", Text, "What is put before the caller's text."),
    field("webhook.endpoints[].model", Model, "Its model."),
    field("webhook.endpoints[].effort", EFFORT, "How hard it thinks."),
    field("webhook.endpoints[].maxRunMs", RUN_MS, "How long a run may take; 0 is without limit."),
    field("webhook.endpoints[].notify", Bool, "Whether the answer is posted to a conversation.").on(false),
    field("webhook.endpoints[].notifyConversationId", Text, "To which."),
    field("webhook.model", Model, "The model of its runs.").env("MONO_AGENT_WEBHOOK_MODEL"),
    field("webhook.effort", EFFORT, "How hard it thinks.").env("MONO_AGENT_WEBHOOK_EFFORT"),
    field("webhook.prompt", Text, "What is put before the caller's text.").env("MONO_AGENT_WEBHOOK_PROMPT"),
    field("webhook.maxRunMs", RUN_MS, "How long a run may take; 0 is without limit.")
        .int(1_200_000)
        .env("MONO_AGENT_WEBHOOK_MAX_RUN_MS"),
    field("webhook.maxAttachmentBytes", Int(0, GIB), "How large an attachment may be.")
        .int(20 * MIB)
        .env("MONO_AGENT_WEBHOOK_MAX_ATTACHMENT_BYTES"),
    field("webhook.maxStoredRequests", Int(1, 10_000), "How many requests can be asked about.")
        .int(100)
        .env("MONO_AGENT_WEBHOOK_MAX_STORED_REQUESTS"),
    field("webhook.retentionMs", Int(1, DAY_MS), "How long they can be asked about.")
        .int(300_000)
        .env("MONO_AGENT_WEBHOOK_RETENTION_MS"),
    field("webhook.notify", Bool, "Whether answers are posted to a conversation.")
        .on(false)
        .env("MONO_AGENT_WEBHOOK_NOTIFY"),
    field("webhook.notifyConversationId", Text, "To which.").env("MONO_AGENT_WEBHOOK_NOTIFY_CONVERSATION_ID"),
];

const CRON: &[Field] = &[
    field("cron.enabled", Bool, "Whether it runs.").on(false).env("MONO_AGENT_CRON_ENABLED"),
    field("cron.dir", FOLDER_PATH, "The folder with a job in each `*.md`.")
        .text("cron")
        .env("MONO_AGENT_CRON_DIR"),
    field("cron.expression", Text, "When the one job of this section runs.")
        .env("MONO_AGENT_CRON_EXPRESSION"),
    field("cron.prompt", Text, "What it is told.").env("MONO_AGENT_CRON_PROMPT"),
    field("cron.model", Model, "Its model.").env("MONO_AGENT_CRON_MODEL"),
    field("cron.effort", EFFORT, "How hard it thinks.").env("MONO_AGENT_CRON_EFFORT"),
    field("cron.timezone", Zone, "The zone of the expression.").text("UTC").env("MONO_AGENT_CRON_TIMEZONE"),
    field("cron.conversationId", Text, "The conversation it runs in.").env("MONO_AGENT_CRON_CONVERSATION_ID"),
    field("cron.notify", Bool, "Whether the answer is posted to a conversation.")
        .on(false)
        .env("MONO_AGENT_CRON_NOTIFY"),
    field("cron.notifyConversationId", Text, "To which.").env("MONO_AGENT_CRON_NOTIFY_CONVERSATION_ID"),
    field("cron.notifyFailureCooldownHours", Int(0, 8760), "How long a failure is told only once.")
        .int(6)
        .env("MONO_AGENT_CRON_NOTIFY_FAILURE_COOLDOWN_HOURS"),
    field("cron.preflight", List(&Text), "A command that says whether to run.")
        .env("MONO_AGENT_CRON_PREFLIGHT_JSON"),
    field("cron.preflightTimeoutMs", Int(1, 60_000), "How long it may take.")
        .int(5000)
        .env("MONO_AGENT_CRON_PREFLIGHT_TIMEOUT_MS"),
    field("cron.operatorActions.enabled", Bool, "Whether an operator may run and stop jobs.")
        .on(false)
        .env("MONO_AGENT_CRON_OPERATOR_ACTIONS_ENABLED"),
    field("cron.jobs", Rows, "More jobs.").none().env("MONO_AGENT_CRON_JOBS_JSON"),
    field("cron.jobs[].id", Text, "Its id.").required(),
    field("cron.jobs[].enabled", Bool, "Whether it runs.").on(true),
    field("cron.jobs[].expression", Text, "When: five fields, `H` allowed.").required(),
    field("cron.jobs[].timezone", Zone, "The zone of the expression."),
    field("cron.jobs[].prompt", Text, "What it is told.").required(),
    field("cron.jobs[].conversationId", Text, "The conversation it runs in."),
    field("cron.jobs[].maxRunMs", RUN_MS, "How long a run may take; 0 is without limit.").int(1_200_000),
    field("cron.jobs[].notify", Bool, "Whether the answer is posted to a conversation.").on(false),
    field("cron.jobs[].notifyConversationId", Text, "To which."),
    field("cron.jobs[].notifyFailureCooldownHours", Int(0, 8760), "How long a failure is told only once."),
    field("cron.jobs[].model", Model, "Its model."),
    field("cron.jobs[].effort", EFFORT, "How hard it thinks."),
    field("cron.jobs[].preflight", List(&Text), "A command that says whether to run."),
    field("cron.jobs[].preflightTimeoutMs", Int(1, 60_000), "How long it may take."),
];

const OPENAI_API: &[Field] = &[
    field("openaiApi.enabled", Bool, "Whether it runs.").on(false).env("MONO_AGENT_OPENAI_API_ENABLED"),
    field("openaiApi.host", Text, "The address to listen on.").text(HOST).env("MONO_AGENT_OPENAI_API_HOST"),
    field("openaiApi.port", PORT, "The port; 0 is any free one.").int(4040).env("MONO_AGENT_OPENAI_API_PORT"),
    field("openaiApi.basePath", Text, "The path that all routes begin with.")
        .text("/v1")
        .env("MONO_AGENT_OPENAI_API_BASE_PATH"),
    field("openaiApi.modelId", Text, "What the agent is called as a model.")
        .text("agent")
        .env("MONO_AGENT_OPENAI_API_MODEL_ID"),
    field("openaiApi.apiKey", Text, "The key that callers send.").secret().env("MONO_AGENT_OPENAI_API_KEY"),
    field("openaiApi.allowNonLoopback", Bool, OPEN_HOST)
        .on(false)
        .env("MONO_AGENT_OPENAI_API_ALLOW_NON_LOOPBACK"),
    field(
        "openaiApi.onDisconnect",
        Choice(&["cancel", "continue"]),
        "What happens to a run whose caller is gone.",
    )
    .text("cancel"),
];

const TUI: &[Field] = &[
    field("tui.enabled", Bool, "Whether it runs.").on(true).env("MONO_AGENT_TUI_ENABLED"),
    field("tui.host", Text, "The address to listen on.").text(HOST).env("MONO_AGENT_TUI_HOST"),
    field("tui.port", PORT, "The port; 0 is any free one.").int(0).env("MONO_AGENT_TUI_PORT"),
    field("tui.basePath", Text, "The path that all routes begin with.")
        .text("/gui")
        .env("MONO_AGENT_TUI_BASE_PATH"),
    field("tui.apiKey", Text, "The key that callers send.").secret().env("MONO_AGENT_TUI_API_KEY"),
    field("tui.allowNonLoopback", Bool, OPEN_HOST).on(false).env("MONO_AGENT_TUI_ALLOW_NON_LOOPBACK"),
    field("tui.requestToolEnvironment.allowedKeys", TEXTS, "Variables that a request may set for its tools.")
        .none()
        .env("MONO_AGENT_TUI_REQUEST_TOOL_ENVIRONMENT_ALLOWED_KEYS"),
    field("tui.requestToolEnvironment.allowPathPrepend", Bool, "Whether it may put folders before `PATH`.")
        .on(false)
        .env("MONO_AGENT_TUI_REQUEST_TOOL_ENVIRONMENT_ALLOW_PATH_PREPEND"),
];

const ID: Shape = Either(&[Int(i64::MIN, i64::MAX), Text]);
const IDS: Shape = List(&ID);

const TELEGRAM: &[Field] = &[
    field("telegram.enabled", Bool, "Whether it runs.").on(false).env("MONO_AGENT_TELEGRAM_ENABLED"),
    field("telegram.botToken", Text, "The bot's token.").secret().env("MONO_AGENT_TELEGRAM_BOT_TOKEN"),
    field("telegram.allowedChatIds", IDS, "The chats that are served.")
        .none()
        .env("MONO_AGENT_TELEGRAM_ALLOWED_CHAT_IDS"),
    field("telegram.allowAllChats", Bool, "Whether every chat is served.")
        .on(false)
        .env("MONO_AGENT_TELEGRAM_ALLOW_ALL_CHATS"),
    field("telegram.groupMode", Choice(&["any", "mention"]), "Which messages of a group are turns.")
        .text("mention")
        .env("MONO_AGENT_TELEGRAM_GROUP_MODE"),
    field("telegram.stripMentionText", Bool, "Whether the mention is taken out.")
        .on(true)
        .env("MONO_AGENT_TELEGRAM_STRIP_MENTION_TEXT"),
    field("telegram.reactions", Either(&[Bool, Map]), "Whether the state of a turn is shown as a reaction.")
        .on(false)
        .env("MONO_AGENT_TELEGRAM_REACTIONS"),
    field("telegram.reactions.*", Bool, "Whether this state is shown."),
    field("telegram.transport.ipFamily", Int(4, 6), "4 or 6, where only one of them works.")
        .env("MONO_AGENT_TELEGRAM_IP_FAMILY"),
    field(
        "telegram.pollWatchdogMs",
        Int(0, DAY_MS),
        "After how long a silent poll is begun again; 0 is never.",
    )
    .int(120_000)
    .env("MONO_AGENT_TELEGRAM_POLL_WATCHDOG_MS"),
    field("telegram.apiRoot", Url, "A Bot API of your own.").env("MONO_AGENT_TELEGRAM_API_ROOT"),
    field("telegram.attachmentMaxBytes", Int(0, GIB), "How large a received file may be.")
        .int(20 * MIB)
        .env("MONO_AGENT_TELEGRAM_ATTACHMENT_MAX_BYTES"),
    field("telegram.uploadMaxBytes", Int(0, GIB), "How large a sent file may be.")
        .int(20 * MIB)
        .env("MONO_AGENT_TELEGRAM_UPLOAD_MAX_BYTES"),
    field("telegram.commands", Rows, "More commands.").none(),
    field("telegram.commands[].command", Text, "Its name: 1 to 32 of a-z, 0-9 and `_`.").required(),
    field("telegram.commands[].description", Text, "What it does.").required(),
    field("telegram.commands[].prompt", Text, "What the agent is told.").required(),
    field("telegram.quietHours.start", Text, "From when messages make no sound, `HH:MM`."),
    field("telegram.quietHours.end", Text, "Until when."),
    field("telegram.quietHours.timezone", Zone, "In which zone."),
    field(
        "telegram.sendTools.scope",
        Choice(&["any", "producing-conversation"]),
        "Where send tools may send.",
    )
    .text("any"),
    field("telegram.sendTools.pathScope", Choice(&["workspace", "run-output"]), "Which files they may send.")
        .text("workspace"),
    field("telegram.transcription.endpoint", Url, "A service that turns speech into text."),
    field("telegram.transcription.timeoutMs", Int(1, DAY_MS), "How long it may take.").int(120_000),
];

const TUNING_MS: Shape = Int(0, 3_600_000);

const SLACK: &[Field] = &[
    field("slack.enabled", Bool, "Whether it runs.").on(false).env("MONO_AGENT_SLACK_ENABLED"),
    field("slack.botToken", Text, "The bot's token, `xoxb-…`.").secret().env("MONO_AGENT_SLACK_BOT_TOKEN"),
    field("slack.appToken", Text, "The app's token, `xapp-…`.").secret().env("MONO_AGENT_SLACK_APP_TOKEN"),
    field("slack.allowedChannelIds", TEXTS, "The channels that are served.")
        .none()
        .env("MONO_AGENT_SLACK_ALLOWED_CHANNEL_IDS"),
    field("slack.allowAllChannels", Bool, "Whether every channel is served.")
        .on(false)
        .env("MONO_AGENT_SLACK_ALLOW_ALL_CHANNELS"),
    field("slack.botUserIds", TEXTS, "User ids that count as the bot in a mention.").none(),
    field("slack.mentionTextAliases", TEXTS, "Words that count as a mention.").none(),
    field("slack.stripMentionText", Bool, "Whether the mention is taken out; unset keeps one marker."),
    field("slack.threadContext.maxMessages", Int(0, 200), "How many messages of a thread the model sees.")
        .int(15)
        .env("MONO_AGENT_SLACK_THREAD_CONTEXT_MAX_MESSAGES"),
    field("slack.threadContext.timeoutMs", Int(0, 600_000), "How long fetching them may take.")
        .int(4000)
        .env("MONO_AGENT_SLACK_THREAD_CONTEXT_TIMEOUT_MS"),
    field("slack.unfurlLinks", Bool, "Whether links are shown with a preview.")
        .env("MONO_AGENT_SLACK_UNFURL_LINKS"),
    field("slack.unfurlMedia", Bool, "Whether media are shown with a preview.")
        .env("MONO_AGENT_SLACK_UNFURL_MEDIA"),
    field("slack.shortcuts", Rows, "Shortcuts that run a prompt.").none(),
    field("slack.shortcuts[].callbackId", Text, "Its id at Slack.").required(),
    field("slack.shortcuts[].prompt", Text, "What the agent is told.").required(),
    field("slack.shortcuts[].channelId", Text, "Where the answer goes.").required(),
    field("slack.homeTab", Open, "The App Home page; checked when the channel starts."),
    field("slack.connection.heartbeatMs", TUNING_MS, "How often the socket is asked whether it lives.")
        .int(30_000),
    field("slack.connection.heartbeatTimeoutMs", TUNING_MS, "After how long of silence it counts as gone.")
        .int(90_000),
    field("slack.connection.minBackoffMs", TUNING_MS, "The first wait before connecting again.").int(500),
    field("slack.connection.maxBackoffMs", TUNING_MS, "The longest wait.").int(30_000),
    field("slack.connection.stabilityMs", TUNING_MS, "After how long a connection counts as good.")
        .int(30_000),
    field("slack.connection.startGraceMs", TUNING_MS, "How long the start may take.").int(10_000),
    field("slack.connection.drainMs", TUNING_MS, "How long the end may take.").int(5000),
];

const PLUGINS: &[Field] = &[
    field("channels.plugins", Rows, "Channels from plugins.").none(),
    field("channels.plugins[].package", Text, "The plugin.").required(),
    field("channels.plugins[].id", Text, "The channel's id."),
    field("channels.plugins[].label", Text, "Its name for people."),
    field("channels.plugins[].config", Open, "The plugin's own settings.").or(Default::EmptyObject),
];
