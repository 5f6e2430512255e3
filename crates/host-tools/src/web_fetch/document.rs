//! From a response to the text that a model reads.

use super::charset;
use super::feed;
use super::gate::{Gate, gate};
use super::kind::{Kind, MediaType, kind_of};
use super::main_content::{self, Found};
use super::markdown::{self, Style};
use super::request::Format;
use super::transfer::Fetched;
use crate::read::pdf;
use crate::web::frame;
use crate::web::markup::Language;
use crate::web::tree::Tree;
use host_vocab::text;
use http::StatusCode;
use url::Url;

/// The most text of a document that is kept, in bytes.
const TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A document, ready to be shown in parts.
#[derive(Debug, Clone)]
pub(super) struct Document {
    /// Where it came from in the end.
    pub(super) url: Url,
    pub(super) status: StatusCode,
    pub(super) text: String,
    pub(super) kind: &'static str,
    /// How its text was found (`main`, `scored`, `body`, `everything`, `feed`, `pretty`, `text`, `raw`, `pdf`).
    pub(super) stage: &'static str,
    /// A door that stands before it.
    pub(super) gate: Option<Gate>,
    /// Whether it looks as if scripts draw it, so that its text is not all there is.
    pub(super) is_app: bool,
    /// Whether its end was left out.
    pub(super) cut: bool,
    pub(super) bytes: usize,
    pub(super) redirects: u32,
}

/// Why there is no text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum DocumentError {
    #[error("{0} is not text")]
    Unsupported(String),
    #[error("{0}")]
    Extraction(&'static str),
}

/// Reads a response. Works on its own thread: pages can be large.
pub(super) fn read(fetched: &Fetched, format: Format) -> Result<Document, DocumentError> {
    let media = MediaType::parse(fetched.content_type.as_deref());
    let kind = if fetched.body.is_empty() { Kind::Text } else { kind_of(&media, &fetched.body) };
    let is_error = !fetched.status.is_success();
    let mut it = Document {
        url: fetched.url.clone(),
        status: fetched.status,
        text: String::new(),
        kind: kind.as_str(),
        stage: "text",
        gate: None,
        is_app: false,
        cut: false,
        bytes: fetched.body.len(),
        redirects: fetched.redirects,
    };
    // The client takes the header away from a body that it decoded; this one came in a form nobody asked for.
    if let Some(coding) = fetched.headers.get(http::header::CONTENT_ENCODING).filter(|it| *it != "identity")
        && !is_error
    {
        let coding = host_vocab::text::one_line(&String::from_utf8_lossy(coding.as_bytes()), 40);
        return Err(DocumentError::Unsupported(format!("a body in the content encoding {coding:?}")));
    }
    if matches!(kind, Kind::Binary) || (kind == Kind::Pdf && format == Format::Raw) {
        it.gate = gate(fetched.status, &fetched.headers, "", 0);
        // Of an answer that is an error anyway, the body matters least.
        return if is_error { Ok(it) } else { Err(DocumentError::Unsupported(media.shown())) };
    }
    if kind == Kind::Pdf {
        it.stage = "pdf";
        it.text = pdf_text(&fetched.body)?;
        return Ok(bounded(it));
    }
    let decoded = charset::decode(&fetched.body, media.charset.as_deref());
    let mut chars = decoded.len();
    match (format, kind) {
        (Format::Raw, _) => it.stage = "raw",
        (_, Kind::Html) => chars = html(&mut it, &decoded, format),
        (_, Kind::Json) => match serde_json::from_str::<serde_json::Value>(&decoded) {
            Ok(value) => {
                it.stage = "pretty";
                it.text = serde_json::to_string_pretty(&value).unwrap_or_default();
            }
            Err(_) => it.stage = "text",
        },
        (_, Kind::Xml) => {
            if let Some(text) = feed::render(&decoded, &fetched.url) {
                (it.kind, it.stage, it.text) = ("feed", "feed", text);
            }
        }
        _ => {}
    }
    it.gate = gate(fetched.status, &fetched.headers, &decoded, chars);
    if matches!(it.stage, "text" | "raw") {
        it.text = decoded;
    } else if it.text.trim().is_empty() && !is_error && it.gate.is_none() {
        return Err(DocumentError::Extraction(if it.is_app {
            "the page holds no text of its own: its scripts draw it"
        } else {
            "the page holds no text that a reader would see"
        }));
    }
    Ok(bounded(it))
}

fn bounded(mut it: Document) -> Document {
    if it.text.len() > TEXT_BYTES_MAX {
        it.text.truncate(text::prefix(&it.text, TEXT_BYTES_MAX).len());
        it.cut = true;
    }
    it.text = frame::visible(&it.text);
    it
}

fn pdf_text(bytes: &[u8]) -> Result<String, DocumentError> {
    let (text, _) = pdf::text_of(bytes).ok_or(DocumentError::Extraction(
        "the PDF is broken, encrypted, or of a form that can't be taken apart",
    ))?;
    if pdf::has_text(&text) {
        Ok(text)
    } else {
        Err(DocumentError::Extraction("the PDF's pages hold no text (perhaps scanned pictures)"))
    }
}

/// Fills in the text of a page; gives how much there is, in characters.
fn html(it: &mut Document, source: &str, format: Format) -> usize {
    let tree = Tree::parse(source, Language::Html);
    let Found { node, skip, stage, chars } = main_content::find(&tree);
    let base = base_of(&tree, &it.url);
    let style = Style { base: &base, plain: format == Format::Text };
    let body = markdown::write(&tree, node, &skip, style);
    it.stage = stage;
    it.cut = tree.cut || body.len() >= TEXT_BYTES_MAX;
    it.is_app = main_content::looks_like_app(&tree, chars);
    let title =
        tree.first("title").map(|it| text::one_line(&tree.all_text(it, 2000), 300)).unwrap_or_default();
    let has_heading = body.starts_with("# ") || body.lines().next().is_some_and(|line| line == title);
    it.text = if title.is_empty() || has_heading || body.is_empty() {
        body
    } else if style.plain {
        format!("{title}\n\n{body}")
    } else {
        format!("# {title}\n\n{body}")
    };
    chars
}

/// What relative links start from: the page's own word counts if it leads to the web.
fn base_of(tree: &Tree, url: &Url) -> Url {
    tree.first("base")
        .and_then(|it| tree.attribute(it, "href"))
        .and_then(|href| url.join(href).ok())
        .filter(|it| matches!(it.scheme(), "http" | "https"))
        .unwrap_or_else(|| url.clone())
}
