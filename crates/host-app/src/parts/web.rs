//! The web tools of an agent: where they may go, whom they ask, and why they aren't there.

use host_config::AgentSpec;
use host_config::environment::Environment;
use host_config::spec::sandbox::NetworkMode;
use host_net::{AddressKind, Egress, NetHttp, PublicOnly, classify};
use host_ports::http::Http;
use host_sandbox::HostList;
use host_surface::{Offer, WithheldBy};
use host_tools::{
    HostRule, RenderCeiling, SearchEngine, WebFetchSettings, WebFetchTool, WebReach, WebSearchSettings,
    WebSearchTool, WebTools, searxng_endpoint,
};
use host_vocab::{Code, Diagnostic, Kind, Secret};
use std::net::IpAddr;
use std::sync::Arc;

const FETCH: &str = "WebFetch";
const SEARCH: &str = "WebSearch";

/// Decides on both tools.
///
/// # Errors
/// A list or an address in the settings that can't be meant.
pub(crate) fn tools(spec: &AgentSpec, env: &Environment) -> Result<WebTools, Diagnostic> {
    let reach = reach(spec)?;
    let http: Arc<dyn Http> = Arc::new(NetHttp::confined(Arc::new(Outside {
        reach: reach.clone(),
        public: PublicOnly::except(spec.tools.web.fetch.allow_private_hosts.iter().cloned()),
    })));
    let search = search(spec, env, &reach)?;
    Ok(WebTools::new(fetch(spec, reach, http), search))
}

/// The network policy as the web tools see it. It holds with the sandbox off as well: these requests are the
/// host's own.
fn reach(spec: &AgentSpec) -> Result<WebReach, Diagnostic> {
    Ok(match spec.sandbox.network {
        NetworkMode::None => WebReach::None,
        NetworkMode::Localhost => WebReach::Localhost,
        NetworkMode::All => WebReach::All,
        NetworkMode::Allowlist => {
            let list = HostList::parse(&spec.sandbox.allowlist).map_err(|error| {
                Diagnostic::new(Kind::Config, Code::new("config_bad_value"), error.to_string())
            })?;
            WebReach::Allowlist(Arc::new(Listed(list)))
        }
    })
}

struct Listed(HostList);

impl HostRule for Listed {
    fn admits(&self, host: &str) -> bool {
        self.0.admits(host)
    }
}

/// Connections of `WebFetch`: the policy's hosts, at public addresses or those that are listed.
struct Outside {
    reach: WebReach,
    public: PublicOnly,
}

impl Egress for Outside {
    fn host(&self, host: &str, port: u16) -> Result<(), String> {
        if self.reach.admits_host(host) {
            self.public.host(host, port)
        } else {
            Err(format!("the network policy ({}) does not reach it", self.reach.as_str()))
        }
    }

    fn address(&self, host: &str, address: IpAddr) -> Result<(), String> {
        self.public.address(host, address)
    }
}

/// Connections to a search service on this machine.
struct ThisMachine;

impl Egress for ThisMachine {
    fn host(&self, _host: &str, _port: u16) -> Result<(), String> {
        Ok(())
    }

    fn address(&self, host: &str, address: IpAddr) -> Result<(), String> {
        match classify(address) {
            AddressKind::Loopback => Ok(()),
            other => Err(format!("{host} leads to a {} address, not to this machine", other.as_str())),
        }
    }
}

/// Why the network policy keeps a tool away, and what to change; `None` = it doesn't.
fn kept_away(spec: &AgentSpec, reach: &WebReach) -> Option<String> {
    match reach {
        WebReach::None => Some(
            "sandbox.network.mode is none; set it to all, or to allowlist and name the hosts in \
             sandbox.network.allowlist"
                .to_owned(),
        ),
        WebReach::Allowlist(_) if spec.sandbox.allowlist.is_empty() => {
            Some("sandbox.network.allowlist is empty; name the hosts in it".to_owned())
        }
        _ => None,
    }
}

fn fetch(spec: &AgentSpec, reach: WebReach, http: Arc<dyn Http>) -> Offer {
    let settings = &spec.tools.web.fetch;
    if let Some(why) = kept_away(spec, &reach) {
        return Offer::withheld(FETCH, WithheldBy::Sandbox, why);
    }
    if matches!(reach, WebReach::Localhost) {
        let why = "sandbox.network.mode is localhost, which lets only a local search service through; set it to \
                   all or allowlist";
        return Offer::withheld(FETCH, WithheldBy::Sandbox, why);
    }
    if !settings.provider.iter().any(|it| it == "local") {
        let why = "tools.web.fetch.provider names nobody that this version runs; put local into it";
        return Offer::withheld(FETCH, WithheldBy::Capability, why);
    }
    let render = if settings.render == "auto" { RenderCeiling::Auto } else { RenderCeiling::Never };
    Offer::ready(WebFetchTool::new(http, WebFetchSettings { render, ..WebFetchSettings::new(reach) }))
}

/// Why an engine is not in the chain.
enum Left {
    /// Something isn't configured.
    Out(String),
    /// The network policy keeps it away.
    Away(String),
}

