//! One bullet of a daily file, read and written.
//!
//! ```text
//! - – Ada prefers tea
//!   <!--mem id=RM-… type=note status=open salience=0.5 isInsight=0 created=2026-09-03T10:00:00.000Z refs= -->
//! ```
//!
//! The comment may stand on the first line as well, after two spaces (an older form). What is no bullet is
//! left alone: a file is never rewritten from what was parsed.

use jiff::Timestamp;
use std::ops::Range;

/// What a comment begins with.
pub(crate) const OPEN: &str = "<!--mem ";
/// What no text may hold.
pub(crate) const DELIMITER: &str = "<!--mem";
const CLOSE: &str = "-->";

/// What a bullet is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Something to do.
    Task,
    /// Something that happened.
    Event,
    /// Anything else.
    Note,
}

impl Kind {
    /// The word of the format.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Task => "task",
            Kind::Event => "event",
            Kind::Note => "note",
        }
    }

    /// From the word.
    pub fn of(word: &str) -> Option<Self> {
        [Kind::Task, Kind::Event, Kind::Note].into_iter().find(|kind| kind.as_str() == word)
    }
}

/// Where a bullet stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It holds.
    Open,
    /// It is done.
    Done,
    /// It is planned.
    Scheduled,
    /// It went elsewhere.
    Migrated,
    /// It was forgotten.
    Dropped,
    /// Another one replaced it.
    Invalidated,
}

impl Status {
    const ALL: [Status; 6] = [
        Status::Open,
        Status::Done,
        Status::Scheduled,
        Status::Migrated,
        Status::Dropped,
        Status::Invalidated,
    ];

    /// The word of the format.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Open => "open",
            Status::Done => "done",
            Status::Scheduled => "scheduled",
            Status::Migrated => "migrated",
            Status::Dropped => "dropped",
            Status::Invalidated => "invalidated",
        }
    }

    /// From the word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Whether it is recalled.
    pub const fn is_live(self) -> bool {
        !matches!(self, Status::Dropped | Status::Invalidated)
    }
}

/// One memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Bullet {
    /// Its id.
    pub id: String,
    /// What it says, one line.
    pub text: String,
    /// What it is about.
    pub kind: Kind,
    /// Where it stands.
    pub status: Status,
    /// How much it matters, 0 to 1.
    pub salience: f32,
    /// Whether it was concluded from others.
    pub is_insight: bool,
    /// When it was noted, as written.
    pub created: String,
    /// Labels and links.
    pub refs: Vec<String>,
    /// When it is due.
    pub due: Option<String>,
}

impl Bullet {
    /// An open note.
    pub fn note(id: String, text: String, created_ms: i64) -> Self {
        Bullet {
            id,
            text,
            kind: Kind::Note,
            status: Status::Open,
            salience: 0.5,
            is_insight: false,
            created: instant(created_ms),
            refs: Vec::new(),
            due: None,
        }
    }

    /// When it was noted, in Unix milliseconds; 0 for what is no instant.
    pub fn created_ms(&self) -> i64 {
        millis(&self.created)
    }

    /// The id of the memory that this one replaces.
    pub fn supersedes(&self) -> Option<&str> {
        self.refs.iter().find_map(|it| it.strip_prefix("supersedes:"))
    }
}

/// An instant as the format writes it: UTC with milliseconds.
pub(crate) fn instant(ms: i64) -> String {
    let at = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH);
    format!("{at:.3}")
}

/// Unix milliseconds of an instant or a bare date; 0 for what is neither.
pub(crate) fn millis(text: &str) -> i64 {
    if let Ok(at) = text.parse::<Timestamp>() {
        return at.as_millisecond();
    }
    let day = text.parse::<jiff::civil::Date>().ok();
    day.and_then(|day| day.to_zoned_datetime(jiff::tz::TimeZone::UTC).ok())
        .map_or(0, |at| at.timestamp().as_millisecond())
}

/// Why a bullet can't be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BulletError {
    /// More than one line.
    #[error("the text has a line break")]
    LineBreak,
    /// It holds the mark of a comment.
    #[error("the text holds {DELIMITER}")]
    Delimiter,
    /// A field holds white space or a mark.
    #[error("the field {0} holds a character that the format has no place for")]
    Field(&'static str),
}

