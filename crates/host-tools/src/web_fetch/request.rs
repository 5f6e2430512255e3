//! What a call asks for, checked in the documented order before anything is sent.

use super::Input;
use super::settings::{RenderCeiling, WebFetchSettings};
use host_surface::ToolError;
use http::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

/// The longest address, in bytes.
const URL_BYTES_MAX: usize = 4096;
/// The longest header value, in bytes.
const HEADER_BYTES_MAX: usize = 1000;
/// How much is shown where the call doesn't say, in characters.
const CHARS_DEFAULT: usize = 16_000;
/// The most that a call can ask to see, in characters; the gate's bound on results is near it.
const CHARS_MAX: usize = 200_000;
/// The most lines that a call can ask for.
const LINES_MAX: usize = 10_000;
/// The headers that a call may set, as the answer to a wrong one lists them.
const HEADERS: [HeaderName; 4] =
    [http::header::ACCEPT, http::header::ACCEPT_LANGUAGE, http::header::RANGE, http::header::USER_AGENT];

/// In which form the text comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Format {
    Markdown,
    Text,
    Raw,
}

/// What of a browser is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Render {
    Never,
    Auto,
    Always,
}

/// A checked call.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) format: Format,
    pub(super) render: Render,
    pub(super) chars_max: usize,
    pub(super) start_line: usize,
    pub(super) lines_max: usize,
}

impl Request {
    /// Checks a call.
    ///
    /// # Errors
    /// The first thing that is wrong with it, with its own code.
    pub(super) fn check(input: &Input, settings: &WebFetchSettings) -> Result<Self, ToolError> {
        let mut url = address(&input.url)?;
        url.set_fragment(None);
        let headers = headers(input)?;
        let format = match input.format.as_deref().unwrap_or("markdown") {
            "markdown" => Format::Markdown,
            "text" => Format::Text,
            "raw" => Format::Raw,
            _ => return Err(ToolError::new("invalid_format", "format must be markdown, text or raw")),
        };
        let chars_max = within("max_output_chars", input.max_output_chars, CHARS_DEFAULT, CHARS_MAX)?;
        let start_line = within("start_line", input.start_line, 1, usize::MAX)?;
        let lines_max = within("max_lines", input.max_lines, LINES_MAX, LINES_MAX)?;
        let render = render(input, settings, format)?;
        if !settings.reach.admits(&url) {
            let host = url.host_str().unwrap_or_default();
            return Err(ToolError::new(
                "network_denied",
                format!(
                    "the network policy ({}) does not let this agent reach {host}; the operator can change \
                     sandbox.network",
                    settings.reach.as_str()
                ),
            ));
        }
        Ok(Request { url, headers, format, render, chars_max, start_line, lines_max })
    }
}

fn address(text: &str) -> Result<Url, ToolError> {
    let invalid =
        |why: &str| ToolError::new("invalid_url", format!("url {why}; write it as https://host/path"));
    if text.len() > URL_BYTES_MAX {
        return Err(invalid(&format!("is longer than {URL_BYTES_MAX} bytes")));
    }
    let url = Url::parse(text.trim()).map_err(|_| invalid("is not a whole address"))?;
    check_scheme_and_user(&url)?;
    if url.host_str().is_none_or(str::is_empty) {
        return Err(invalid("names no host"));
    }
    Ok(url)
}

/// What holds for every address on the way, redirects included.
pub(super) fn check_scheme_and_user(url: &Url) -> Result<(), ToolError> {
    if !matches!(url.scheme(), "http" | "https") {
        let message = "only http and https addresses are fetched; files are read with Read";
        return Err(ToolError::new("unsupported_protocol", message));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let message =
            "the address holds a user or password; leave them out, since pages are fetched without a login";
        return Err(ToolError::new("url_credentials_rejected", message));
    }
    Ok(())
}

fn headers(input: &Input) -> Result<HeaderMap, ToolError> {
    let rejected = |why: String| ToolError::new("header_rejected", why);
    let mut out = HeaderMap::new();
    for (name, value) in input.headers.iter().flatten() {
        let known = HEADERS.iter().find(|it| it.as_str().eq_ignore_ascii_case(name));
        let Some(known) = known else {
            let message = "headers may hold Accept, Accept-Language, Range and User-Agent, nothing else";
            return Err(rejected(message.to_owned()));
        };
        let value = HeaderValue::from_str(value)
            .ok()
            .filter(|_| value.len() <= HEADER_BYTES_MAX)
            .ok_or_else(|| {
                rejected(format!("{known}: the value must be one line of at most {HEADER_BYTES_MAX} bytes"))
            })?;
        if out.insert(known.clone(), value).is_some() {
            return Err(rejected(format!("{known} is given twice")));
        }
    }
    Ok(out)
}

fn within(name: &str, value: Option<i64>, default: usize, max: usize) -> Result<usize, ToolError> {
    let Some(value) = value else { return Ok(default) };
    usize::try_from(value).ok().filter(|it| (1..=max).contains(it)).ok_or_else(|| {
        let range = if max == usize::MAX { "at least 1".to_owned() } else { format!("from 1 to {max}") };
        ToolError::new("invalid_range", format!("{name} must be {range}, not {value}"))
    })
}

fn render(input: &Input, settings: &WebFetchSettings, format: Format) -> Result<Render, ToolError> {
    let wanted = match input.render.as_deref() {
        None => None,
        Some("never") => Some(Render::Never),
        Some("auto") => Some(Render::Auto),
        Some("always") => Some(Render::Always),
        Some(_) => {
            return Err(ToolError::new("invalid_render_mode", "render must be never, auto or always"));
        }
    };
    if format == Format::Raw && !matches!(wanted, None | Some(Render::Never)) {
        let message = "format raw is the body as it was sent; use render never with it";
        return Err(ToolError::new("invalid_render_format", message));
    }
    Ok(match (wanted, settings.render) {
        // What the operator forbids no call can ask for; `always` is refused later, since it is strict.
        (Some(Render::Always), _) => Render::Always,
        (_, RenderCeiling::Never) => Render::Never,
        (wanted, RenderCeiling::Auto) => wanted.unwrap_or(Render::Auto),
    })
}