fn search(spec: &AgentSpec, env: &Environment, reach: &WebReach) -> Result<Offer, Diagnostic> {
    let settings = &spec.tools.web.search;
    let endpoint = settings.searxng.as_ref().map(|it| &it.endpoint).or(settings.endpoint.as_ref());
    if let Some(endpoint) = endpoint {
        searxng_endpoint(endpoint).map_err(|error| bad_endpoint(spec, &error.to_string()))?;
    }
    if let Some(why) = kept_away(spec, reach) {
        return Ok(Offer::withheld(SEARCH, WithheldBy::Sandbox, why));
    }
    if spec.tools.web.coordination == "host" {
        let why = "tools.web.coordination is host, which this version does not run; set it to process";
        return Ok(Offer::withheld(SEARCH, WithheldBy::Capability, why));
    }
    let mut chain = Vec::new();
    let mut left = Vec::new();
    for name in wanted(spec) {
        match engine(name, spec, env, reach, endpoint.map(String::as_str)) {
            Ok(engine) => chain.push(engine),
            Err(why) => left.push(why),
        }
    }
    if !chain.is_empty() {
        let requests_per_run_max = settings.max_requests_per_run;
        return Ok(Offer::ready(WebSearchTool::new(WebSearchSettings {
            requests_per_run_max,
            ..WebSearchSettings::new(chain)
        })));
    }
    let by_policy = left.iter().any(|it| matches!(it, Left::Away(_)));
    let why: Vec<String> = left
        .into_iter()
        .filter_map(|it| match it {
            Left::Away(why) => Some(why),
            Left::Out(why) => (!by_policy).then_some(why),
        })
        .collect();
    let by = if by_policy { WithheldBy::Sandbox } else { WithheldBy::Capability };
    Ok(Offer::withheld(SEARCH, by, why.join("; ")))
}

fn bad_endpoint(spec: &AgentSpec, what: &str) -> Diagnostic {
    let path = if spec.tools.web.search.searxng.is_some() {
        "tools.web.search.searxng.endpoint"
    } else {
        "tools.web.search.endpoint"
    };
    Diagnostic::new(Kind::Config, Code::new("invalid_search_config"), what).at(spec.settings.place(path, ""))
}

/// The engines to try in order, with `auto` and `keyless` spelt out.
fn wanted(spec: &AgentSpec) -> Vec<&str> {
    let settings = &spec.tools.web.search;
    let mut all: Vec<&str> = Vec::new();
    for name in &settings.backend {
        let names: Vec<&str> = match name.as_str() {
            "auto" => {
                let local = settings.searxng.is_some() || settings.endpoint.is_some();
                let configured =
                    [(local, "searxng"), (settings.brave.is_some(), "brave"), (true, "duckduckgo")];
                configured.into_iter().filter_map(|(there, name)| there.then_some(name)).collect()
            }
            "keyless" => vec!["duckduckgo"],
            other => vec![other],
        };
        all.extend(names);
    }
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|name| seen.insert(*name));
    all
}

