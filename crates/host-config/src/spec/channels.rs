//! Channels.

use super::{Effort, SwitchSpec, secret};
use crate::ModelRef;
use host_vocab::Secret;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// All channels.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelsSpec {
    /// Turns by HTTP.
    pub webhook: WebhookSpec,
    /// Turns by the clock.
    pub cron: CronSpec,
    /// The agent as a model behind OpenAI's API.
    pub openai_api: OpenAiApiSpec,
    /// The operator's endpoint.
    pub tui: TuiSpec,
    /// Telegram.
    pub telegram: TelegramSpec,
    /// Slack.
    pub slack: SlackSpec,
    /// Channels from plugins.
    pub plugins: Vec<ChannelPlugin>,
}

/// The `webhook` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebhookSpec {
    /// Whether it runs.
    pub enabled: bool,
    /// The address to listen on.
    pub host: String,
    /// The port; 0 is any free one.
    pub port: u16,
    /// The path.
    pub path: String,
    /// Whether it may listen beyond this machine; it then needs a key.
    pub allow_non_loopback: bool,
    /// The key that callers send.
    #[serde(default, deserialize_with = "secret")]
    pub api_key: Option<Secret>,
    /// Whether a caller waits for the answer.
    pub default_mode: String,
    /// The folder with an endpoint in each `*.md`.
    pub dir: PathBuf,
    /// More endpoints.
    pub endpoints: Vec<WebhookEndpoint>,
    /// The model of its runs.
    pub model: Option<ModelRef>,
    /// How hard it thinks.
    pub effort: Option<Effort>,
    /// What is put before the caller's text.
    pub prompt: Option<String>,
    /// How long a run may take; 0 is without limit.
    pub max_run_ms: u64,
    /// How large an attachment may be.
    pub max_attachment_bytes: u64,
    /// How many requests can be asked about.
    pub max_stored_requests: u32,
    /// How long they can be asked about.
    pub retention_ms: u64,
    /// Whether answers are posted to a conversation.
    pub notify: bool,
    /// To which.
    pub notify_conversation_id: Option<String>,
}

/// `webhook.endpoints[]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebhookEndpoint {
    /// Its name.
    pub name: String,
    /// Its path.
    pub path: String,
    /// Whether a caller waits.
    pub mode: Option<String>,
    /// What is put before the caller's text.
    pub prompt: Option<String>,
    /// Its model.
    pub model: Option<ModelRef>,
    /// How hard it thinks.
    pub effort: Option<Effort>,
    /// How long a run may take; 0 is without limit.
    pub max_run_ms: Option<u64>,
    /// Whether the answer is posted to a conversation.
    pub notify: bool,
    /// To which.
    pub notify_conversation_id: Option<String>,
}

/// The `cron` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CronSpec {
    /// Whether it runs.
    pub enabled: bool,
    /// The folder with a job in each `*.md`.
    pub dir: PathBuf,
    /// When the one job of this section runs.
    pub expression: Option<String>,
    /// What it is told.
    pub prompt: Option<String>,
    /// Its model.
    pub model: Option<ModelRef>,
    /// How hard it thinks.
    pub effort: Option<Effort>,
    /// The zone of the expression.
    pub timezone: String,
    /// The conversation it runs in.
    pub conversation_id: Option<String>,
    /// Whether the answer is posted to a conversation.
    pub notify: bool,
    /// To which.
    pub notify_conversation_id: Option<String>,
    /// How long a failure is told only once.
    pub notify_failure_cooldown_hours: u32,
    /// A command that says whether to run.
    pub preflight: Option<Vec<String>>,
    /// How long it may take.
    pub preflight_timeout_ms: u64,
    /// Changes by an operator.
    pub operator_actions: SwitchSpec,
    /// More jobs.
    pub jobs: Vec<CronJob>,
}

