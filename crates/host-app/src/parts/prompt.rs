//! The texts of the prompt: identity, soul, skills.

use crate::load::read;
use host_config::AgentSpec;
use host_config::spec::runtime::SkillDisclosure;
use host_run::{PromptParts, SessionBlock, SkillBody, SkillEntry, Skills};
use host_tools::Skill;
use host_turn::{Trigger, Turn};
use host_vocab::{Code, Diagnostic, Kind, Place, text};
use std::path::Path;

/// What was read once, at opening.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts {
    identity: Option<String>,
    soul: Option<String>,
    skills: Vec<Skill>,
    disclosure: Option<SkillDisclosure>,
    folder: String,
}

impl Texts {
    /// Reads every file of the context. A missing one is an error that names it.
    pub(crate) fn read(spec: &AgentSpec) -> Result<Self, Vec<Diagnostic>> {
        let context = &spec.context;
        let mut faults = Vec::new();
        let mut one = |path: Option<&Path>, setting: &str| {
            let path = path?;
            text_of(path, setting).map_err(|fault| faults.push(fault)).ok()
        };
        let identity = one(context.identity_path.as_deref(), "context.identityPath");
        let soul = one(context.soul_path.as_deref(), "context.soulPath");
        let mut skills = Vec::new();
        for name in &context.selected_skills {
            let path = context.skills_root.join(name).join("SKILL.md");
            if let Some(body) = one(Some(&path), "context.selectedSkills") {
                let folder = context.skills_root.join(name);
                let folder =
                    folder.strip_prefix(&spec.places.workspace).unwrap_or(&folder).display().to_string();
                let skill = Skill::parse(name, text::prefix(&body, context.skill_max_bytes));
                skills.push(skill.in_folder(folder));
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Texts {
            identity,
            soul,
            skills,
            disclosure: Some(context.skill_disclosure),
            folder: spec.places.workspace.display().to_string(),
        })
    }

    /// Of an agent that a program built: an identity and nothing else.
    pub(crate) fn of_identity(identity: Option<String>) -> Self {
        Texts { identity, ..Texts::default() }
    }

    /// The skills, for `ReadSkill`; none where they stand whole in the prompt.
    pub(crate) fn skills_to_read(&self) -> Vec<Skill> {
        match self.disclosure {
            Some(SkillDisclosure::Index) => self.skills.clone(),
            _ => Vec::new(),
        }
    }

    /// The system prompt's parts for a helper: its own instructions, the usual guardrails, and of the skills the
    /// index alone (13.10).
    pub(crate) fn for_helper(&self, instructions: &str, turn: &Turn, can_read_skills: bool) -> PromptParts {
        let parts = self.parts(turn, can_read_skills);
        let skills = match parts.skills {
            Skills::Full(_) => Skills::None,
            index => index,
        };
        PromptParts { soul: None, identity: Some(instructions.to_owned()), skills, ..parts }
    }

    /// The system prompt's parts for a turn. They depend on nothing that changes within a session.
    pub(crate) fn parts(&self, turn: &Turn, can_read_skills: bool) -> PromptParts {
        let skills = match self.disclosure {
            Some(SkillDisclosure::Index) if can_read_skills => Skills::Index(
                self.skills
                    .iter()
                    .map(|skill| SkillEntry {
                        name: skill.name.clone(),
                        description: skill.description.clone(),
                    })
                    .collect(),
            ),
            // Without the tool an index would name what can't be read.
            Some(SkillDisclosure::Index) => Skills::Index(Vec::new()),
            _ => Skills::Full(
                self.skills
                    .iter()
                    .map(|skill| SkillBody { name: skill.name.clone(), body: skill.body.clone() })
                    .collect(),
            ),
        };
        PromptParts {
            soul: self.soul.clone(),
            identity: self.identity.clone(),
            session: SessionBlock {
                proactive: turn.trigger == Trigger::Proactive,
                channel: Some(turn.channel.to_string()),
                facts: (!self.folder.is_empty())
                    .then(|| ("Working folder".to_owned(), self.folder.clone()))
                    .into_iter()
                    .collect(),
                ..SessionBlock::default()
            },
            skills,
        }
    }
}

fn text_of(path: &Path, setting: &str) -> Result<String, Diagnostic> {
    let place =
        Place { file: path.display().to_string(), path: Some(setting.to_owned()), ..Place::default() };
    let bytes = read(path).map_err(|error| {
        Diagnostic::new(
            Kind::Config,
            Code::new("config_missing_file"),
            format!("the file can't be read: {}", error.kind()),
        )
        .at(place.clone())
        .hint(format!("make the file, or change {setting}"))
    })?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Diagnostic::new(Kind::Config, Code::new("config_unreadable"), "the file is not UTF-8 text").at(place)
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}
