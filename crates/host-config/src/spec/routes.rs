//! From definitions to providers with keys, and from references to routes that exist.

use super::providers::{
    BUILT_IN, KeySource, KnownModel, Price, ProviderKind, ProviderSpec, Rates, ToolCalling,
};
use super::{secret, secret_map};
use crate::environment::Environment;
use crate::finding::{Findings, code, config, quote_str};
use crate::model_ref::{ModelRef, is_provider_id};
use crate::nearest::nearest;
use crate::paths::Bases;
use crate::settings::Settings;
use host_vocab::{Place, Secret};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawProvider {
    enabled: bool,
    #[serde(rename = "type")]
    kind: Option<String>,
    api: Option<String>,
    base_url: Option<String>,
    trust_public_url: bool,
    #[serde(default, deserialize_with = "secret")]
    api_key: Option<Secret>,
    api_key_env: Option<String>,
    #[serde(default, deserialize_with = "secret_map")]
    headers: BTreeMap<String, Secret>,
    region: Option<String>,
    tool_calling: ToolCalling,
    request_timeout_ms: u64,
    idle_timeout_ms: u64,
    max_retries: u32,
    max_advertised_models: u32,
    models: Vec<KnownModel>,
}

/// Keys under `providers` that are no ids.
const RESERVED: &[&str] = &["piAuthPath", "piNative", "local"];

fn kind_of(id: &str, raw: &RawProvider) -> Option<ProviderKind> {
    let built_in = BUILT_IN.iter().find(|(known, _)| *known == id).map(|(_, kind)| *kind);
    let kind = match raw.kind.as_deref() {
        None => built_in?,
        Some("anthropic") => ProviderKind::Anthropic,
        Some("openai") => ProviderKind::OpenAiChat,
        Some("gemini") => ProviderKind::Gemini,
        Some("bedrock") => ProviderKind::Bedrock,
        Some("ollama") => ProviderKind::Ollama,
        Some("lmstudio") => ProviderKind::LmStudio,
        Some(_) => ProviderKind::OpenAiCompat,
    };
    Some(match (kind, raw.api.as_deref()) {
        (ProviderKind::OpenAiChat | ProviderKind::OpenAiCompat, Some("responses")) => {
            ProviderKind::OpenAiResponses
        }
        (ProviderKind::OpenAiResponses, Some("chat")) => ProviderKind::OpenAiChat,
        (kind, _) => kind,
    })
}

/// The variables that usually hold a provider's key, first the one to name.
fn usual_variables(id: &str, kind: ProviderKind, is_built_in: bool) -> &'static [&'static str] {
    let services: &[(&str, &[&str])] = &[
        ("deepseek", &["DEEPSEEK_API_KEY"]),
        ("mistral", &["MISTRAL_API_KEY"]),
        ("groq", &["GROQ_API_KEY"]),
        ("xai", &["XAI_API_KEY"]),
        ("openrouter", &["OPENROUTER_API_KEY"]),
        ("together", &["TOGETHER_API_KEY"]),
    ];
    if let Some((_, variables)) = services.iter().find(|(service, _)| *service == id) {
        return variables;
    }
    match kind {
        ProviderKind::Anthropic => &["ANTHROPIC_API_KEY"],
        // The key of one service is not sent to another that only speaks its language.
        ProviderKind::OpenAiChat | ProviderKind::OpenAiResponses if is_built_in => &["OPENAI_API_KEY"],
        ProviderKind::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        _ => &[],
    }
}

fn key(
    id: &str,
    raw: &RawProvider,
    kind: ProviderKind,
    is_built_in: bool,
    env: &Environment,
) -> (Option<Secret>, KeySource) {
    let set = |name: &str| env.get(name).filter(|value| !value.trim().is_empty());
    if let Some(key) = raw.api_key.clone().filter(|key| !key.is_empty()) {
        return (Some(key), KeySource::Config);
    }
    let usual_address = raw.base_url.is_none();
    let names: Vec<&str> = match raw.api_key_env.as_deref() {
        Some(name) => vec![name],
        // A usual key goes to the usual address, or to the one that this very provider was moved to. To a
        // provider of one's own with its own address it must be named.
        None if usual_address || is_built_in => usual_variables(id, kind, is_built_in).to_vec(),
        None => Vec::new(),
    };
    // A server at an address of one's own may want no key, unless the config names one.
    let wanted = usual_address || raw.api_key_env.is_some();
    match names.iter().find_map(|name| Some((*name, set(name)?))) {
        Some((name, value)) => (Some(Secret::new(value.trim())), KeySource::Env(name.to_owned())),
        None => match names.first().filter(|_| wanted) {
            Some(name) => (None, KeySource::Missing((*name).to_owned())),
            None => (None, KeySource::None),
        },
    }
}