/// `cron.jobs[]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CronJob {
    /// Its id.
    pub id: String,
    /// Whether it runs.
    pub enabled: bool,
    /// When: five fields, `H` allowed.
    pub expression: String,
    /// The zone of the expression.
    pub timezone: Option<String>,
    /// What it is told.
    pub prompt: String,
    /// The conversation it runs in.
    pub conversation_id: Option<String>,
    /// How long a run may take; 0 is without limit.
    pub max_run_ms: u64,
    /// Whether the answer is posted to a conversation.
    pub notify: bool,
    /// To which.
    pub notify_conversation_id: Option<String>,
    /// How long a failure is told only once.
    pub notify_failure_cooldown_hours: Option<u32>,
    /// Its model.
    pub model: Option<ModelRef>,
    /// How hard it thinks.
    pub effort: Option<Effort>,
    /// A command that says whether to run.
    pub preflight: Option<Vec<String>>,
    /// How long it may take.
    pub preflight_timeout_ms: Option<u64>,
}

/// The `openaiApi` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OpenAiApiSpec {
    /// Whether it runs.
    pub enabled: bool,
    /// The address to listen on.
    pub host: String,
    /// The port; 0 is any free one.
    pub port: u16,
    /// The path that all routes begin with.
    pub base_path: String,
    /// What the agent is called as a model.
    pub model_id: String,
    /// The key that callers send.
    #[serde(default, deserialize_with = "secret")]
    pub api_key: Option<Secret>,
    /// Whether it may listen beyond this machine; it then needs a key.
    pub allow_non_loopback: bool,
    /// What happens to a run whose caller is gone.
    pub on_disconnect: String,
}

/// The `tui` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TuiSpec {
    /// Whether it runs.
    pub enabled: bool,
    /// The address to listen on.
    pub host: String,
    /// The port; 0 is any free one.
    pub port: u16,
    /// The path that all routes begin with.
    pub base_path: String,
    /// The key that callers send.
    #[serde(default, deserialize_with = "secret")]
    pub api_key: Option<Secret>,
    /// Whether it may listen beyond this machine; it then needs a key.
    pub allow_non_loopback: bool,
    /// Variables that a request may set for its tools.
    pub request_tool_environment: RequestToolEnvironment,
}

/// `tui.requestToolEnvironment`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestToolEnvironment {
    /// Variables that a request may set for its tools.
    pub allowed_keys: Vec<String>,
    /// Whether it may put folders before `PATH`.
    pub allow_path_prepend: bool,
}

/// The id of a chat: a number or a text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum ChatId {
    /// A number.
    Number(i64),
    /// A text.
    Name(String),
}

/// The `telegram` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TelegramSpec {
    /// Whether it runs.
    pub enabled: bool,
    /// The bot's token.
    #[serde(default, deserialize_with = "secret")]
    pub bot_token: Option<Secret>,
    /// The chats that are served.
    pub allowed_chat_ids: Vec<ChatId>,
    /// Whether every chat is served.
    pub allow_all_chats: bool,
    /// Which messages of a group are turns.
    pub group_mode: String,
    /// Whether the mention is taken out.
    pub strip_mention_text: bool,
    /// Whether the state of a turn is shown as a reaction.
    pub reactions: Reactions,
    /// How Telegram is reached.
    #[serde(default)]
    pub transport: TelegramTransport,
    /// After how long a silent poll is begun again; 0 is never.
    pub poll_watchdog_ms: u64,
    /// A Bot API of your own.
    pub api_root: Option<String>,
    /// How large a received file may be.
    pub attachment_max_bytes: u64,
    /// How large a sent file may be.
    pub upload_max_bytes: u64,
    /// More commands.
    pub commands: Vec<TelegramCommand>,
    /// When messages make no sound.
    pub quiet_hours: Option<QuietHours>,
    /// Bounds on the send tools.
    pub send_tools: SendToolsSpec,
    /// Speech into text.
    pub transcription: TranscriptionSpec,
}

