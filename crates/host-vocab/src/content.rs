//! Content blocks: what a tool gives back and a model is shown.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One block of content, in the shape that MCP gives it (`type` tag, camelCase fields), so that
/// what a server sent can be stored, shown and replayed without a second form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Plain text.
    Text {
        /// The text itself.
        text: String,
    },
    /// A picture.
    Image {
        /// The picture's bytes, with their media type.
        #[serde(flatten)]
        media: Media,
    },
    /// A sound.
    Audio {
        /// The sound's bytes, with their media type.
        #[serde(flatten)]
        media: Media,
    },
    /// A pointer to something that was not fetched.
    ResourceLink {
        /// Where it is; never followed by itself.
        uri: String,
        /// Its name, as the server gave it.
        name: String,
        /// Its media type, where the server gave one.
        #[serde(rename = "mimeType", default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
    /// Something that the server put into the result whole: `{uri, mimeType?, text | blob}`.
    Resource {
        /// The resource as the server sent it.
        resource: Value,
    },
    /// A block of a kind that we don't know; kept as it came.
    #[serde(untagged)]
    Other(Value),
}

/// Bytes with a media type, base64 on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// The bytes in standard base64.
    pub data: String,
    /// Their media type, such as `image/png`.
    #[serde(rename = "mimeType")]
    pub mime_type: String,
}

impl Media {
    /// Wraps raw bytes.
    pub fn from_bytes(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        use base64::Engine as _;
        Media { data: base64::engine::general_purpose::STANDARD.encode(bytes), mime_type: mime_type.into() }
    }

    /// The length of the decoded bytes, without decoding them.
    pub fn decoded_len(&self) -> usize {
        let padding = self.data.bytes().rev().take_while(|b| *b == b'=').count();
        (self.data.len() / 4 * 3).saturating_sub(padding)
    }
}

impl Block {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Block::Text { text: text.into() }
    }

    /// The text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Block::Text { text } => Some(text),
            _ => None,
        }
    }

    /// A line that stands in for a block where only text can go: its kind, type, name and size,
    /// never its bytes.
    pub fn describe(&self) -> String {
        match self {
            Block::Text { text } => text.clone(),
            Block::Image { media } => format!("[image {}, {} bytes]", media.mime_type, media.decoded_len()),
            Block::Audio { media } => format!("[audio {}, {} bytes]", media.mime_type, media.decoded_len()),
            Block::ResourceLink { uri, name, mime_type } => {
                format!("[link {name} <{uri}>, {}]", mime_type.as_deref().unwrap_or("unknown type"))
            }
            Block::Resource { resource } => describe_resource(resource),
            Block::Other(value) => {
                let kind = value.get("type").and_then(Value::as_str).unwrap_or("unknown");
                format!("[block of type {kind}]")
            }
        }
    }
}

fn describe_resource(resource: &Value) -> String {
    let field = |name: &str| resource.get(name).and_then(Value::as_str);
    if let Some(text) = field("text") {
        return text.to_owned();
    }
    let bytes = field("blob").map_or(0, |b| b.len() / 4 * 3);
    format!(
        "[resource {}, {}, about {bytes} bytes]",
        field("uri").unwrap_or("without address"),
        field("mimeType").unwrap_or("unknown type")
    )
}

/// All text of some blocks, each block described where it isn't text, joined by line breaks.
pub fn blocks_text(blocks: &[Block]) -> String {
    blocks.iter().map(Block::describe).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_keep_the_wire_shape() {
        let block = Block::Image { media: Media::from_bytes(b"abc", "image/png") };
        let json = serde_json::to_value(&block).unwrap();
        assert_eq!(json, serde_json::json!({"type":"image","data":"YWJj","mimeType":"image/png"}));
        assert_eq!(serde_json::from_value::<Block>(json).unwrap(), block);
    }

    #[test]
    fn an_unknown_block_is_kept() {
        let json = serde_json::json!({"type":"hologram","x":1});
        let block: Block = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(&block).unwrap(), json);
        assert_eq!(block.describe(), "[block of type hologram]");
    }

    #[test]
    fn decoded_length_counts_padding() {
        for n in 0..7 {
            assert_eq!(Media::from_bytes(&vec![1; n], "x/y").decoded_len(), n);
        }
    }
}
