//! Parts of a reply besides its text (REP-1).

use serde::{Deserialize, Serialize};

/// The most files and apps of one run (REP-3).
pub const PARTS_MAX: usize = 20;

/// One part. It holds no bytes, no path of this machine and no HTML.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Part {
    /// A file.
    Attachment {
        /// Names it; opaque.
        id: String,
        /// Its name, cleaned.
        name: String,
        /// Its media type.
        media_type: String,
        /// Its size.
        size_bytes: u64,
        /// The sum of its bytes: its integrity id.
        sha256: String,
        /// Until when it is kept, RFC 3339; none = for ever.
        expires_at: Option<String>,
    },
    /// An app of an MCP server.
    McpApp {
        /// Names it.
        id: String,
    },
    /// Quick replies (QUI-1).
    ReplyOptions {
        /// Names them.
        id: String,
        /// The labels.
        options: Vec<String>,
    },
    /// A proposal to restart the agent (RES-1).
    RestartProposal {
        /// Names it.
        id: String,
        /// Why, in one line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Something that should have been a part and isn't.
    Failure {
        /// Names it.
        id: String,
        /// What it should have been.
        part_type: PartKind,
        /// Why not.
        code: PartCode,
        /// The same for people.
        message: String,
        /// The name of the file, cleaned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
}

macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$doc])* #[serde(rename = $text)] $variant),+
        }
        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$variant),+];
            /// The word.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }
            /// Reads the word.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|it| it.as_str() == text)
            }
        }
    };
}
pub(crate) use words;

words! {
    /// What kinds of parts there are.
    PartKind {
        /// A file.
        Attachment = "attachment",
        /// An app.
        McpApp = "mcp_app",
        /// A restart proposal.
        RestartProposal = "restart_proposal",
        /// Quick replies.
        ReplyOptions = "reply_options",
        /// A failure.
        Failure = "failure",
        /// Nobody knows.
        Unknown = "unknown",
    }
}

words! {
    /// Why a part is not there (OUT-1): a closed list.
    PartCode {
        /// The app wants what the host doesn't have.
        AppCapabilityMismatch = "app_capability_mismatch",
        /// The app's server went away.
        AppConnectionClosed = "app_connection_closed",
        /// The app's resource is none.
        AppResourceInvalid = "app_resource_invalid",
        /// It was kept long enough.
        ArtifactExpired = "artifact_expired",
        /// Its bytes are not what was published.
        ArtifactIntegrityFailed = "artifact_integrity_failed",
        /// It isn't there.
        ArtifactMissing = "artifact_missing",
        /// It could not be published.
        ArtifactPublishFailed = "artifact_publish_failed",
        /// It is over a bound.
        ArtifactTooLarge = "artifact_too_large",
        /// There are too many parts.
        ReplyPartTooLarge = "reply_part_too_large",
        /// The destination can't take it.
        UnsupportedDestination = "unsupported_destination",
    }
}

impl PartCode {
    /// The words for a part of a kind. Nothing of a producer's goes into them (OUT-1).
    pub fn message(self, kind: PartKind) -> String {
        let label = match kind {
            PartKind::Attachment => "Attachment",
            PartKind::McpApp => "MCP App",
            PartKind::RestartProposal => "Restart proposal",
            PartKind::ReplyOptions => "Reply options",
            PartKind::Failure => "Failure",
            PartKind::Unknown => "Unknown",
        };
        match self {
            PartCode::UnsupportedDestination => {
                format!("{label} reply parts are unsupported on this destination.")
            }
            PartCode::ReplyPartTooLarge => format!("{label} reply part exceeded a limit."),
            PartCode::ArtifactTooLarge => format!("{label} reply part is larger than its limit."),
            PartCode::ArtifactPublishFailed => format!("{label} reply part could not be published."),
            PartCode::ArtifactMissing => format!("{label} reply part is not there any more."),
            PartCode::ArtifactIntegrityFailed => format!("{label} reply part failed its integrity check."),
            PartCode::ArtifactExpired => format!("{label} reply part has expired."),
            PartCode::AppResourceInvalid => format!("{label} reply part has no valid resource."),
            PartCode::AppConnectionClosed => format!("{label} reply part lost its connection."),
            PartCode::AppCapabilityMismatch => format!("{label} reply part needs what this host lacks."),
        }
    }
}

impl Part {
    /// What kind it is.
    pub const fn kind(&self) -> PartKind {
        match self {
            Part::Attachment { .. } => PartKind::Attachment,
            Part::McpApp { .. } => PartKind::McpApp,
            Part::ReplyOptions { .. } => PartKind::ReplyOptions,
            Part::RestartProposal { .. } => PartKind::RestartProposal,
            Part::Failure { .. } => PartKind::Failure,
        }
    }
}