/// All reactions on or off, or each by itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Reactions {
    /// All on or all off.
    All(bool),
    /// Each by itself.
    Each(BTreeMap<String, bool>),
}

/// `telegram.transport`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TelegramTransport {
    /// 4 or 6, where only one of them works.
    pub ip_family: Option<u8>,
}

/// `telegram.commands[]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TelegramCommand {
    /// Its name: 1 to 32 of a-z, 0-9 and `_`.
    pub command: String,
    /// What it does.
    pub description: String,
    /// What the agent is told.
    pub prompt: String,
}

/// `telegram.quietHours`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QuietHours {
    /// From when messages make no sound, `HH:MM`.
    pub start: Option<String>,
    /// Until when.
    pub end: Option<String>,
    /// In which zone.
    pub timezone: Option<String>,
}

/// `telegram.sendTools`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendToolsSpec {
    /// Where send tools may send.
    pub scope: String,
    /// Which files they may send.
    pub path_scope: String,
}

/// `telegram.transcription`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TranscriptionSpec {
    /// A service that turns speech into text.
    pub endpoint: Option<String>,
    /// How long it may take.
    pub timeout_ms: u64,
}

/// The `slack` section.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SlackSpec {
    /// Whether it runs.
    pub enabled: bool,
    /// The bot's token, `xoxb-…`.
    #[serde(default, deserialize_with = "secret")]
    pub bot_token: Option<Secret>,
    /// The app's token, `xapp-…`.
    #[serde(default, deserialize_with = "secret")]
    pub app_token: Option<Secret>,
    /// The channels that are served.
    pub allowed_channel_ids: Vec<String>,
    /// Whether every channel is served.
    pub allow_all_channels: bool,
    /// User ids that count as the bot in a mention.
    pub bot_user_ids: Vec<String>,
    /// Words that count as a mention.
    pub mention_text_aliases: Vec<String>,
    /// Whether the mention is taken out; unset keeps one marker.
    pub strip_mention_text: Option<bool>,
    /// What the model sees of a thread.
    pub thread_context: ThreadContextSpec,
    /// Whether links are shown with a preview.
    pub unfurl_links: Option<bool>,
    /// Whether media are shown with a preview.
    pub unfurl_media: Option<bool>,
    /// Shortcuts that run a prompt.
    pub shortcuts: Vec<SlackShortcut>,
    /// The App Home page; checked when the channel starts.
    pub home_tab: Option<Value>,
    /// How the socket is kept.
    pub connection: SlackConnection,
}

/// `slack.threadContext`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ThreadContextSpec {
    /// How many messages of a thread the model sees.
    pub max_messages: u32,
    /// How long fetching them may take.
    pub timeout_ms: u64,
}

/// `slack.shortcuts[]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SlackShortcut {
    /// Its id at Slack.
    pub callback_id: String,
    /// What the agent is told.
    pub prompt: String,
    /// Where the answer goes.
    pub channel_id: String,
}

/// `slack.connection`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SlackConnection {
    /// How often the socket is asked whether it lives.
    pub heartbeat_ms: u64,
    /// After how long of silence it counts as gone.
    pub heartbeat_timeout_ms: u64,
    /// The first wait before connecting again.
    pub min_backoff_ms: u64,
    /// The longest wait.
    pub max_backoff_ms: u64,
    /// After how long a connection counts as good.
    pub stability_ms: u64,
    /// How long the start may take.
    pub start_grace_ms: u64,
    /// How long the end may take.
    pub drain_ms: u64,
}

/// `channels.plugins[]`; `config` is the plugin's own and may hold secrets, so `Debug` leaves it out.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChannelPlugin {
    /// The plugin.
    pub package: String,
    /// The channel's id.
    pub id: Option<String>,
    /// Its name for people.
    pub label: Option<String>,
    /// The plugin's own settings.
    pub config: Value,
}

impl std::fmt::Debug for ChannelPlugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChannelPlugin")
            .field("package", &self.package)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
