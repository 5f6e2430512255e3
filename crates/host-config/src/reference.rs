//! The reference page, from the registry.

use crate::registry::{Default, Field, IGNORED, RETIRED, Section, Shape, sections};
use crate::shape::takes;
use std::fmt::Write;

const HEAD: &str = "# Configuration reference

<!-- Made from the field registry of `host-config`. To change it, change the registry and run
     `UPDATE_DOCS=1 cargo test -p host-config reference`. -->

An agent is a folder with `mono-agent.config.json`: JSON, in which `//` and `/* */` comments and a comma after the
last item are fine. Only `runtime.model` and `context.identityPath` are needed. A section that isn't there keeps its
defaults, or is off where it says so.

- A setting's value comes from its variable, else from the file, else from its default. Variables come from the
  environment, and those that it doesn't have from `.env` in the agent's folder (or the file after `--env-file`).
- An empty variable counts as not set, except where *empty = `[]`* stands beside it.
- Lists in variables have commas. Objects and lists of objects are JSON.
- Texts are literal: `${NAME}` is never expanded. A `~` at the start of a path is the home folder.
- Paths start from the agent's folder, except where *from the workspace* stands beside them.
- A key that isn't listed here is an error. `mono-agent config` prints every setting and where its value came from;
  secrets are shown as *set* or *unset*.
";

/// The whole page, as Markdown.
pub fn reference_markdown() -> String {
    let mut out = String::from(HEAD);
    for section in sections() {
        section_of(section, &mut out);
    }
    out.push_str("\n## Retired and ignored\n\nSetting one of these is an error:\n\n| key | variable | instead |\n|---|---|---|\n");
    for old in RETIRED {
        let variable = old.env.map_or_else(String::new, |name| format!("`{name}`"));
        let _ = writeln!(out, "| `{}` | {variable} | {} |", old.path, cell(old.instead));
    }
    out.push_str("\nThese are accepted, have no effect and give a warning:\n\n| key | variables | why |\n|---|---|---|\n");
    for old in IGNORED {
        let variables = old.env_prefix.map_or_else(String::new, |prefix| format!("`{prefix}…`"));
        let _ = writeln!(out, "| `{}` | {variables} | {} |", old.path, cell(old.why));
    }
    out
}

fn section_of(section: &Section, out: &mut String) {
    let _ = writeln!(out, "\n## `{}`\n\n{}", section.key, section.doc);
    if crate::unbuilt::is_unbuilt_section(section.key) {
        out.push_str("\n*Read and checked; this version doesn't run it yet.*\n");
    }
    out.push_str("\n| key | value | default | |\n|---|---|---|---|\n");
    for field in section.fields {
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} |",
            field.path,
            value_of(field),
            default_of(field),
            notes(field)
        );
    }
}

fn value_of(field: &Field) -> String {
    let mut text = takes(&field.shape).replace('"', "`");
    if matches!(field.shape, Shape::Path(crate::registry::Base::Workspace))
        || matches!(field.shape, Shape::List(Shape::Path(crate::registry::Base::Workspace)))
    {
        text.push_str(", from the workspace");
    }
    cell(&text)
}

fn default_of(field: &Field) -> String {
    match field.default {
        Default::Unset if field.required => "*needed*".into(),
        Default::Unset => "".into(),
        Default::Computed(words) => cell(words),
        _ => field.default_json().map_or_else(String::new, |json| format!("`{json}`")),
    }
}

fn notes(field: &Field) -> String {
    let mut text = cell(field.doc);
    if let Some(name) = field.env {
        let _ = write!(text, " `{name}`");
        if field.empty_env_is_list {
            text.push_str(" (empty = `[]`)");
        }
    }
    if field.secret {
        text.push_str(" **Secret.**");
    }
    text
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