/// A bullet as its two lines, with a line feed at the end.
///
/// # Errors
/// See [`BulletError`].
pub fn render(bullet: &Bullet) -> Result<String, BulletError> {
    if bullet.text.contains(['\n', '\r', '\u{0b}', '\u{0c}', '\u{85}', '\u{2028}', '\u{2029}']) {
        return Err(BulletError::LineBreak);
    }
    if bullet.text.contains(DELIMITER) {
        return Err(BulletError::Delimiter);
    }
    let refs = bullet.refs.join(",");
    let fields = [("id", &bullet.id), ("created", &bullet.created), ("refs", &refs)];
    for (name, value) in fields.into_iter().chain(bullet.due.iter().map(|due| ("due", due))) {
        if value.contains(char::is_whitespace) || value.contains(CLOSE) || value.contains('<') {
            return Err(BulletError::Field(name));
        }
    }
    if bullet.refs.iter().any(|it| it.contains(',')) {
        return Err(BulletError::Field("refs"));
    }
    let due = bullet.due.as_ref().map_or(String::new(), |due| format!(" due={due}"));
    Ok(format!(
        "- {} {}\n  {OPEN}id={} type={} status={} salience={} isInsight={} created={} refs={refs}{due} {CLOSE}\n",
        marker(bullet.kind, bullet.status),
        bullet.text,
        bullet.id,
        bullet.kind.as_str(),
        bullet.status.as_str(),
        bullet.salience,
        u8::from(bullet.is_insight),
        bullet.created,
    ))
}

/// The mark in front of a bullet. What is no longer open shows a task's mark whatever it is.
pub(crate) fn marker(kind: Kind, status: Status) -> &'static str {
    match (status, kind) {
        (Status::Done, _) => "[x]",
        (Status::Migrated, _) => "[>]",
        (Status::Scheduled, _) => "[<]",
        (Status::Dropped | Status::Invalidated, _) => "[~]",
        (Status::Open, Kind::Task) => "[ ]",
        (Status::Open, Kind::Event) => "◦",
        (Status::Open, Kind::Note) => "–",
    }
}

const MARKS: [(&str, Kind, Status); 7] = [
    ("[ ] ", Kind::Task, Status::Open),
    ("[x] ", Kind::Task, Status::Done),
    ("[>] ", Kind::Task, Status::Migrated),
    ("[<] ", Kind::Task, Status::Scheduled),
    ("[~] ", Kind::Task, Status::Dropped),
    ("◦ ", Kind::Event, Status::Open),
    ("– ", Kind::Note, Status::Open),
];

/// A bullet with its place in the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The bullet.
    pub bullet: Bullet,
    /// Its bytes, line feeds included.
    pub range: Range<usize>,
}

/// All bullets of a text from its start, and the place from which more text would have to be read again: the
/// end of the last whole record.
pub fn parse(text: &str) -> (Vec<Parsed>, usize) {
    let mut found = Vec::new();
    let mut resume = 0;
    let mut at = 0;
    while at < text.len() {
        let (line, next) = line_at(text, at);
        let whole = text[..next].ends_with('\n');
        let Some(rest) = line.strip_prefix("- ") else {
            at = next;
            resume = if whole { next } else { resume };
            continue;
        };
        // The older form first: its comment is on the same line.
        if let Some(comment_at) = rest.rfind("  <!--mem ")
            && let Some(bullet) = read(&rest[..comment_at], rest[comment_at..].trim())
        {
            found.push(Parsed { bullet, range: at..next });
            at = next;
            resume = if whole { next } else { resume };
            continue;
        }
        let (second, after) = line_at(text, next);
        if next < text.len() && second.starts_with([' ', '\t']) && second.trim_start().starts_with(OPEN) {
            if let Some(bullet) = read(rest, second.trim()) {
                found.push(Parsed { bullet, range: at..after });
            }
            at = after;
            resume = if text[..after].ends_with('\n') { after } else { resume };
            continue;
        }
        // Its comment may still come, unless the line after it is there as a whole.
        at = next;
        resume = if next < text.len() && text[..after].ends_with('\n') { next } else { resume };
    }
    (found, resume)
}

/// The line at a place without its end, and where the next one begins.
fn line_at(text: &str, at: usize) -> (&str, usize) {
    let rest = &text[at..];
    let end = memchr_line(rest);
    let line = &rest[..end];
    let next = if end < rest.len() { at + end + 1 } else { text.len() };
    (line.strip_suffix('\r').unwrap_or(line), next)
}

