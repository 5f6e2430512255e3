//! Bounding a result before the model sees it (TOO-7).

use crate::tool::ToolOutput;
use host_ports::kept::{Kept, KeptOutput};
use host_vocab::limits::RESULT_BYTES_MAX;
use host_vocab::{Block, CallId, RunId, text};
use serde_json::Value;

/// The largest picture or sound that is passed on, in decoded bytes.
const MEDIA_BYTES_MAX: usize = 5 * 1024 * 1024;
/// The most media blocks of one result.
const MEDIA_BLOCKS_MAX: usize = 20;

pub(crate) struct Bounded {
    pub(crate) content: Vec<Block>,
    pub(crate) structured: Option<Value>,
    pub(crate) original_bytes: u64,
    pub(crate) truncated: bool,
    pub(crate) kept: Vec<Kept>,
}

/// One limit, applied once, over the sum of all text blocks; media go by their own limit. The whole text
/// is kept apart, where there is a folder for it.
pub(crate) fn bound(output: ToolOutput, run: &RunId, call: &CallId, keep: &dyn KeptOutput) -> Bounded {
    let mut kept = output.kept;
    let mut truncated = output.whole_bytes.is_some();
    let content = bound_media(output.content, &mut truncated);
    let text_bytes: usize = content.iter().filter_map(Block::as_text).map(str::len).sum();
    let structured_bytes = output.structured.as_ref().map_or(0, |value| value.to_string().len());
    let original_bytes = output.whole_bytes.unwrap_or((text_bytes + structured_bytes) as u64);
    let content = if text_bytes <= RESULT_BYTES_MAX {
        content
    } else {
        truncated = true;
        let whole = keep_whole(&content, run, call, keep);
        let how = match &whole {
            Some(kept) => format!("the whole is kept as {}", kept.id),
            None => "the rest was not kept".to_owned(),
        };
        kept.extend(whole);
        cut_texts(content, &how)
    };
    let structured = output.structured.filter(|_| structured_bytes <= RESULT_BYTES_MAX);
    truncated |= structured.is_none() && structured_bytes > RESULT_BYTES_MAX;
    Bounded { content, structured, original_bytes, truncated, kept }
}

fn bound_media(blocks: Vec<Block>, truncated: &mut bool) -> Vec<Block> {
    let mut media = 0;
    blocks
        .into_iter()
        .map(|block| {
            let size = match &block {
                Block::Image { media } | Block::Audio { media } => media.decoded_len(),
                Block::Resource { resource } => {
                    resource.get("blob").and_then(Value::as_str).map_or(0, str::len)
                }
                Block::Other(value) => value.to_string().len(),
                Block::Text { .. } | Block::ResourceLink { .. } => return block,
            };
            media += 1;
            if size <= MEDIA_BYTES_MAX && media <= MEDIA_BLOCKS_MAX {
                return block;
            }
            *truncated = true;
            Block::text(format!("{} (left out: over the limit for media)", block.describe()))
        })
        .collect()
}

fn keep_whole(blocks: &[Block], run: &RunId, call: &CallId, keep: &dyn KeptOutput) -> Option<Kept> {
    let mut file = keep.create(run, call, "result").ok()?;
    for (index, text) in blocks.iter().filter_map(Block::as_text).enumerate() {
        if index > 0 {
            file.write_all(b"\n").ok()?;
        }
        file.write_all(text.as_bytes()).ok()?;
    }
    file.finish().ok()
}

/// Joins all text into one block with a marker in the middle, and puts it where the first text stood.
fn cut_texts(blocks: Vec<Block>, how_to_get_the_rest: &str) -> Vec<Block> {
    let whole = blocks.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n");
    let mut cut = Some(text::head_tail(&whole, RESULT_BYTES_MAX, how_to_get_the_rest).text);
    blocks
        .into_iter()
        .filter_map(|block| match block {
            Block::Text { .. } => cut.take().map(Block::text),
            other => Some(other),
        })
        .collect()
}
