//! Cuts HTML and XML into tags and text. One pass, no look-back: the time is linear in the input whatever is
//! in it. Broken markup is data, never an error.

use std::borrow::Cow;

/// The longest name of a tag that is told apart, in bytes.
const NAME_BYTES_MAX: usize = 40;
/// The longest attribute value that is kept, in bytes.
const VALUE_BYTES_MAX: usize = 8 * 1024;
/// The most attributes of one tag that are kept.
const ATTRIBUTES_MAX: usize = 16;
/// The attributes that anybody here asks for; others are dropped as they are read.
const ATTRIBUTES: &[&str] = &[
    "alt",
    "aria-hidden",
    "charset",
    "class",
    "content",
    "href",
    "hidden",
    "http-equiv",
    "id",
    "name",
    "property",
    "rel",
    "role",
    "src",
    "start",
    "style",
    "type",
];
/// Elements whose content is text up to their end tag.
const RAW: &[&str] =
    &["script", "style", "xmp", "iframe", "noembed", "noframes", "textarea", "title", "plaintext"];

/// One piece of markup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Text, with its character references resolved.
    Text(Cow<'a, str>),
    /// A start tag.
    Open(Tag),
    /// An end tag.
    Close(String),
}

/// A start tag.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Tag {
    /// Its name; in lower case for HTML.
    pub(crate) name: String,
    /// Those attributes that are of use.
    pub(crate) attributes: Vec<(&'static str, String)>,
    /// Whether it ends with `/>`.
    pub(crate) closed: bool,
}

/// Which language is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    /// HTML: names in any case, elements that hold raw text.
    Html,
    /// XML: names as they are, CDATA sections.
    Xml,
}

/// How far one step came.
enum Step<'a> {
    Piece(Piece<'a>),
    /// Something that says nothing was skipped.
    Nothing,
    /// The input ends in the middle of a tag.
    End,
}

/// The pieces of some markup, one after the other.
pub(crate) struct Pieces<'a> {
    rest: &'a str,
    language: Language,
    raw: Option<&'static str>,
}

impl<'a> Pieces<'a> {
    /// Over a whole text.
    pub(crate) fn new(text: &'a str, language: Language) -> Self {
        Pieces { rest: text, language, raw: None }
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (head, tail) = self.rest.split_at(bytes);
        self.rest = tail;
        head
    }

    /// The content of an element that holds raw text, up to its end tag.
    fn raw_text(&mut self, name: &'static str) -> Step<'a> {
        let until = raw_end(self.rest, name);
        let text = self.take(until);
        if text.is_empty() {
            return Step::Nothing;
        }
        let resolve = matches!(name, "textarea" | "title");
        Step::Piece(Piece::Text(if resolve { resolved(text) } else { Cow::Borrowed(text) }))
    }

    /// What stands at a `<`.
    fn tag(&mut self) -> Step<'a> {
        match self.rest.as_bytes().get(1) {
            Some(b'!') => self.declaration(),
            Some(b'?') => self.skip_past(">"),
            Some(b'/') => match self.rest.as_bytes().get(2) {
                Some(c) if is_name_start(*c) => self.close(),
                Some(_) => self.skip_past(">"),
                None => Step::End,
            },
            Some(c) if is_name_start(*c) => self.open(),
            _ => Step::Piece(Piece::Text(Cow::Borrowed(self.take(1)))),
        }
    }

