//! Channels. Each field is documented in the registry, under its path.
#![allow(missing_docs, reason = "each field is documented in the registry, under its path")]

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
    pub webhook: WebhookSpec,
    pub cron: CronSpec,
    pub openai_api: OpenAiApiSpec,
    pub tui: TuiSpec,
    pub telegram: TelegramSpec,
    pub slack: SlackSpec,
    pub plugins: Vec<ChannelPlugin>,
}

/// The `webhook` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebhookSpec {
    pub enabled: bool,
    pub host: String,
    pub port: u16,
    pub path: String,
    pub allow_non_loopback: bool,
    #[serde(default, deserialize_with = "secret")]
    pub api_key: Option<Secret>,
    pub default_mode: String,
    pub dir: PathBuf,
    pub endpoints: Vec<WebhookEndpoint>,
    pub model: Option<ModelRef>,
    pub effort: Option<Effort>,
    pub prompt: Option<String>,
    pub max_run_ms: u64,
    pub max_attachment_bytes: u64,
    pub max_stored_requests: u32,
    pub retention_ms: u64,
    pub notify: bool,
    pub notify_conversation_id: Option<String>,
}

/// `webhook.endpoints[]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebhookEndpoint {
    pub name: String,
    pub path: String,
    pub mode: Option<String>,
    pub prompt: Option<String>,
    pub model: Option<ModelRef>,
    pub effort: Option<Effort>,
    pub max_run_ms: Option<u64>,
    pub notify: bool,
    pub notify_conversation_id: Option<String>,
}

/// The `cron` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CronSpec {
    pub enabled: bool,
    pub dir: PathBuf,
    pub expression: Option<String>,
    pub prompt: Option<String>,
    pub model: Option<ModelRef>,
    pub effort: Option<Effort>,
    pub timezone: String,
    pub conversation_id: Option<String>,
    pub notify: bool,
    pub notify_conversation_id: Option<String>,
    pub notify_failure_cooldown_hours: u32,
    pub preflight: Option<Vec<String>>,
    pub preflight_timeout_ms: u64,
    pub operator_actions: SwitchSpec,
    pub jobs: Vec<CronJob>,
}

/// `cron.jobs[]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CronJob {
    pub id: String,
    pub enabled: bool,
    pub expression: String,
    pub timezone: Option<String>,
    pub prompt: String,
    pub conversation_id: Option<String>,
    pub max_run_ms: u64,
    pub notify: bool,
    pub notify_conversation_id: Option<String>,
    pub notify_failure_cooldown_hours: Option<u32>,
    pub model: Option<ModelRef>,
    pub effort: Option<Effort>,
    pub preflight: Option<Vec<String>>,
    pub preflight_timeout_ms: Option<u64>,
}

/// The `openaiApi` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OpenAiApiSpec {
    pub enabled: bool,
    pub host: String,
    pub port: u16,
    pub base_path: String,
    pub model_id: String,
    #[serde(default, deserialize_with = "secret")]
    pub api_key: Option<Secret>,
    pub allow_non_loopback: bool,
    pub on_disconnect: String,
}

/// The `tui` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TuiSpec {
    pub enabled: bool,
    pub host: String,
    pub port: u16,
    pub base_path: String,
    #[serde(default, deserialize_with = "secret")]
    pub api_key: Option<Secret>,
    pub allow_non_loopback: bool,
    pub request_tool_environment: RequestToolEnvironment,
}

/// `tui.requestToolEnvironment`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestToolEnvironment {
    pub allowed_keys: Vec<String>,
    pub allow_path_prepend: bool,
}

/// The id of a chat: a number or a text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum ChatId {
    Number(i64),
    Name(String),
}

/// The `telegram` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TelegramSpec {
    pub enabled: bool,
    #[serde(default, deserialize_with = "secret")]
    pub bot_token: Option<Secret>,
    pub allowed_chat_ids: Vec<ChatId>,
    pub allow_all_chats: bool,
    pub group_mode: String,
    pub strip_mention_text: bool,
    pub reactions: Reactions,
    #[serde(default)]
    pub transport: TelegramTransport,
    pub poll_watchdog_ms: u64,
    pub api_root: Option<String>,
    pub attachment_max_bytes: u64,
    pub upload_max_bytes: u64,
    pub commands: Vec<TelegramCommand>,
    pub quiet_hours: Option<QuietHours>,
    pub send_tools: SendToolsSpec,
    pub transcription: TranscriptionSpec,
}

/// All reactions on or off, or each by itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Reactions {
    All(bool),
    Each(BTreeMap<String, bool>),
}

/// `telegram.transport`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TelegramTransport {
    pub ip_family: Option<u8>,
}

/// `telegram.commands[]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TelegramCommand {
    pub command: String,
    pub description: String,
    pub prompt: String,
}

/// `telegram.quietHours`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QuietHours {
    pub start: Option<String>,
    pub end: Option<String>,
    pub timezone: Option<String>,
}

/// `telegram.sendTools`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendToolsSpec {
    pub scope: String,
    pub path_scope: String,
}

/// `telegram.transcription`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TranscriptionSpec {
    pub endpoint: Option<String>,
    pub timeout_ms: u64,
}

/// The `slack` section.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SlackSpec {
    pub enabled: bool,
    #[serde(default, deserialize_with = "secret")]
    pub bot_token: Option<Secret>,
    #[serde(default, deserialize_with = "secret")]
    pub app_token: Option<Secret>,
    pub allowed_channel_ids: Vec<String>,
    pub allow_all_channels: bool,
    pub bot_user_ids: Vec<String>,
    pub mention_text_aliases: Vec<String>,
    pub strip_mention_text: Option<bool>,
    pub thread_context: ThreadContextSpec,
    pub unfurl_links: Option<bool>,
    pub unfurl_media: Option<bool>,
    pub shortcuts: Vec<SlackShortcut>,
    pub home_tab: Option<Value>,
    pub connection: SlackConnection,
}

/// `slack.threadContext`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ThreadContextSpec {
    pub max_messages: u32,
    pub timeout_ms: u64,
}

/// `slack.shortcuts[]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SlackShortcut {
    pub callback_id: String,
    pub prompt: String,
    pub channel_id: String,
}

/// `slack.connection`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SlackConnection {
    pub heartbeat_ms: u64,
    pub heartbeat_timeout_ms: u64,
    pub min_backoff_ms: u64,
    pub max_backoff_ms: u64,
    pub stability_ms: u64,
    pub start_grace_ms: u64,
    pub drain_ms: u64,
}

/// `channels.plugins[]`; `config` is the plugin's own and may hold secrets, so `Debug` leaves it out.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChannelPlugin {
    pub package: String,
    pub id: Option<String>,
    pub label: Option<String>,
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