fn engine(
    name: &str,
    spec: &AgentSpec,
    env: &Environment,
    reach: &WebReach,
    endpoint: Option<&str>,
) -> Result<SearchEngine, Left> {
    let away = |host: &str| {
        let mode = reach.as_str();
        Left::Away(format!(
            "sandbox.network.mode is {mode}, which does not let {name} ({host}) through; name the host in \
             sandbox.network.allowlist or set the mode to all"
        ))
    };
    let public = || -> Arc<dyn Http> {
        let rule = Outside { reach: reach.clone(), public: PublicOnly::default() };
        Arc::new(NetHttp::confined(Arc::new(rule)))
    };
    let reached = |host: &str| if reach.admits_host(host) { Ok(()) } else { Err(away(host)) };
    match name {
        "searxng" => {
            let missing = "searxng has no address; set tools.web.search.searxng.endpoint";
            let endpoint = endpoint.ok_or_else(|| Left::Out(missing.to_owned()))?;
            let url = searxng_endpoint(endpoint).map_err(|error| Left::Out(error.to_string()))?;
            let host = url.host_str().unwrap_or_default();
            if !reach.admits_local_service(host) {
                return Err(away(host));
            }
            let http = Arc::new(NetHttp::confined(Arc::new(ThisMachine)));
            SearchEngine::searxng(http, endpoint).map_err(|error| Left::Out(error.to_string()))
        }
        "brave" => {
            let variable = spec.tools.web.search.brave.as_ref().map(|it| it.api_key_env.as_str());
            let missing = "brave has no key; set tools.web.search.brave.apiKeyEnv";
            let variable = variable.ok_or_else(|| Left::Out(missing.to_owned()))?;
            let key = env.get(variable).filter(|it| !it.trim().is_empty());
            let key =
                key.ok_or_else(|| Left::Out(format!("brave's key is not set (variable {variable})")))?;
            reached(SearchEngine::BRAVE_HOST)?;
            Ok(SearchEngine::brave(public(), Secret::new(key.trim())))
        }
        "duckduckgo" => {
            reached(SearchEngine::DUCKDUCKGO_HOST)?;
            Ok(SearchEngine::duckduckgo(public()))
        }
        other => Err(Left::Out(format!("this version does not run {other} (tools.web.search.backend)"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_config::spec::tools::{KeyEnvSpec, SearxngSpec};
    use host_surface::ToolSource as _;
    use std::path::Path;

    /// `WebFetch` and `WebSearch`: `ready`, or by whom they are withheld and why.
    async fn told(change: impl FnOnce(&mut AgentSpec), env: &[(&str, &str)]) -> [String; 2] {
        let mut spec = AgentSpec::embedded_default(Path::new("/nowhere"));
        change(&mut spec);
        let env: Environment = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let offers = tools(&spec, &env).unwrap().offers(&host_testkit::facts()).await;
        let words = offers.iter().map(|offer| match offer {
            Offer::Ready(_) => "ready".to_owned(),
            Offer::Withheld(it) => format!("{}: {}", it.by.as_str(), it.why),
        });
        words.collect::<Vec<_>>().try_into().unwrap()
    }

    fn searxng(spec: &mut AgentSpec, endpoint: &str) {
        spec.tools.web.search.searxng = Some(SearxngSpec { endpoint: endpoint.to_owned() });
    }

    // TOO-4, TOO-5
    #[tokio::test]
    async fn the_network_policy_decides() {
        let none = told(|_| {}, &[]).await;
        for words in &none {
            assert!(words.starts_with("sandbox: sandbox.network.mode is none"), "{words}");
        }
        let local = |spec: &mut AgentSpec| spec.sandbox.network = NetworkMode::Localhost;
        let [fetch, search] = told(local, &[]).await;
        assert!(fetch.starts_with("sandbox: ") && search.starts_with("sandbox: "), "{fetch} {search}");
        let [fetch, search] = told(
            |spec| {
                local(spec);
                searxng(spec, "http://127.0.0.1:8888");
            },
            &[],
        )
        .await;
        assert!(fetch.starts_with("sandbox: ") && search == "ready", "{fetch} {search}");
        let listed = |hosts: &'static [&'static str]| {
            move |spec: &mut AgentSpec| {
                spec.sandbox.network = NetworkMode::Allowlist;
                spec.sandbox.allowlist = hosts.iter().map(|it| (*it).to_owned()).collect();
            }
        };
        let [fetch, search] = told(listed(&["a.example"]), &[]).await;
        assert!(fetch == "ready" && search.contains("html.duckduckgo.com"), "{fetch} {search}");
        assert_eq!(told(listed(&["html.duckduckgo.com"]), &[]).await, ["ready", "ready"]);
        assert!(told(listed(&[]), &[]).await[0].contains("allowlist is empty"));
        assert_eq!(told(|spec| spec.sandbox.network = NetworkMode::All, &[]).await, ["ready", "ready"]);
    }

    // TOO-5
    #[tokio::test]
    async fn an_engine_that_lacks_something_is_named() {
        let chain = |backend: &'static str| {
            move |spec: &mut AgentSpec| {
                spec.sandbox.network = NetworkMode::All;
                spec.tools.web.search.backend = vec![backend.to_owned()];
                spec.tools.web.search.brave = Some(KeyEnvSpec { api_key_env: "BRAVE_KEY".to_owned() });
            }
        };
        for (backend, says) in [("brave", "BRAVE_KEY"), ("searxng", "searxng.endpoint"), ("codex", "codex")] {
            let [_, search] = told(chain(backend), &[]).await;
            assert!(search.starts_with("capability: ") && search.contains(says), "{search}");
        }
        assert_eq!(told(chain("brave"), &[("BRAVE_KEY", "k")]).await[1], "ready");
        let both = |spec: &mut AgentSpec| {
            chain("auto")(spec);
            spec.tools.web.coordination = "host".to_owned();
        };
        let host = told(both, &[]).await;
        assert!(host[1].contains("tools.web.coordination"), "{}", host[1]);
    }

    // TOO-5
    #[test]
    fn a_search_service_elsewhere_is_refused_at_the_start() {
        for bad in
            ["https://127.0.0.1", "http://10.0.0.1:8888", "http://u:p@127.0.0.1", "http://127.0.0.1/?q=1"]
        {
            let mut spec = AgentSpec::embedded_default(Path::new("/nowhere"));
            searxng(&mut spec, bad);
            let Err(error) = tools(&spec, &Environment::new()) else { panic!("{bad}") };
            assert_eq!(error.code.as_str(), "invalid_search_config", "{bad}");
        }
    }

    // TOO-4
    #[test]
    fn connections_follow_the_policy_too() {
        let list = HostList::parse(&["a.example"]).unwrap();
        let reach = WebReach::Allowlist(Arc::new(Listed(list)));
        let rule = Outside { reach, public: PublicOnly::default() };
        assert!(rule.host("a.example", 443).is_ok() && rule.host("b.example", 443).is_err());
        assert!(rule.address("a.example", "169.254.169.254".parse().unwrap()).is_err());
        assert!(ThisMachine.address("localhost", "127.0.0.1".parse().unwrap()).is_ok());
        assert!(ThisMachine.address("localhost", "8.8.8.8".parse().unwrap()).is_err());
    }
}