    fn skip_past(&mut self, mark: &str) -> Step<'a> {
        match memchr::memmem::find(self.rest.as_bytes(), mark.as_bytes()) {
            Some(at) => {
                self.take(at + mark.len());
                Step::Nothing
            }
            None => Step::End,
        }
    }

    fn declaration(&mut self) -> Step<'a> {
        if self.rest.starts_with("<!--") {
            // `<!-->` and `<!--->` are whole comments.
            for whole in ["<!-->", "<!--->"] {
                if self.rest.starts_with(whole) {
                    self.take(whole.len());
                    return Step::Nothing;
                }
            }
            return self.skip_past("-->");
        }
        if self.language == Language::Xml && self.rest.starts_with("<![CDATA[") {
            self.take("<![CDATA[".len());
            let until = memchr::memmem::find(self.rest.as_bytes(), b"]]>").unwrap_or(self.rest.len());
            let text = self.take(until);
            self.take(self.rest.len().min(3));
            return Step::Piece(Piece::Text(Cow::Borrowed(text)));
        }
        self.skip_past(">")
    }

    fn close(&mut self) -> Step<'a> {
        self.take(2);
        let name = self.name();
        match self.attributes(&mut Tag::default()) {
            Some(()) => Step::Piece(Piece::Close(name)),
            None => Step::End,
        }
    }

    fn open(&mut self) -> Step<'a> {
        self.take(1);
        let mut tag = Tag { name: self.name(), ..Tag::default() };
        if self.attributes(&mut tag).is_none() {
            return Step::End;
        }
        if self.language == Language::Html {
            self.raw = RAW.iter().copied().find(|it| *it == tag.name);
        }
        Step::Piece(Piece::Open(tag))
    }

    fn name(&mut self) -> String {
        let len = self.rest.bytes().position(|c| is_space(c) || matches!(c, b'/' | b'>'));
        let name = self.take(len.unwrap_or(self.rest.len()));
        let name = host_vocab::text::prefix(name, NAME_BYTES_MAX);
        match self.language {
            Language::Html => name.to_ascii_lowercase(),
            Language::Xml => name.to_owned(),
        }
    }

    /// Reads up to and with the `>`. `None` = the input ends before it.
    fn attributes(&mut self, tag: &mut Tag) -> Option<()> {
        loop {
            let skip = self.rest.bytes().position(|c| !is_space(c) && c != b'/').unwrap_or(self.rest.len());
            tag.closed = skip > 0 && self.rest.as_bytes()[skip - 1] == b'/';
            self.take(skip);
            if self.rest.is_empty() {
                return None;
            }
            if self.rest.starts_with('>') {
                self.take(1);
                return Some(());
            }
            // A `=` at the start belongs to the name.
            let first = self.rest.chars().next().map_or(0, char::len_utf8);
            let len = self.rest.as_bytes()[first..]
                .iter()
                .position(|&c| is_space(c) || matches!(c, b'/' | b'>' | b'='))
                .map_or(self.rest.len(), |at| at + first);
            let name = self.take(len);
            let value = self.value()?;
            let known = ATTRIBUTES.iter().find(|it| it.eq_ignore_ascii_case(name));
            if let Some(known) = known
                && tag.attributes.len() < ATTRIBUTES_MAX
                && !tag.attributes.iter().any(|(have, _)| have == known)
                && value.len() <= VALUE_BYTES_MAX
            {
                tag.attributes.push((known, htmlize::unescape_attribute(value).into_owned()));
            }
        }
    }

    fn value(&mut self) -> Option<&'a str> {
        let skip = self.rest.bytes().position(|c| !is_space(c)).unwrap_or(self.rest.len());
        if self.rest.as_bytes().get(skip) != Some(&b'=') {
            return Some("");
        }
        self.take(skip + 1);
        let skip = self.rest.bytes().position(|c| !is_space(c)).unwrap_or(self.rest.len());
        self.take(skip);
        match self.rest.as_bytes().first() {
            Some(quote @ (b'"' | b'\'')) => {
                let quote = *quote;
                self.take(1);
                let len = memchr::memchr(quote, self.rest.as_bytes())?;
                let value = self.take(len);
                self.take(1);
                Some(value)
            }
            _ => {
                let len = self.rest.bytes().position(|c| is_space(c) || c == b'>');
                Some(self.take(len.unwrap_or(self.rest.len())))
            }
        }
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        while !self.rest.is_empty() {
            let step = match (self.raw.take(), memchr::memchr(b'<', self.rest.as_bytes())) {
                (Some(name), _) => self.raw_text(name),
                (None, Some(0)) => self.tag(),
                (None, at) => {
                    let text = self.take(at.unwrap_or(self.rest.len()));
                    Step::Piece(Piece::Text(resolved(text)))
                }
            };
            match step {
                Step::Piece(piece) => return Some(piece),
                Step::Nothing => {}
                Step::End => self.rest = "",
            }
        }
        None
    }
}

/// Text with its character references resolved.
pub(crate) fn resolved(text: &str) -> Cow<'_, str> {
    if text.contains('&') { htmlize::unescape(text) } else { Cow::Borrowed(text) }
}

/// Where the end tag of a raw element stands, or the end of the text.
fn raw_end(text: &str, name: &str) -> usize {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'<', bytes)
        .find(|&at| {
            let rest = &bytes[at + 1..];
            rest.first() == Some(&b'/')
                && rest.get(1..=name.len()).is_some_and(|it| it.eq_ignore_ascii_case(name.as_bytes()))
                && rest.get(name.len() + 1).is_none_or(|&c| is_space(c) || matches!(c, b'/' | b'>'))
        })
        .unwrap_or(text.len())
}

fn is_space(c: u8) -> bool {
    matches!(c, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c')
}

fn is_name_start(c: u8) -> bool {
    c.is_ascii_alphabetic() || c == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fmt::Write as _;

    fn shown(text: &str, language: Language) -> String {
        let mut out = String::new();
        for piece in Pieces::new(text, language) {
            let _infallible = match piece {
                Piece::Text(text) => writeln!(out, "text  {text:?}"),
                Piece::Open(tag) => writeln!(out, "open  {} {:?} {}", tag.name, tag.attributes, tag.closed),
                Piece::Close(name) => writeln!(out, "close {name}"),
            };
        }
        out
    }

    // TOO-4
    #[test]
    fn html_as_it_is_found() {
        insta::assert_snapshot!(shown(
            "<!DOCTYPE html><P CLASS='a\"b' id=x hidden data-x=1 id=y>a &amp b &lt;i&gt; &#x202e;<br/>\
             <script>if (a</b) { \"</div>\" }</SCRIPT ><!-- <p> --><!--> 1 < 2 <3 </><//x><title>T &amp; U</b></title>\
             <a href=/x?a=1&copy=2>l</a foo='>'><textarea><p>",
            Language::Html
        ));
    }

    #[test]
    fn xml_keeps_case_and_cdata() {
        insta::assert_snapshot!(shown(
            "<?xml version='1.0'?><rdf:RDF><link href='u'/><pubDate><![CDATA[<b>&amp;]]></pubDate>",
            Language::Xml
        ));
    }

    proptest! {
        // TOO-4
        #[test]
        fn any_text_is_read_to_its_end(text in "(<|>|/|!|--|\"|'|=|&|#|;|script|title|a|\\PC| ){0,60}") {
            for language in [Language::Html, Language::Xml] {
                let pieces = Pieces::new(&text, language).count();
                prop_assert!(pieces <= text.len() + 1);
            }
        }
    }
}
