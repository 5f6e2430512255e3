//! The one registry of settings. From it come the loader's checks, the JSON Schema, the reference page
//! and the `config` view (CFG-2): a setting that isn't here doesn't exist.
//!
//! A path names a key by dots, the items of a list by `[]` and the values under free keys by `*`:
//! `runtime.fallbacks[].model`, `providers.*.baseUrl`.

mod channels;
mod engine;
mod host;
mod memory;
mod models;
mod retired;
mod tools;
mod tree;

pub use models::PROVIDER_TYPES;
pub use retired::{IGNORED, Ignored, RETIRED, Retired, RetiredEnv, is_host_variable};
pub use tree::{Branch, tree};

/// Where a relative path starts from (a path setting; host-core facts 2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// The agent's folder.
    Folder,
    /// `runtime.workspace`.
    Workspace,
}

/// What a value looks like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// `true` or `false`.
    Bool,
    /// A whole number within bounds.
    Int(i64, i64),
    /// A number within bounds.
    Number(f64, f64),
    /// A text that isn't empty.
    Text,
    /// Any text; the one who uses it says which are good (names of tools).
    AnyText,
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// A model reference, `<provider>:<model>`.
    Model,
    /// The name of an environment variable.
    EnvName,
    /// A path of a file or folder.
    Path(Base),
    /// An `http` or `https` address.
    Url,
    /// An IANA time zone.
    Zone,
    /// `null`.
    Null,
    /// A list of values of one shape.
    List(&'static Shape),
    /// A list of objects, whose keys are the fields below `path[]`.
    Rows,
    /// An object with free keys, whose values are the fields below `path.*`.
    Map,
    /// Any object: what is in it is checked by the one who reads it.
    Open,
    /// One of several shapes.
    Either(&'static [Shape]),
}

/// What a setting is where nobody set it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Default {
    /// Nothing.
    Unset,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Number(f64),
    /// A text.
    Text(&'static str),
    /// A list of texts.
    Texts(&'static [&'static str]),
    /// An object without keys.
    EmptyObject,
    /// What is worked out at start, in words.
    Computed(&'static str),
}

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Field {
    /// Its path.
    pub path: &'static str,
    /// What its value looks like.
    pub shape: Shape,
    /// What it is where nobody set it.
    pub default: Default,
    /// The variable that overrides it.
    pub env: Option<&'static str>,
    /// Whether an empty variable means an empty list (POL-9); else an empty variable is an unset one.
    pub empty_env_is_list: bool,
    /// Whether its value is never printed.
    pub secret: bool,
    /// Whether the object that holds it must have it.
    pub required: bool,
    /// One line on what it does.
    pub doc: &'static str,
}

/// A setting without default, variable or marks.
const fn field(path: &'static str, shape: Shape, doc: &'static str) -> Field {
    Field {
        path,
        shape,
        default: Default::Unset,
        env: None,
        empty_env_is_list: false,
        secret: false,
        required: false,
        doc,
    }
}

impl Field {
    const fn or(mut self, default: Default) -> Self {
        self.default = default;
        self
    }
    const fn on(self, default: bool) -> Self {
        self.or(Default::Bool(default))
    }
    const fn int(self, default: i64) -> Self {
        self.or(Default::Int(default))
    }
    const fn text(self, default: &'static str) -> Self {
        self.or(Default::Text(default))
    }
    const fn none(self) -> Self {
        self.or(Default::Texts(&[]))
    }
    const fn computed(self, words: &'static str) -> Self {
        self.or(Default::Computed(words))
    }
    const fn env(mut self, name: &'static str) -> Self {
        self.env = Some(name);
        self
    }
    const fn empty_is_list(mut self) -> Self {
        self.empty_env_is_list = true;
        self
    }
    const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }
    const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// The section that it stands in: the first key of its path.
    pub fn section(&self) -> &'static str {
        let end = self.path.find(['.', '[']).unwrap_or(self.path.len());
        &self.path[..end]
    }

    /// Whether it stands at one place alone, not in each item of a list or under free keys.
    pub fn is_concrete(&self) -> bool {
        !self.path.contains('*') && !self.path.contains("[]")
    }

    /// Its default as JSON, where there is one.
    pub fn default_json(&self) -> Option<serde_json::Value> {
        Some(match self.default {
            Default::Unset | Default::Computed(_) => return None,
            Default::Bool(b) => b.into(),
            Default::Int(n) => n.into(),
            Default::Number(n) => n.into(),
            Default::Text(text) => text.into(),
            Default::Texts(texts) => texts.iter().copied().collect(),
            Default::EmptyObject => serde_json::json!({}),
        })
    }
}

