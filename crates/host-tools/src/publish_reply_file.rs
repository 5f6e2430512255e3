//! `PublishReplyFile`: a file of the workspace becomes a part of the reply (REP-2).
//!
//! `{"path": "out/report.csv", "name": "report.csv", "mediaType": "text/csv"}`

use host_ports::replies::{FileWish, ReplyDesk};
use host_surface::{Admitted, Belongs, Decl, Tool, ToolError, ToolOutput};
use host_turn::PartCode;
use host_vocab::Effect;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// The tool. It holds the reply of its run.
pub struct PublishReplyFile {
    desk: Arc<dyn ReplyDesk>,
}

impl PublishReplyFile {
    /// For one run's reply.
    pub fn new(desk: Arc<dyn ReplyDesk>) -> Self {
        PublishReplyFile { desk }
    }
}

/// The arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PublishReplyFileInput {
    /// The file, in the workspace.
    pub path: String,
    /// What it is to be called, with its ending.
    pub name: String,
    /// Its media type, such as text/csv.
    pub media_type: String,
}

impl Tool for PublishReplyFile {
    const DECL: Decl = Decl {
        name: "PublishReplyFile",
        about: "Gives the person a file of the workspace with your reply. It is copied as it is now: publish it when it is \
                finished. At most 20 files a turn, each at most 20 MiB. Then write your reply as ordinary text.",
        effects: &[Effect::ReadsWorkspace, Effect::Presents],
        belongs: Belongs::Lists,
        codes: &[
            "artifact_missing",
            "artifact_too_large",
            "artifact_publish_failed",
            "artifact_integrity_failed",
            "reply_part_too_large",
            "unsupported_destination",
        ],
    };
    type Input = PublishReplyFileInput;

    async fn run(&self, call: Admitted<PublishReplyFileInput>) -> Result<ToolOutput, ToolError> {
        let PublishReplyFileInput { path, name, media_type } = call.input;
        match self.desk.publish(FileWish { path, name, media_type }).await {
            Ok(file) => {
                let again = if file.reused { "It was in the reply already" } else { "It is in the reply" };
                let text = format!(
                    "{again} as {} ({} bytes). Now write your reply as ordinary text; don't mention a path.",
                    file.name, file.size_bytes
                );
                Ok(ToolOutput::text(text).with_structured(json!({
                    "name": file.name,
                    "mediaType": file.media_type,
                    "sizeBytes": file.size_bytes,
                    "sha256": file.sha256,
                })))
            }
            Err(not) => Err(ToolError::new(code(not.code), not.message)),
        }
    }
}

const fn code(code: PartCode) -> &'static str {
    match code {
        PartCode::ArtifactMissing => "artifact_missing",
        PartCode::ArtifactTooLarge => "artifact_too_large",
        PartCode::ArtifactIntegrityFailed => "artifact_integrity_failed",
        PartCode::ReplyPartTooLarge => "reply_part_too_large",
        PartCode::UnsupportedDestination => "unsupported_destination",
        _ => "artifact_publish_failed",
    }
}
