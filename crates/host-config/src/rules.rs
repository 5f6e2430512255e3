//! Rules between settings, which no single value can break.

use crate::finding::{Findings, code, config, quote_str};
use crate::mcp::{HttpKind, McpTransport};
use crate::model_ref::ModelRef;
use crate::nearest::nearest;
use crate::resolved::Resolved;
use crate::settings::{Origin, Settings};
use crate::spec::providers::ProviderSpec;
use crate::spec::routes::check_route;
use crate::spec::sandbox::host_problem;
use host_vocab::cron::CronSchedule;
use host_vocab::{Code, Place};
use serde_json::Value;

/// Checks all rules between settings.
pub(crate) fn check(resolved: &Resolved, findings: &mut Findings) {
    let rules = Rules { settings: &resolved.settings };
    rules.sandbox(findings);
    rules.credentials(findings);
    rules.timeouts(findings);
    rules.listeners(findings);
    rules.continuations(findings);
    rules.memory(findings);
    rules.subagents(findings);
    servers(resolved, findings);
}

struct Rules<'r> {
    settings: &'r Settings,
}

impl Rules<'_> {
    fn text(&self, path: &str) -> String {
        self.settings.text(path).unwrap_or_default()
    }

    fn int(&self, path: &str) -> i64 {
        self.settings
            .get(path)
            .and_then(|setting| setting.value())
            .and_then(|value| value.as_i64())
            .unwrap_or_default()
    }

    fn is_set(&self, path: &str) -> bool {
        self.settings.get(path).is_some_and(|setting| setting.origin != Origin::Default)
    }

    fn wrong(&self, findings: &mut Findings, code: Code, path: &str, message: String, hint: &str) {
        findings.error(config(code, message).at(self.settings.place(path, "")).hint(hint));
    }

    fn odd(&self, findings: &mut Findings, path: &str, message: String, hint: &str) {
        findings.warning(config(code::IGNORED, message).at(self.settings.place(path, "")).hint(hint));
    }

    // SBX-7: a secret reaches a child as a placeholder only where its way out is the host's proxy.
    fn credentials(&self, findings: &mut Findings) {
        let list = "credentials.broker";
        let value = self.settings.get(list).and_then(|setting| setting.value());
        let rows = value.and_then(|value| value.as_array().cloned()).unwrap_or_default();
        let mode = self.text("sandbox.network.mode");
        if !rows.is_empty() && !matches!(mode.as_str(), "allowlist" | "localhost") {
            let message =
                format!("no secret is lent in the network mode \"{mode}\": there is no proxy to put it in");
            let hint = "set `sandbox.network.mode` to \"allowlist\" and list the hosts";
            self.odd(findings, list, message, hint);
        }
        if !rows.is_empty() && self.text("sandbox.mode") == "off" {
            let message = "no secret is lent while the sandbox is off".to_owned();
            self.odd(findings, list, message, "set `sandbox.mode` to \"native\"");
        }
        for (index, row) in rows.iter().enumerate() {
            let hosts = row["hosts"].as_array().cloned().unwrap_or_default();
            for (place, host) in hosts.iter().filter_map(Value::as_str).enumerate() {
                if let Some(why) = host_problem(host) {
                    let message = format!("{} can't be a host that a secret goes to", quote_str(host));
                    let at = self.settings.place(list, &format!("[{index}].hosts[{place}]"));
                    findings.error(config(code::BAD_VALUE, message).at(at).hint(why));
                }
            }
            for header in row["headers"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                if matches!(
                    header.to_ascii_lowercase().as_str(),
                    "host" | "content-length" | "transfer-encoding"
                ) {
                    let message = format!("a secret can't stand in the header {}", quote_str(header));
                    let at = self.settings.place(list, &format!("[{index}].headers"));
                    let hint =
                        "name the header that the service reads the secret from, such as `Authorization`";
                    findings.error(config(code::BAD_VALUE, message).at(at).hint(hint));
                }
            }
        }
    }

    // SBX-1
    fn sandbox(&self, findings: &mut Findings) {
        let unsafe_fallback = self.text("sandbox.fallback") == "unsafe-host-process";
        if unsafe_fallback && !self.settings.is_on("sandbox.unsafeAllowHostProcess") {
            let message = "\"unsafe-host-process\" needs a second key".to_owned();
            let hint = "set `sandbox.unsafeAllowHostProcess` to true as well, or leave the fallback at \"fail-closed\"";
            self.wrong(findings, code::CONFLICT, "sandbox.fallback", message, hint);
        }
        let list = "sandbox.network.allowlist";
        for (index, host) in self.settings.texts(list).iter().enumerate() {
            if let Some(why) = host_problem(host) {
                let message = format!("{} can't be listed as a host", quote_str(host));
                let at = self.settings.place(list, &format!("[{index}]"));
                findings.error(config(code::BAD_VALUE, message).at(at).hint(why));
            }
        }
        let mode = self.text("sandbox.network.mode");
        let count = self.settings.texts(list).len();
        if mode == "allowlist" && count == 0 {
            let message =
                "the network mode is \"allowlist\" and the list is empty: nothing can be reached".to_owned();
            self.odd(findings, "sandbox.network.mode", message, "list hosts in `sandbox.network.allowlist`");
        } else if mode != "allowlist" && count > 0 {
            let message = format!("the list of hosts has no effect in the network mode \"{mode}\"");
            self.odd(findings, list, message, "set `sandbox.network.mode` to \"allowlist\"");
        }
        let off = self.text("sandbox.mode") == "off";
        for path in ["tools.filesystem.readableRoots", "tools.filesystem.writableRoots"] {
            if !off && self.is_set(path) {
                let message = format!("`{path}` has no effect while the sandbox is on");
                self.odd(findings, path, message, "use `sandbox.readableRoots` and `sandbox.writableRoots`");
            }
        }
    }

    fn timeouts(&self, findings: &mut Findings) {
        let (silent, total) = ("tools.mcpCallTimeoutMs", "tools.mcpCallMaxTotalTimeoutMs");
        if self.int(total) < self.int(silent) {
            let message = format!("{} is less than `{silent}` ({})", self.int(total), self.int(silent));
            self.wrong(findings, code::CONFLICT, total, message, "make it at least as long");
        }
        let (first, longest) = ("runtime.retry.backoffMs", "runtime.retry.maxBackoffMs");
        if self.int(longest) < self.int(first) {
            let message = format!("{} is less than `{first}` ({})", self.int(longest), self.int(first));
            self.wrong(findings, code::CONFLICT, longest, message, "make it at least as long");
        }
    }

    // CHN-2. A channel that is off is not looked at (host-surfaces facts B1.6).
    fn listeners(&self, findings: &mut Findings) {
        for section in ["webhook", "openaiApi", "tui"] {
            let host = format!("{section}.host");
            if !self.settings.is_on(&format!("{section}.enabled")) || is_loopback(&self.text(&host)) {
                continue;
            }
            let key = format!("{section}.apiKey");
            let opened = self.settings.is_on(&format!("{section}.allowNonLoopback"));
            let has_key = !self.text(&key).is_empty();
            if !opened || !has_key {
                let variable =
                    self.settings.get(&key).and_then(|setting| setting.field.env).unwrap_or_default();
                let message = format!("{} is not on this machine alone", quote_str(&self.text(&host)));
                let hint =
                    format!("use \"127.0.0.1\", or set `{section}.allowNonLoopback` to true and {variable}");
                self.wrong(findings, code::CONFLICT, &host, message, &hint);
            }
        }
    }

    fn continuations(&self, findings: &mut Findings) {
        if !self.settings.is_set_below("continuations") || !self.settings.is_on("continuations.enabled") {
            return;
        }
        let host = "continuations.host";
        if !is_loopback(&self.text(host)) {
            let message = format!("{} is no loopback address", quote_str(&self.text(host)));
            self.wrong(findings, code::BAD_VALUE, host, message, "use \"127.0.0.1\"");
        }
        let (one, all) = ("continuations.limits.maxActivePerOrigin", "continuations.limits.maxActiveRecords");
        if self.int(one) > self.int(all) {
            let message = format!("{} is more than `{all}` ({})", self.int(one), self.int(all));
            self.wrong(findings, code::CONFLICT, one, message, "make it at most as many");
        }
        let routes = self.settings.get("continuations.namedRoutes").and_then(|setting| setting.value());
        for (name, route) in routes.as_ref().and_then(Value::as_object).into_iter().flatten() {
            let has = route.get("conversationId").is_some();
            let mode = route.get("mode").and_then(Value::as_str).unwrap_or_default();
            let problem = match mode {
                "silent" if has => Some("a silent route has no `conversationId`"),
                "notify_if_actionable" | "capture" if !has => Some("this route needs a `conversationId`"),
                _ => None,
            };
            if let Some(problem) = problem {
                let below = crate::source::path::key("", name);
                let at = self.settings.place("continuations.namedRoutes", &below);
                findings.error(config(code::CONFLICT, problem).at(at));
            }
        }
    }

    fn memory(&self, findings: &mut Findings) {
        if !self.settings.is_set_below("memory") || self.text("memory.backend") != "bujo" {
            return;
        }
        let (embeddings, llm) =
            (self.is_set("memory.embeddings.provider"), self.is_set("memory.llm.provider"));
        let mode = self.text("memory.mode");
        let problem = match mode.as_str() {
            "lite" if embeddings => {
                Some("\"lite\" has no vectors: take `memory.embeddings` away, or use \"journal\"")
            }
            "lite" | "journal" if llm => {
                Some("only \"bujo\" has a model: take `memory.llm` away, or use \"bujo\"")
            }
            "journal" | "bujo" if !embeddings => Some("it needs `memory.embeddings` with a `provider`"),
            "bujo" if !llm => Some("it needs `memory.llm` with a `provider`"),
            _ => None,
        };
        if let Some(hint) = problem {
            let message = format!("the memory mode \"{mode}\" is not complete, or has too much");
            self.wrong(findings, code::CONFLICT, "memory.mode", message, hint);
        }
        if self.text("memory.writeMode") == "capture" && mode != "bujo" {
            let message = format!("\"capture\" needs the memory mode \"bujo\", not \"{mode}\"");
            self.wrong(findings, code::CONFLICT, "memory.writeMode", message, "use \"append-host-summary\"");
        }
        if self.text("memory.llm.provider") == "agent-host" && self.is_set("memory.llm.endpoint") {
            let message = "only Ollama has an endpoint".to_owned();
            self.wrong(findings, code::CONFLICT, "memory.llm.endpoint", message, "take it away");
        }
        if let Err(error) = CronSchedule::parse(&self.text("memory.consolidation.cron"), "") {
            let hint = "for example \"0 */2 * * *\": every two hours";
            self.wrong(findings, code::BAD_VALUE, "memory.consolidation.cron", error.to_string(), hint);
        }
        if self.text("memory.capture.focus").len() > 2048 {
            let message = "the text has more than 2048 bytes".to_owned();
            self.wrong(findings, code::OUT_OF_RANGE, "memory.capture.focus", message, "shorten it");
        }
    }

    fn subagents(&self, findings: &mut Findings) {
        let rows = self.settings.get("subagents.definitions").and_then(|setting| setting.value());
        for (index, row) in rows.as_ref().and_then(Value::as_array).into_iter().flatten().enumerate() {
            if row.get("prompt").is_some() == row.get("promptPath").is_some() {
                let at = self.settings.place("subagents.definitions", &format!("[{index}]"));
                let message = "a helper has either `prompt` or `promptPath`";
                findings.error(config(code::CONFLICT, message).at(at).hint("keep exactly one of the two"));
            }
        }
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Lists that name servers (CTX-1, CON-1, MCP-14).
fn servers(resolved: &Resolved, findings: &mut Findings) {
    let servers = &resolved.mcp.servers;
    let known = || {
        let good = servers.iter().map(|server| server.name.as_str());
        good.chain(resolved.mcp.broken.iter().map(|server| server.name.as_str()))
    };
    for path in ["tools.mcpRequestContextServers", "tools.continuationServers", "tools.mcpSampling"] {
        for (index, name) in resolved.settings.texts(path).iter().enumerate() {
            let at = resolved.settings.place(path, &format!("[{index}]"));
            if !known().any(|server| server == name) {
                let found =
                    config(code::UNKNOWN_KEY, format!("no server {} is declared", quote_str(name))).at(at);
                findings.warning(match nearest(name, known()) {
                    Some(near) => found.hint(format!("did you mean \"{near}\"?")),
                    None => found.hint("declare it under `mcpServers`, or take the name away"),
                });
                continue;
            }
            let transport =
                servers.iter().find(|server| server.name.as_str() == name).map(|server| &server.transport);
            if let Some(McpTransport::Http(http)) = transport {
                match path {
                    "tools.mcpRequestContextServers" => {
                        let message = format!("{} is no stdio server: it gets no context", quote_str(name));
                        findings.warning(config(code::IGNORED, message).at(at).hint("take the name away"));
                    }
                    "tools.continuationServers" if http.kind == HttpKind::Sse || !http.is_loopback() => {
                        let message =
                            format!("{} is neither a stdio nor a loopback HTTP server", quote_str(name));
                        let hint = "only those may claim a continuation; take the name away";
                        findings.error(config(code::CONFLICT, message).at(at).hint(hint));
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Every model that a setting names has a provider (host-core facts 11.2, 11.5).
pub(crate) fn check_models(resolved: &Resolved, providers: &[ProviderSpec], findings: &mut Findings) {
    let settings = &resolved.settings;
    let mut routes: Vec<(String, Place)> = Vec::new();
    for path in ["runtime.model", "webhook.model", "cron.model"] {
        if let Some(text) = settings.text(path) {
            routes.push((text, settings.place(path, "")));
        }
    }
    for path in ["runtime.fallbacks", "webhook.endpoints", "cron.jobs", "subagents.definitions"] {
        let rows = settings.get(path).and_then(|setting| setting.value());
        for (index, row) in rows.as_ref().and_then(Value::as_array).into_iter().flatten().enumerate() {
            if let Some(text) = row.get("model").and_then(Value::as_str) {
                routes.push((text.to_owned(), settings.place(path, &format!("[{index}].model"))));
            }
        }
    }
    for (index, text) in settings.texts("subagents.models").into_iter().enumerate() {
        routes.push((text, settings.place("subagents.models", &format!("[{index}]"))));
    }
    if settings.text("memory.llm.provider").as_deref() == Some("agent-host")
        && let Some(text) = settings.text("memory.llm.model")
    {
        let at = settings.place("memory.llm.model", "");
        match ModelRef::parse(&text) {
            Ok(_) => routes.push((text, at)),
            Err(error) => {
                let message = format!("{} is no model reference: {error}", quote_str(&text));
                findings.error(config(code::MODEL, message).at(at).hint(error.hint()));
            }
        }
    }
    for (text, at) in routes {
        // What is no reference was reported where its shape was checked.
        if let Ok(model) = ModelRef::parse(&text) {
            check_route(&model, at, providers, settings, findings);
        }
    }
}
