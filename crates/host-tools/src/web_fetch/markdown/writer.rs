//! Text in lines: white space collapses, blocks are set apart, and what is nested is indented.

/// The deepest nesting that is shown by indentation.
const INDENTS_MAX: usize = 12;

/// What has to come before the next text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    Nothing,
    Line,
    Paragraph,
}

struct Indent {
    first: String,
    rest: String,
    begun: bool,
}

/// The text as far as it is written.
pub(super) struct Writer {
    out: String,
    bytes_max: usize,
    indents: Vec<Indent>,
    /// Levels that were opened over the deepest that is shown.
    deeper: usize,
    gap: Gap,
    space: bool,
    at_line_start: bool,
    /// Marks that wait for the text that they open.
    waiting: Vec<String>,
    /// How many marks have been opened around this place.
    marks: usize,
    one_line: bool,
    lists: usize,
}

impl Writer {
    pub(super) fn new(bytes_max: usize) -> Self {
        Writer {
            out: String::new(),
            bytes_max,
            indents: Vec::new(),
            deeper: 0,
            gap: Gap::Nothing,
            space: false,
            at_line_start: true,
            waiting: Vec::new(),
            marks: 0,
            one_line: false,
            lists: 0,
        }
    }

    /// Whether no more is taken.
    pub(super) fn is_full(&self) -> bool {
        self.out.len() >= self.bytes_max
    }

    /// What was written.
    pub(super) fn finish(self) -> String {
        self.out.trim_end().to_owned()
    }

    /// Text whose white space means nothing.
    pub(super) fn text(&mut self, text: &str) {
        for word in text.split_inclusive(|c: char| c.is_whitespace()) {
            if self.is_full() {
                return;
            }
            let bare = word.trim_end();
            let before = word.len() - word.trim_start().len();
            if bare.is_empty() || before > 0 {
                self.space = true;
            }
            if !bare.is_empty() {
                self.put(bare.trim_start());
                self.space = bare.len() < word.len();
            }
        }
    }

    /// Text as it is, on the current line.
    pub(super) fn raw(&mut self, text: &str) {
        self.put(text);
    }

    /// Lines as they are.
    pub(super) fn raw_lines(&mut self, text: &str) {
        for (index, line) in text.split('\n').enumerate() {
            if self.is_full() {
                return;
            }
            if index > 0 {
                self.begin();
                self.out.push('\n');
                self.at_line_start = true;
                self.gap = Gap::Nothing;
            }
            let line = line.trim_end_matches('\r');
            if line.is_empty() {
                self.line_without_text();
            } else {
                self.put(line);
            }
        }
    }

    /// The next text begins on a line of its own.
    pub(super) fn line(&mut self) {
        self.break_by(Gap::Line);
    }

    /// The next text is set apart from what is before.
    pub(super) fn paragraph(&mut self) {
        let gap = if self.lists > 0 && self.item_is_fresh() { Gap::Line } else { Gap::Paragraph };
        self.break_by(gap);
    }

    /// Whether nothing has been said yet in the innermost item of a list.
    fn item_is_fresh(&self) -> bool {
        self.indents.last().is_some_and(|it| !it.begun)
    }

    fn break_by(&mut self, gap: Gap) {
        if self.one_line {
            self.space = true;
            return;
        }
        self.space = false;
        if !self.out.is_empty() {
            self.gap = self.gap.max(gap);
        }
    }

    /// Lists inside of lists follow without an empty line.
    pub(super) fn list_begins(&mut self) {
        self.break_by(if self.lists > 0 { Gap::Line } else { Gap::Paragraph });
        self.lists += 1;
    }

    pub(super) fn list_ends(&mut self) {
        self.lists = self.lists.saturating_sub(1);
        self.break_by(if self.lists > 0 { Gap::Line } else { Gap::Paragraph });
    }

    /// Indents what follows: the first line by one text, all others by another.
    pub(super) fn indent(&mut self, first: &str, rest: &str) {
        if self.indents.len() >= INDENTS_MAX {
            self.deeper += 1;
            return;
        }
        self.indents.push(Indent { first: first.to_owned(), rest: rest.to_owned(), begun: false });
    }

    pub(super) fn dedent(&mut self) {
        if self.deeper > 0 {
            self.deeper -= 1;
            return;
        }
        self.indents.pop();
    }

    /// Opens a mark; it is written with the first text inside of it.
    pub(super) fn open(&mut self, mark: &str) {
        self.waiting.push(mark.to_owned());
        self.marks += 1;
    }

    /// Closes the last mark; where nothing was inside, it is as if it had never been.
    pub(super) fn close(&mut self, mark: &str) {
        self.marks = self.marks.saturating_sub(1);
        if self.waiting.pop().is_none() {
            self.out.push_str(mark);
        }
    }

    /// Whether this is inside of many marks already; a page can nest them without end.
    pub(super) fn is_one_mark_deep(&self) -> bool {
        self.marks > 8
    }

    /// Whether breaks are only spaces.
    pub(super) fn one_line(&mut self, on: bool) {
        self.one_line = on;
    }

    fn put(&mut self, text: &str) {
        self.begin();
        if std::mem::take(&mut self.space) && !self.at_line_start {
            self.out.push(' ');
        }
        for mark in std::mem::take(&mut self.waiting) {
            self.out.push_str(&mark);
        }
        self.out.push_str(text);
        self.at_line_start = false;
    }

    /// Writes what has to come before text: the break that is due, and the indentation.
    fn begin(&mut self) {
        let gap = std::mem::replace(&mut self.gap, Gap::Nothing);
        if gap != Gap::Nothing && !self.at_line_start {
            self.out.push('\n');
            self.at_line_start = true;
        }
        if gap == Gap::Paragraph {
            self.line_without_text();
            self.out.push('\n');
        }
        if !self.at_line_start {
            return;
        }
        self.space = false;
        for indent in &mut self.indents {
            let begun = std::mem::replace(&mut indent.begun, true);
            self.out.push_str(if begun { &indent.rest } else { &indent.first });
        }
        self.at_line_start = false;
    }

    /// An empty line inside of what is nested: quotes show, spaces at the end don't.
    fn line_without_text(&mut self) {
        let prefix: String = self.indents.iter().filter(|it| it.begun).map(|it| it.rest.as_str()).collect();
        self.out.push_str(prefix.trim_end());
    }
}