/// A section of the config: a first key, and what it is about.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// The key.
    pub key: &'static str,
    /// What it is about, in a sentence or two.
    pub doc: &'static str,
    /// Its fields, in the order of the reference page.
    pub fields: &'static [Field],
}

/// All sections, in the order of the reference page.
pub const SECTIONS: &[&[Section]] = &[
    engine::SECTIONS,
    models::SECTIONS,
    tools::SECTIONS,
    host::SECTIONS,
    memory::SECTIONS,
    channels::SECTIONS,
];

/// All sections, one after the other.
pub fn sections() -> impl Iterator<Item = &'static Section> {
    SECTIONS.iter().copied().flatten()
}

/// All fields, in the order of the reference page.
pub fn fields() -> impl Iterator<Item = &'static Field> {
    sections().flat_map(|section| section.fields)
}

/// The names of all environment variables that are settings.
pub fn variables() -> impl Iterator<Item = &'static str> {
    fields().filter_map(|field| field.env)
}

/// The field at a path as the registry writes it.
pub fn find(path: &str) -> Option<&'static Field> {
    fields().find(|field| field.path == path)
}

/// Reasoning efforts, from least to most.
pub const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"];

const DAY_MS: i64 = 86_400_000;
const MIB: i64 = 1024 * 1024;
const GIB: i64 = 1024 * MIB;
const PORT: Shape = Shape::Int(0, 65_535);
const TEXTS: Shape = Shape::List(&Shape::Text);
const COUNT_MAX: i64 = 1_000_000_000;
const BYTES_MAX: i64 = 1 << 50;
const FOLDER_PATH: Shape = Shape::Path(Base::Folder);
const WORKSPACE_PATH: Shape = Shape::Path(Base::Workspace);
const WORKSPACE_PATHS: Shape = Shape::List(&WORKSPACE_PATH);
const EFFORT: Shape = Shape::Choice(EFFORTS);

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_field_is_documented_and_alone() {
        let mut paths = HashSet::new();
        let mut variables = HashSet::new();
        for field in fields() {
            assert!(paths.insert(field.path), "{} twice", field.path);
            assert!(field.doc.ends_with('.') && !field.doc.contains('\n'), "{}: {}", field.path, field.doc);
            if let Some(name) = field.env {
                assert!(variables.insert(name), "{name} twice");
                assert!(name.starts_with("MONO_AGENT_") && field.is_concrete(), "{name}");
            }
        }
    }

    #[test]
    fn every_field_stands_in_its_section() {
        let mut keys = HashSet::new();
        for section in sections() {
            assert!(keys.insert(section.key), "{} twice", section.key);
            for field in section.fields {
                assert_eq!(field.section(), section.key, "{}", field.path);
            }
        }
    }

    #[test]
    fn defaults_fit_their_shapes() {
        for field in fields() {
            if let Some(json) = field.default_json() {
                let text = json.to_string();
                let node = crate::source::read(text.as_bytes()).unwrap().root;
                let problem = crate::shape::scalar(&field.shape, &node);
                assert!(problem.is_none(), "{} = {text}: {problem:?}", field.path);
            }
        }
    }
}
