//! The bounds of the views. An input over one is an error that names it (HIS-4).

/// How many runs or calls a page has where nothing is said.
pub const LIMIT_DEFAULT: usize = 5;
/// The most of one page.
pub const LIMIT_MAX: usize = 10;
/// The longest query, in bytes of UTF-8.
pub const QUERY_BYTES_MAX: usize = 512;
/// The most different words of a query.
pub const QUERY_TERMS_MAX: usize = 16;
/// The most values of one filter list.
pub const FILTER_VALUES_MAX: usize = 20;
/// The longest value of a filter list, in bytes.
pub const FILTER_VALUE_BYTES_MAX: usize = 512;
/// The longest preview of a call, in bytes.
pub const PREVIEW_BYTES_MAX: usize = 1024;
/// The largest chunk of a record, in bytes.
pub const CHUNK_BYTES_MAX: usize = 8192;
/// The most model-facing text of one `SessionHistory` result, in characters.
pub const TEXT_CHARS_MAX: usize = 10_000;
/// The most entries of a timeline page.
pub const TIMELINE_ENTRIES_MAX: usize = 10;
/// About the most bytes of a timeline page.
pub const TIMELINE_BYTES_MAX: usize = 16 * 1024;
/// The longest cursor that is looked at, in bytes.
pub const CURSOR_BYTES_MAX: usize = 2048;
