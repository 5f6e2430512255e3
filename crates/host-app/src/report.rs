//! What is right with an agent and what is not: `validate` (CLI-2).

use crate::agent::{Agent, OpenOptions, line_of};
use crate::load::{Whereabouts, load_agent};
use crate::parts::governance::Governance;
use crate::parts::models;
use crate::parts::plugins::Plugins;
use host_config::finding::code;
use host_config::spec::sandbox::SandboxMode;
use host_config::spec::tools::ToolList;
use host_config::{AgentSpec, Finding, Severity, not_built_yet};
use host_policy::PolicyStatus;
use host_sandbox::Effective;
use host_store::RunQuery;
use host_vocab::{Diagnostic, text};
use serde::Serialize;

/// How a section stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SectionStatus {
    /// Off by intent.
    Disabled,
    /// All is well.
    Ok,
    /// Something is missing that may come: a credential, a dependency.
    Waiting,
    /// Something is wrong.
    Error,
}

/// One part of the agent.
#[derive(Debug, Clone, Serialize)]
pub struct Section {
    /// Its name.
    pub title: String,
    /// How it stands.
    pub status: SectionStatus,
    /// What is to be said of it; a fault says what to do.
    pub lines: Vec<String>,
}

impl Section {
    fn new(title: &str) -> Self {
        Section { title: title.to_owned(), status: SectionStatus::Ok, lines: Vec::new() }
    }

    fn say(&mut self, status: SectionStatus, line: impl Into<String>) {
        // `Disabled` is only how a section begins: whatever else is said of it outranks that.
        self.status = self.status.max(status);
        self.lines.push(line.into());
    }

    fn fault(&mut self, diagnostic: &Diagnostic) {
        self.say(SectionStatus::Error, diagnostic.to_string());
    }

    fn off(title: &str, line: &str) -> Self {
        Section { title: title.to_owned(), status: SectionStatus::Disabled, lines: vec![line.to_owned()] }
    }
}

/// The whole report.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Whether no section is in error; the exit code follows it.
    pub ok: bool,
    /// The sections.
    pub sections: Vec<Section>,
}

/// Checks an agent's settings and everything that they need. Servers are connected to and their tools
/// listed, the sandbox is proved, the log is checked; no tool is called and no model is asked.
pub async fn validate(place: &Whereabouts) -> Report {
    let loaded = load_agent(place);
    let mut sections = vec![config(&loaded.findings, loaded.has_config)];
    if let Some(spec) = loaded.spec.clone() {
        sections.push(models::section(&spec, &loaded.env));
        let (tools, agent) = tools(&spec, loaded).await;
        sections.push(tools);
        sections.push(sandbox(&spec, agent.as_ref()).await);
        sections.push(memory(agent.as_ref()).await);
        sections.push(runs(agent.as_ref()).await);
        sections.extend(secrets(&load_agent(place).findings));
        sections.extend(unbuilt(&spec));
        if let Some(agent) = agent {
            agent.close().await;
        }
    }
    Report { ok: sections.iter().all(|it| it.status != SectionStatus::Error), sections }
}

impl Report {
    pub(crate) fn section(title: &str, status: SectionStatus, lines: Vec<String>) -> Section {
        Section { title: title.to_owned(), status, lines }
    }
}

fn is_of_servers(finding: &Finding) -> bool {
    [code::MCP_ENTRY, code::MCP_MISSING, code::MCP_SUSPECT].contains(&finding.diagnostic.code)
}

fn config(findings: &[Finding], has_config: bool) -> Section {
    let mut section = Section::new("Config");
    if !has_config {
        section.say(
            SectionStatus::Ok,
            "no config file: the embedded defaults are in effect (mono-agent init makes one)",
        );
    }
    for finding in findings {
        if finding.diagnostic.code == code::SECRET_IN_FILE || (is_of_servers(finding) && !finding.fatal) {
            continue;
        }
        match finding.severity {
            Severity::Error => section.fault(&finding.diagnostic),
            Severity::Warning => section.lines.push(format!("[WARN] {}", finding.diagnostic)),
        }
    }
    if section.lines.is_empty() {
        section.lines.push("every setting is known and fits".to_owned());
    }
    section
}