/// All providers: built-in ids and the config's own.
pub(crate) fn resolve(
    settings: &Settings,
    bases: &Bases,
    env: &Environment,
    findings: &mut Findings,
) -> Vec<ProviderSpec> {
    let mut out: Vec<ProviderSpec> = Vec::new();
    let section = settings.section("providers", bases);
    let mut all: Vec<(String, serde_json::Value, Place)> = Vec::new();
    for (id, value) in section.as_object().into_iter().flatten() {
        if !RESERVED.contains(&id.as_str()) {
            all.push((
                id.clone(),
                value.clone(),
                settings.place("providers", &crate::source::path::key("", id)),
            ));
        }
    }
    local(settings, bases, &mut all, findings);
    for (id, value, place) in all {
        let Ok(raw) = serde_json::from_value::<RawProvider>(value) else { continue };
        if let Some(spec) = one(&id, raw, place, env, findings) {
            out.push(spec);
        }
    }
    for (id, _) in BUILT_IN {
        let defaults = serde_json::from_value::<RawProvider>(defaults());
        if let (false, Ok(raw)) = (out.iter().any(|spec| spec.id == *id), defaults)
            && let Some(mut spec) = one(id, raw, Place::default(), env, findings)
        {
            // An entry that was switched off stays off.
            let off = section.get(id).and_then(|value| value.get("enabled"))
                == Some(&serde_json::Value::Bool(false));
            spec.is_configured = false;
            if !off {
                out.push(spec);
            }
        }
    }
    out
}

/// A provider's defaults, from the registry.
fn defaults() -> serde_json::Value {
    let mut map = serde_json::Map::new();
    for field in crate::registry::fields() {
        if let (Some(key), Some(value)) = (field.path.strip_prefix("providers.*."), field.default_json())
            && !key.contains(['.', '['])
        {
            map.insert(key.to_owned(), value);
        }
    }
    serde_json::Value::Object(map)
}

/// Definitions under the deprecated `providers.local`, as if they stood one level higher.
fn local(
    settings: &Settings,
    bases: &Bases,
    all: &mut Vec<(String, serde_json::Value, Place)>,
    findings: &mut Findings,
) {
    let Some(setting) = settings.get("providers.local") else { return };
    let Some(node) = setting.node() else { return };
    let message = "`providers.local` is deprecated";
    let found = config(code::IGNORED, message).at(setting.place(""));
    findings.warning(found.hint("put its entries right under `providers` (MONO_AGENT_PROVIDERS_JSON)"));
    let Some(branch) = crate::registry::tree().at("providers.*") else { return };
    for member in node.members().unwrap_or_default() {
        let place = setting.place(&crate::source::path::key("", &member.key));
        if all.iter().any(|(id, ..)| *id == member.key) {
            let message = format!("the provider {} is defined twice", quote_str(&member.key));
            findings.error(config(code::CONFLICT, message).at(place).hint("keep the one under `providers`"));
            continue;
        }
        let before = findings.is_fatal();
        let mut walk = crate::check::Walk::new(&place.file, findings).quiet_about_secrets();
        walk.section(branch, &member.node, place.path.as_deref().unwrap_or_default());
        if before || !findings.is_fatal() {
            let value = crate::settings::finish(branch, member.node.to_json(), bases);
            all.push((member.key.clone(), value, place));
        }
    }
}

