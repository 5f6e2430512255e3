//! What one destination does with each part of a reply: a total, pure function (OUT-4).
//!
//! Adapters carry a plan out and decide nothing. The matrix of kinds and destinations is a snapshot of this crate and
//! the page `docs/replies.md`.

use crate::outcome::PartOutcome;
use crate::part::{Part, PartCode, PartKind, words};
use crate::reply::Reply;

words! {
    /// Where a reply goes.
    Destination {
        /// The web console.
        Web = "web",
        /// A terminal.
        Terminal = "terminal",
        /// Slack.
        Slack = "slack",
        /// Telegram.
        Telegram = "telegram",
        /// Discord.
        Discord = "discord",
        /// Matrix.
        Matrix = "matrix",
        /// An editor over ACP.
        Acp = "acp",
        /// A webhook's caller.
        Webhook = "webhook",
        /// A client of the OpenAI-compatible API.
        OpenAi = "openai-api",
        /// Another agent over A2A.
        A2a = "a2a",
        /// A job's record.
        Cron = "cron",
    }
}

impl Destination {
    /// The destination of a channel's replies; what nobody knows gets what a terminal gets.
    pub fn of_channel(channel: &str) -> Self {
        Destination::parse(channel).unwrap_or(Destination::Terminal)
    }
}

/// What is done with a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// It is shown as what it is, bound to its message.
    Show,
    /// Its file is uploaded; until the platform confirmed that, the line stands in the text.
    Upload {
        /// The line.
        fallback: String,
    },
    /// People get a line in its place.
    Warn(String),
    /// Machines get a record.
    Record(PartOutcome),
}

impl Delivery {
    /// The word of the matrix.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Delivery::Show => "shown",
            Delivery::Upload { .. } => "uploaded",
            Delivery::Warn(_) => "a line of text",
            Delivery::Record(_) => "a record",
        }
    }
}

/// What one destination does with one reply. The text goes out byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What is done with each part, in the reply's order.
    pub deliveries: Vec<Delivery>,
}

impl Plan {
    /// Lines for people, in place of parts that can't be shown.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        self.deliveries.iter().filter_map(|it| match it {
            Delivery::Warn(line) | Delivery::Upload { fallback: line } => Some(line.as_str()),
            Delivery::Show | Delivery::Record(_) => None,
        })
    }

    /// Records for machines.
    pub fn outcomes(&self) -> Vec<PartOutcome> {
        let records = self.deliveries.iter().filter_map(|it| match it {
            Delivery::Record(record) => Some(record.clone()),
            _ => None,
        });
        records.enumerate().map(|(part_index, record)| PartOutcome { part_index, ..record }).collect()
    }
}

/// Plans a reply for a destination.
pub fn plan(reply: &Reply, destination: Destination) -> Plan {
    let deliveries =
        reply.parts.iter().enumerate().map(|(at, part)| deliver(at, part, destination)).collect();
    Plan { deliveries }
}

fn deliver(at: usize, part: &Part, destination: Destination) -> Delivery {
    use Destination as D;
    match destination {
        D::Web => Delivery::Show,
        D::Slack | D::Telegram => match part {
            Part::Attachment { .. } => Delivery::Upload { fallback: line(part) },
            _ => Delivery::Warn(line(part)),
        },
        D::Terminal | D::Discord | D::Matrix | D::Acp => Delivery::Warn(line(part)),
        D::Webhook | D::OpenAi | D::A2a | D::Cron => {
            let (kind, code) = match part {
                Part::Failure { part_type, code, .. } => (*part_type, *code),
                other => (other.kind(), PartCode::UnsupportedDestination),
            };
            Delivery::Record(PartOutcome::failed(at, kind, code))
        }
    }
}