async fn tools(spec: &AgentSpec, loaded: host_config::Loaded) -> (Section, Option<Agent>) {
    let mut section = Section::new("Tools & MCP");
    let described = match Governance::of(spec, &Plugins::read(spec)) {
        Ok(governance) => governance.describe(spec),
        Err(faults) => {
            faults.iter().for_each(|fault| section.fault(fault));
            return (section, None);
        }
    };
    let status = match described.status {
        PolicyStatus::Ok => SectionStatus::Ok,
        PolicyStatus::Waiting => SectionStatus::Waiting,
    };
    section.say(status, described.line);
    section.lines.extend(described.stays);
    for warning in described.warnings {
        let hint = warning.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        section.lines.push(format!("[WARN] {}: {}{hint}", warning.place, warning.message));
    }
    section.lines.extend(half_switched(spec));
    if let Some(line) = spec.mcp.path_line() {
        let status = if spec.mcp.file_missing { SectionStatus::Waiting } else { SectionStatus::Ok };
        section.say(status, if spec.mcp.file_missing { format!("[WARN] {line}") } else { line });
    }
    for finding in loaded.findings.iter().filter(|it| is_of_servers(it) && !it.fatal) {
        match finding.severity {
            Severity::Error => section.fault(&finding.diagnostic),
            Severity::Warning if finding.diagnostic.code == code::MCP_MISSING => {}
            Severity::Warning => section.lines.push(format!("[WARN] {}", finding.diagnostic)),
        }
    }
    let options = OpenOptions { needs_model: false, fresh_definitions: true, ..OpenOptions::default() };
    match Agent::open(loaded, options).await {
        Ok(agent) => {
            servers(&mut section, &agent).await;
            (section, Some(agent))
        }
        Err(error) => {
            error.0.iter().for_each(|fault| section.fault(fault));
            (section, None)
        }
    }
}

/// `Agent` needs two switches; one alone is a slip.
fn half_switched(spec: &AgentSpec) -> Option<String> {
    let is_agent = |name: &String| name.eq_ignore_ascii_case("Agent");
    let listed = |list: &Option<ToolList>| list.as_ref().is_some_and(|list| list.names.iter().any(is_agent));
    let (allowed, denied) = (&spec.tools.allowed, &spec.tools.disallowed);
    let left_out =
        allowed.as_ref().is_some_and(|list| !list.names.iter().any(|it| it == "*" || is_agent(it)));
    match (spec.subagents.enabled, listed(allowed)) {
        (true, _) if left_out || listed(denied) => Some(
            "[WARN] subagents.enabled is on, but the tool lists leave Agent out, so there are no helpers"
                .to_owned(),
        ),
        (false, true) => Some(
            "[WARN] tools.allowedTools names Agent, but subagents.enabled is off, so there are no helpers"
                .to_owned(),
        ),
        _ => None,
    }
}

/// Each server and each plugin: what it advertises and offers, or why it can't be used (MCP-4, LIB-2).
async fn servers(section: &mut Section, agent: &Agent) {
    let Some(servers) = &agent.inner.servers else { return };
    futures_util::future::join(servers.pool.discover(), servers.plugins.discover()).await;
    for (kind, all) in [("MCP server", &servers.broken), ("plugin", &servers.broken_plugins)] {
        for broken in all {
            let name = text::one_line(&broken.name, 64);
            section.say(SectionStatus::Error, format!("{kind} {name}: {}", broken.why));
        }
    }
    for status in servers.pool.status() {
        one_server(section, "MCP server", &status);
        let Ok(name) = host_vocab::ServerName::parse(status.name.clone()) else { continue };
        if status.error.is_none() {
            let advertised = servers.pool.offered(&status.name);
            for warning in agent.inner.policy.unadvertised(&name, &advertised) {
                section.lines.push(format!("[WARN] {}: {}", warning.place, warning.message));
            }
        }
    }
    servers.plugins.status().iter().for_each(|status| one_server(section, "plugin", status));
}