fn one(
    id: &str,
    raw: RawProvider,
    place: Place,
    env: &Environment,
    findings: &mut Findings,
) -> Option<ProviderSpec> {
    let is_built_in = BUILT_IN.iter().any(|(known, _)| *known == id);
    if !is_provider_id(id) {
        let message = format!("{} can't be a provider's id", quote_str(id));
        findings
            .error(config(code::BAD_VALUE, message).at(place).hint("use letters, digits, `-`, `_` and `.`"));
        return None;
    }
    let Some(kind) = kind_of(id, &raw) else {
        let known = BUILT_IN.iter().map(|(known, _)| *known);
        let mut found = config(code::MISSING_KEY, format!("the provider `{id}` has no `type`")).at(place);
        if let Some(near) = nearest(id, known) {
            found = found.hint(format!("did you mean `{near}`?"));
        }
        let types = crate::registry::PROVIDER_TYPES.join(", ");
        findings.error(found.hint(format!("only built-in ids need none; the types are {types}")));
        return None;
    };
    if matches!(kind, ProviderKind::OpenAiCompat | ProviderKind::OpenAiResponses)
        && !is_built_in
        && raw.base_url.is_none()
    {
        let message = format!("the provider `{id}` has no `baseUrl`");
        findings
            .error(config(code::MISSING_KEY, message).at(place).hint("add \"baseUrl\": \"https://…/v1\""));
        return None;
    }
    if raw.api_key.is_some() && raw.api_key_env.is_some() {
        let message = format!("the provider `{id}` has both `apiKey` and `apiKeyEnv`");
        findings.error(config(code::CONFLICT, message).at(place).hint("keep `apiKeyEnv`"));
        return None;
    }
    if !raw.enabled {
        return None;
    }
    let (api_key, key_source) = key(id, &raw, kind, is_built_in, env);
    Some(ProviderSpec {
        id: id.to_owned(),
        kind,
        base_url: raw.base_url,
        api_key,
        key_source,
        headers: raw.headers,
        region: raw.region.or_else(|| aws_region(kind, env)),
        tool_calling: raw.tool_calling,
        request_timeout_ms: raw.request_timeout_ms,
        idle_timeout_ms: raw.idle_timeout_ms,
        max_retries: raw.max_retries,
        trust_public_url: raw.trust_public_url,
        max_advertised_models: raw.max_advertised_models,
        models: raw.models,
        is_configured: true,
    })
}

fn aws_region(kind: ProviderKind, env: &Environment) -> Option<String> {
    let names = ["AWS_REGION", "AWS_DEFAULT_REGION"];
    let region = names.iter().find_map(|name| env.get(*name).filter(|value| !value.is_empty()).cloned());
    region.filter(|_| kind == ProviderKind::Bedrock)
}

/// Prices of both tables; `pricing` wins over a provider's `models`.
pub(crate) fn prices(settings: &Settings, providers: &[ProviderSpec], findings: &mut Findings) -> Vec<Price> {
    let mut out: Vec<Price> = Vec::new();
    if let Some(setting) = settings.get("pricing") {
        let value = setting.value().unwrap_or_default();
        for (text, rates) in value.as_object().into_iter().flatten() {
            match (ModelRef::parse(text), serde_json::from_value::<Rates>(rates.clone())) {
                (Ok(model), Ok(rates)) => out.push(Price { model, rates }),
                (Err(error), _) => {
                    let at = setting.place(&crate::source::path::key("", text));
                    let message = format!("{} is no model reference: {error}", quote_str(text));
                    findings.error(config(code::MODEL, message).at(at).hint(error.hint()));
                }
                // The shape was checked before.
                (_, Err(_)) => {}
            }
        }
    }
    for provider in providers {
        for known in &provider.models {
            let names = [Some(&known.name), known.alias.as_ref()];
            for name in names.into_iter().flatten() {
                let Ok(model) = ModelRef::parse(&format!("{}:{name}", provider.id)) else { continue };
                if let (Some(rates), false) = (known.pricing, out.iter().any(|price| price.model == model)) {
                    out.push(Price { model, rates });
                }
            }
        }
    }
    out
}

/// Reports a reference whose provider nobody defined, with the config to add (host-core facts 11.5).
pub(crate) fn check_route(
    model: &ModelRef,
    place: Place,
    providers: &[ProviderSpec],
    settings: &Settings,
    findings: &mut Findings,
) {
    if providers.iter().any(|provider| provider.id == model.provider()) {
        return;
    }
    let id = model.provider();
    let section = settings.get("providers").and_then(|setting| setting.value());
    if section.as_ref().and_then(|all| all.get(id)).is_some() {
        // Either it is switched off, or what is wrong with it was reported at its own place.
        let message =
            format!("{} names the provider `{id}`, which can't be used", quote_str(&model.to_string()));
        let hint = format!("see `providers.{id}`: it must be right, and not switched off");
        findings.error(config(code::MODEL, message).at(place).hint(hint));
        return;
    }
    let message =
        format!("{} names the provider `{id}`, which is not defined", quote_str(&model.to_string()));
    let mut found = config(code::MODEL, message).at(place);
    if let Some(near) = nearest(id, providers.iter().map(|provider| provider.id.as_str())) {
        found =
            found.hint(format!("did you mean \"{near}:{}\"?", host_vocab::text::one_line(model.model(), 60)));
    }
    let variable = id.to_ascii_uppercase().replace(['-', '.'], "_");
    findings.error(found.hint(format!(
        "or define it: \"providers\": {{ \"{id}\": {{ \"type\": \"openai_compat\", \"baseUrl\": \"https://…/v1\", \
         \"apiKeyEnv\": \"{variable}_API_KEY\" }} }}"
    )));
}