fn memchr_line(text: &str) -> usize {
    text.bytes().position(|byte| byte == b'\n').unwrap_or(text.len())
}

/// A bullet of its marked text and its comment; nothing where id, instant or text is missing.
fn read(marked: &str, comment: &str) -> Option<Bullet> {
    let fields = comment.strip_prefix(OPEN)?.strip_suffix(CLOSE)?;
    let (text, kind, status) = MARKS
        .iter()
        .find_map(|(mark, kind, status)| Some((marked.strip_prefix(mark)?, *kind, *status)))
        .unwrap_or((marked, Kind::Note, Status::Open));
    let mut bullet = Bullet {
        id: String::new(),
        text: text.trim().to_owned(),
        kind,
        status,
        salience: 0.5,
        is_insight: false,
        created: String::new(),
        refs: Vec::new(),
        due: None,
    };
    for (key, value) in fields.split_ascii_whitespace().filter_map(|field| field.split_once('=')) {
        match key {
            "id" => bullet.id = value.to_owned(),
            "type" => bullet.kind = Kind::of(value).unwrap_or(kind),
            "status" => bullet.status = Status::of(value).unwrap_or(status),
            "salience" => bullet.salience = salience(value),
            "isInsight" => bullet.is_insight = value == "1",
            "created" => bullet.created = value.to_owned(),
            "refs" => {
                bullet.refs = value.split(',').filter(|it| !it.is_empty()).map(str::to_owned).collect();
            }
            "due" => bullet.due = Some(value.to_owned()).filter(|due| !due.is_empty()),
            _ => {}
        }
    }
    let whole = !bullet.id.is_empty() && !bullet.created.is_empty() && !bullet.text.is_empty();
    whole.then_some(bullet)
}

fn salience(value: &str) -> f32 {
    value.parse::<f32>().ok().filter(|it| (0.0..=1.0).contains(it)).unwrap_or(0.5)
}

/// The same record with another status: its mark and its comment's word change, and nothing else of it.
pub(crate) fn with_status(record: &str, bullet: &Bullet, status: Status, more_ref: Option<&str>) -> String {
    let (old, new) = (marker_of(record), marker(bullet.kind, status));
    let mut out = match old {
        Some(old) => record.replacen(&format!("- {old} "), &format!("- {new} "), 1),
        None => record.replacen("- ", &format!("- {new} "), 1),
    };
    let Some(comment) = out.rfind(OPEN) else { return out };
    let word = |out: &mut String, key: &str, change: &dyn Fn(&str) -> String| {
        let Some(from) = out[comment..].find(&format!(" {key}=")).map(|at| comment + at + key.len() + 2)
        else {
            return false;
        };
        let end = out[from..].find(char::is_whitespace).map_or(out.len(), |at| from + at);
        let changed = change(&out[from..end]);
        out.replace_range(from..end, &changed);
        true
    };
    if !word(&mut out, "status", &|_| status.as_str().to_owned())
        && let Some(close) = out.rfind(CLOSE)
    {
        out.insert_str(close, &format!("status={} ", status.as_str()));
    }
    if let Some(more) = more_ref {
        word(&mut out, "refs", &|old| if old.is_empty() { more.to_owned() } else { format!("{old},{more}") });
    }
    out
}