fn one_server(section: &mut Section, kind: &str, status: &host_mcp::ServerStatus) {
    let name = &status.name;
    match &status.error {
        Some(error) => {
            let tail = text::one_line(&status.stderr_tail, 400);
            let tail = if tail.is_empty() || error.contains(&tail) {
                String::new()
            } else {
                format!(" (its stderr: {tail})")
            };
            section.say(SectionStatus::Error, format!("{kind} {name}: {error}{tail}"));
        }
        None => {
            let line = format!(
                "{kind} {name}: {} of {} tools offered, protocol {}",
                status.offered,
                status.advertised,
                status.revision.as_deref().unwrap_or("unknown")
            );
            section.say(SectionStatus::Ok, line);
        }
    }
    for left in &status.left_out {
        let line = format!("{kind} {name}: {} is left out: {}", left.tool, left.why);
        // What a plugin has beyond its manifest may be left out on purpose.
        match kind {
            "plugin" => section.lines.push(format!("[WARN] {line}")),
            _ => section.say(SectionStatus::Error, line),
        }
    }
}

async fn sandbox(spec: &AgentSpec, agent: Option<&Agent>) -> Section {
    if spec.sandbox.mode == SandboxMode::Off {
        return Section::off(
            "Sandbox",
            "off: commands and servers run with the host's own rights (sandbox.mode)",
        );
    }
    let mut section = Section::new("Sandbox");
    let Some(sandbox) = agent.and_then(Agent::sandbox).cloned() else {
        section.say(SectionStatus::Waiting, "not looked at, because the agent can't be opened");
        return section;
    };
    let status = sandbox.status().await;
    let line = line_of(&status);
    if status.effective == Effective::Native {
        section.say(SectionStatus::Ok, line);
    } else {
        section.say(SectionStatus::Waiting, format!("[WARN] {line}"));
    }
    section
}

async fn memory(agent: Option<&Agent>) -> Section {
    match agent {
        Some(agent) => agent.inner.memory.section().await,
        None => Section::off("Memory", "not looked at, because the agent can't be opened"),
    }
}

async fn runs(agent: Option<&Agent>) -> Section {
    let Some(log) = agent.and_then(Agent::log).cloned() else {
        return Section::off("Runs", "the log was not opened");
    };
    let checked = tokio::task::spawn_blocking(move || {
        let check = log.check_full()?;
        let newest = log.runs(&RunQuery { limit: 5, ..RunQuery::default() })?;
        Ok::<_, host_ports::log::LogError>((check, newest))
    })
    .await;
    let mut section = Section::new("Runs");
    match checked {
        Ok(Ok((check, newest))) => {
            if check.is_sound() {
                section.say(SectionStatus::Ok, format!("the log is sound: {} events", check.chain.checked));
            } else {
                let broken = check.chain.broken.map(|it| it.to_string());
                for complaint in broken.into_iter().chain(check.database).take(10) {
                    section.say(
                        SectionStatus::Error,
                        format!("the log is damaged: {}", text::one_line(&complaint, 300)),
                    );
                }
                section.lines.push(
                    "copy the folder .mono-agent/log away before anything else; the host never rewrites it"
                        .into(),
                );
            }
            for run in newest {
                section.lines.push(format!(
                    "{} {}: {}",
                    run.run,
                    run.status,
                    text::one_line(&run.user_input, 60)
                ));
            }
        }
        Ok(Err(error)) => section.say(SectionStatus::Error, format!("the log can't be checked: {error}")),
        Err(_) => section.say(SectionStatus::Error, "checking the log broke; this is a fault of the host"),
    }
    section
}

fn secrets(findings: &[Finding]) -> Option<Section> {
    let found: Vec<String> = findings
        .iter()
        .filter(|it| it.diagnostic.code == code::SECRET_IN_FILE)
        .map(|it| format!("[WARN] {}", it.diagnostic))
        .collect();
    (!found.is_empty()).then(|| Report::section("Secret placement", SectionStatus::Waiting, found))
}

/// What is read and not run, one section each.
fn unbuilt(spec: &AgentSpec) -> Vec<Section> {
    not_built_yet(spec)
        .into_iter()
        .map(|it| {
            let line = format!("[WARN] {}: read, not run: {}", it.place, it.what);
            Report::section(&section_title(it.path), SectionStatus::Waiting, vec![line])
        })
        .collect()
}

fn section_title(path: &str) -> String {
    match path.split('.').next().unwrap_or(path) {
        channel @ ("webhook" | "cron" | "openaiApi" | "telegram" | "slack" | "tui") => {
            format!("channel:{channel}")
        }
        other => other.to_owned(),
    }
}