/// The line in the place of a part: never a label, a link or a place of this machine (QUI-1, RES-1).
fn line(part: &Part) -> String {
    match part {
        Part::Attachment { name, .. } => format!("The file \u{201c}{name}\u{201d} can't be shown here."),
        Part::McpApp { .. } => "An app can't be shown here.".to_owned(),
        Part::ReplyOptions { .. } => "Suggested replies can't be shown here.".to_owned(),
        Part::RestartProposal { .. } => "A proposal to restart the agent can't be shown here.".to_owned(),
        Part::Failure { part_type, code, name, .. } => match name {
            Some(name) => format!("The file \u{201c}{name}\u{201d} is missing: {}", code.message(*part_type)),
            None => code.message(*part_type),
        },
    }
}

/// The matrix of kinds and destinations, as a Markdown table.
pub fn matrix() -> String {
    let samples = samples();
    let mut out = String::from("| part |");
    for destination in Destination::ALL {
        out += &format!(" {} |", destination.as_str());
    }
    out += "\n|---|";
    out += &"---|".repeat(Destination::ALL.len());
    for part in samples {
        out += &format!("\n| `{}` |", part.kind().as_str());
        for destination in Destination::ALL {
            out += &format!(" {} |", deliver(0, &part, *destination).as_str());
        }
    }
    out + "\n"
}

/// One part of each kind.
fn samples() -> [Part; 5] {
    let id = || "p".to_owned();
    [
        Part::Attachment {
            id: id(),
            name: "report.csv".into(),
            media_type: "text/csv".into(),
            size_bytes: 1,
            sha256: "0".repeat(64),
            expires_at: None,
        },
        Part::McpApp { id: id() },
        Part::ReplyOptions { id: id(), options: vec!["yes".into(), "no".into()] },
        Part::RestartProposal { id: id(), reason: None },
        Part::Failure {
            id: id(),
            part_type: PartKind::Attachment,
            code: PartCode::ArtifactTooLarge,
            message: PartCode::ArtifactTooLarge.message(PartKind::Attachment),
            name: Some("big.iso".into()),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    // OUT-4, REP-1: every kind at every destination.
    #[test]
    fn the_matrix() {
        insta::assert_snapshot!(matrix());
    }

    // OUT-4, QUI-1, RES-1: the words that people and machines get.
    #[test]
    fn the_words() {
        let reply = Reply { text: "t".into(), parts: samples().to_vec(), notices: vec![] };
        let lines: Vec<String> = plan(&reply, Destination::Terminal).warnings().map(str::to_owned).collect();
        let records = serde_json::to_string_pretty(&plan(&reply, Destination::Webhook).outcomes()).unwrap();
        insta::assert_snapshot!(format!("{}\n{records}", lines.join("\n")));
        assert!(!lines.join("").contains("yes"), "labels are not shown elsewhere");
    }

    // REP-1: one delivery for each part, in its order, wherever it goes.
    #[test]
    fn one_delivery_for_each_part() {
        let reply = Reply { text: String::new(), parts: samples().to_vec(), notices: vec![] };
        for destination in Destination::ALL {
            assert_eq!(plan(&reply, *destination).deliveries.len(), reply.parts.len());
        }
        assert_eq!(Destination::of_channel("my-plugin"), Destination::Terminal);
    }

    #[test]
    fn docs_page_holds_the_matrix() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/replies.md");
        #[allow(clippy::disallowed_methods, reason = "the test writes and compares a generated page")]
        let text = std::fs::read_to_string(page).unwrap();
        let (head, rest) = text.split_once("<!-- matrix -->\n").unwrap();
        let (held, tail) = rest.split_once("<!-- /matrix -->").unwrap();
        #[allow(clippy::disallowed_methods, reason = "the test writes and compares a generated page")]
        if std::env::var("UPDATE_DOCS").is_ok() {
            std::fs::write(page, format!("{head}<!-- matrix -->\n{}<!-- /matrix -->{tail}", matrix()))
                .unwrap();
            return;
        }
        assert_eq!(held, matrix(), "UPDATE_DOCS=1 cargo test -p host-turn writes it anew");
    }
}