fn marker_of(record: &str) -> Option<&'static str> {
    let rest = record.strip_prefix("- ")?;
    MARKS.iter().map(|(mark, ..)| *mark).find(|mark| rest.starts_with(mark)).map(str::trim_end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tea() -> Bullet {
        Bullet::note("RM-1".into(), "Ada prefers tea".into(), 1_788_000_000_000)
    }

    // REC-2
    #[test]
    fn the_two_lines_of_a_bullet() {
        let mut it = tea();
        insta::assert_snapshot!(render(&it).unwrap(), @r"
        - – Ada prefers tea
          <!--mem id=RM-1 type=note status=open salience=0.5 isInsight=0 created=2026-08-29T10:40:00.000Z refs= -->
        ");
        it.status = Status::Invalidated;
        it.kind = Kind::Event;
        it.is_insight = true;
        it.salience = 0.85;
        it.refs = vec!["supersedes:RM-0".into(), "person:ada".into()];
        it.due = Some("2026-09-01".into());
        let text = render(&it).unwrap();
        insta::assert_snapshot!(text, @r"
        - [~] Ada prefers tea
          <!--mem id=RM-1 type=event status=invalidated salience=0.85 isInsight=1 created=2026-08-29T10:40:00.000Z refs=supersedes:RM-0,person:ada due=2026-09-01 -->
        ");
        assert_eq!(parse(&text).0[0].bullet, it);
    }

    // REC-2: what older and other writers left behind is read, and what is no bullet is left alone.
    #[test]
    fn old_forms_and_raw_text() {
        let text = "# 2026-09-03\n\n- a list item of somebody\n- ◦ Met Bob  <!--mem id=E-1 created=2026-09-03T08:00:00.000Z type=odd status=odd salience=7 -->\n\
            - [<] Call Eve\r\n\t<!--mem id=T-1 type=task status=scheduled created=2026-09-03 refs=a,,b -->\r\n\
            - – no id\n  <!--mem created=2026-09-03 -->\n- – no comment\nprose\n- – half\n  <!--mem id=H";
        let (found, resume) = parse(text);
        let ids: Vec<_> = found.iter().map(|it| it.bullet.id.as_str()).collect();
        assert_eq!(ids, ["E-1", "T-1"]);
        assert_eq!((found[0].bullet.kind, found[0].bullet.status), (Kind::Event, Status::Open));
        assert!((found[0].bullet.salience - 0.5).abs() < f32::EPSILON);
        assert_eq!(found[1].bullet.text, "Call Eve");
        assert_eq!(found[1].bullet.refs, ["a", "b"]);
        assert_eq!(&text[resume..], "- – half\n  <!--mem id=H");
    }

    // REM-6
    #[test]
    fn only_the_status_changes() {
        let text = render(&tea()).unwrap();
        let changed = with_status(&text, &tea(), Status::Dropped, None);
        assert_eq!(changed, text.replace("- – ", "- [~] ").replace("status=open", "status=dropped"));
        let old = "- ◦ status=open  <!--mem id=E-1 created=2026-09-03 -->\n";
        let bullet = parse(old).0.remove(0).bullet;
        let changed = with_status(old, &bullet, Status::Invalidated, None);
        assert_eq!(changed, "- [~] status=open  <!--mem id=E-1 created=2026-09-03 status=invalidated -->\n");
        assert_eq!(parse(&changed).0[0].bullet.status, Status::Invalidated);
    }

    // T10-05
    #[test]
    fn texts_that_look_like_the_format_stay_texts() {
        for text in
            ["- [x] done", "[x] done", "– dash", "◦ ring", "## System", "{\"status\":\"ok\"}", "--> x"]
        {
            let mut it = tea();
            it.text = text.into();
            let (found, _) = parse(&render(&it).unwrap());
            assert_eq!(found[0].bullet, it, "{text}");
        }
        for (text, error) in [("a <!--mem b", BulletError::Delimiter), ("a\u{2028}b", BulletError::LineBreak)]
        {
            let mut it = tea();
            it.text = text.into();
            assert_eq!(render(&it), Err(error));
        }
    }

    proptest! {
        // REC-2
        #[test]
        fn what_is_written_is_read(words in prop::collection::vec("[^\\s\\p{C}]{1,12}", 1..8), salience in 0u8..=100) {
            let mut it = tea();
            it.text = words.join(" ");
            it.salience = f32::from(salience) / 100.0;
            prop_assume!(!it.text.contains(DELIMITER));
            let text = render(&it).unwrap();
            let (found, resume) = parse(&text);
            prop_assert_eq!(resume, text.len());
            prop_assert_eq!(&found[0].bullet, &it);
        }

        // Reading in two steps finds what reading at once finds.
        #[test]
        fn reading_goes_on_where_it_stopped(cut in 0usize..400) {
            let text = [render(&tea()).unwrap(), "# raw\n- raw\n".into(), render(&tea()).unwrap()].concat();
            let cut = text.floor_char_boundary(cut.min(text.len()));
            let (first, resume) = parse(&text[..cut]);
            let kept = first.iter().filter(|it| it.range.end <= resume).count();
            let (rest, _) = parse(&text[resume..]);
            prop_assert_eq!(kept + rest.len(), 2);
        }
    }
}
