//! `ReadSkill`: one skill's instructions, when the model needs them (TOO-6).
//!
//! `{"name": "release-notes"}`

use host_surface::{Admitted, Belongs, Decl, Tool, ToolError, ToolOutput};
use host_vocab::{Effect, text};
use schemars::JsonSchema;
use serde::Deserialize;
use std::fmt::Write as _;
use std::sync::Arc;

/// One skill, read when the agent was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its name, which is its folder's.
    pub name: String,
    /// What it is for: the `description` of its front matter, else its first line.
    pub description: String,
    /// Its instructions, without front matter.
    pub body: String,
    /// Its folder as the file tools take it, where a file of its own may lie beside the instructions.
    pub folder: Option<String>,
}

impl Skill {
    /// From the text of a `SKILL.md`.
    pub fn parse(name: &str, file: &str) -> Self {
        let (head, body) = front_matter(file);
        let described = head.lines().find_map(|line| line.strip_prefix("description:"));
        let first =
            body.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty());
        let description = described.map(unquoted).or(first).unwrap_or_default();
        Skill {
            name: name.to_owned(),
            description: text::one_line(description, 500),
            body: body.trim().to_owned(),
            folder: None,
        }
    }

    /// The same with its folder.
    #[must_use]
    pub fn in_folder(mut self, folder: impl Into<String>) -> Self {
        self.folder = Some(folder.into());
        self
    }
}

fn unquoted(value: &str) -> &str {
    let value = value.trim();
    let inner = value.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    inner.or_else(|| value.strip_prefix('\'').and_then(|it| it.strip_suffix('\''))).unwrap_or(value)
}

/// Front matter between two lines of `---`, and the rest.
fn front_matter(file: &str) -> (&str, &str) {
    let Some(rest) = file.strip_prefix("---\n").or_else(|| file.strip_prefix("---\r\n")) else {
        return ("", file);
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return (&rest[..at], &rest[at + line.len()..]);
        }
        at += line.len();
    }
    ("", file)
}

/// The tool. It holds the skills of its agent and touches nothing.
pub struct ReadSkill {
    skills: Arc<[Skill]>,
}

impl ReadSkill {
    /// Over the skills of an agent.
    pub fn new(skills: impl Into<Arc<[Skill]>>) -> Self {
        ReadSkill { skills: skills.into() }
    }
}

/// The arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadSkillInput {
    /// The skill's name, as the list of skills has it.
    pub name: String,
}

impl Tool for ReadSkill {
    const DECL: Decl = Decl {
        name: "ReadSkill",
        about: "Gives the whole instructions of one of your skills. Read a skill before you do what it is for.",
        effects: &[Effect::ReadsWorkspace],
        belongs: Belongs::Lists,
        codes: &["unknown_skill"],
    };
    type Input = ReadSkillInput;

    async fn run(&self, call: Admitted<ReadSkillInput>) -> Result<ToolOutput, ToolError> {
        let wanted = call.input.name.trim().trim_start_matches('$');
        match self.skills.iter().find(|skill| skill.name == wanted) {
            Some(skill) => Ok(ToolOutput::text(match &skill.folder {
                Some(folder) => {
                    format!("{}\n\n(Files that the skill speaks of lie in {folder}.)", skill.body)
                }
                None => skill.body.clone(),
            })),
            None => {
                let mut message =
                    format!("there is no skill named {}; the skills are", text::one_line(wanted, 80));
                for (n, skill) in self.skills.iter().take(50).enumerate() {
                    let _infallible = write!(message, "{} {}", if n == 0 { "" } else { "," }, skill.name);
                }
                Err(ToolError::new("unknown_skill", message))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_testkit::TestSurface;
    use serde_json::json;

    // TOO-6
    #[tokio::test]
    async fn a_skill_is_read_by_name() {
        let skill = Skill::parse(
            "prune",
            "---\nname: prune\ndescription: \"Cut roses: when and how\"\n---\n# Prune\n\nCut above a bud.\n",
        );
        assert_eq!(skill.description, "Cut roses: when and how");
        assert_eq!(Skill::parse("x", "# Title\nbody").description, "Title");
        let it = TestSurface::of(ReadSkill::new(vec![skill])).await;
        let read = it.call("ReadSkill", json!({"name": "$prune"})).await;
        assert_eq!(read.text(), "# Prune\n\nCut above a bud.");
        let beside = Skill::parse("paint", "Use the brush.").in_folder("skills/paint");
        let other = TestSurface::of(ReadSkill::new(vec![beside])).await;
        let read = other.call("ReadSkill", json!({"name": "paint"})).await;
        assert_eq!(read.text(), "Use the brush.\n\n(Files that the skill speaks of lie in skills/paint.)");
        let unknown = it.call("ReadSkill", json!({"name": "../prune"})).await;
        assert_eq!(unknown.code.as_str(), "unknown_skill");
        assert!(unknown.text().contains("prune"));
    }
}
