//! What a call asks for, and which addresses may answer it.

use super::Input;
use host_surface::ToolError;
use url::{Host, Url};

/// The longest query, in bytes.
pub(super) const QUERY_BYTES_MAX: usize = 500;
/// The most domains of one list.
const DOMAINS_MAX: usize = 10;
/// The most other wordings.
const ALTERNATES_MAX: usize = 3;
/// How many results are given where the call doesn't say.
const LIMIT_DEFAULT: usize = 5;
/// The most results.
const LIMIT_MAX: usize = 10;

/// How old a result may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum TimeRange {
    Day,
    Month,
    Year,
}

impl TimeRange {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            TimeRange::Day => "day",
            TimeRange::Month => "month",
            TimeRange::Year => "year",
        }
    }
}

/// One wording as an engine gets it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Wording {
    pub(super) text: String,
    pub(super) language: Option<String>,
    pub(super) time_range: Option<TimeRange>,
}

/// Whose addresses may be among the results.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Domains {
    include: Vec<String>,
    exclude: Vec<String>,
}

impl Domains {
    /// Whether a result of this address may be shown. Engines are asked for the same, and not trusted.
    pub(super) fn admit(&self, url: &Url) -> bool {
        let Some(host) = url.host_str().map(|it| it.trim_end_matches('.').to_ascii_lowercase()) else {
            return false;
        };
        let within = |domain: &String| {
            host == *domain || host.strip_suffix(domain.as_str()).is_some_and(|it| it.ends_with('.'))
        };
        !self.exclude.iter().any(within) && (self.include.is_empty() || self.include.iter().any(within))
    }

    /// Whether there is any rule.
    pub(super) fn is_any(&self) -> bool {
        !self.include.is_empty() || !self.exclude.is_empty()
    }
}

/// A checked call.
#[derive(Debug, Clone)]
pub(super) struct Query {
    pub(super) wordings: Vec<Wording>,
    pub(super) limit: usize,
    pub(super) domains: Domains,
}

impl Query {
    /// Checks a call.
    ///
    /// # Errors
    /// `invalid_query` with what is wrong and what is right.
    pub(super) fn check(input: &Input) -> Result<Self, ToolError> {
        let limit = input.limit.unwrap_or(LIMIT_DEFAULT);
        if !(1..=LIMIT_MAX).contains(&limit) {
            return Err(invalid(format!("limit must be from 1 to {LIMIT_MAX}")));
        }
        let alternates = input.alternate_queries.as_deref().unwrap_or_default();
        if alternates.len() > ALTERNATES_MAX {
            return Err(invalid(format!("alternate_queries may hold at most {ALTERNATES_MAX} queries")));
        }
        let mut texts = vec![text(&input.query, "query")?];
        for alternate in alternates {
            let alternate = text(alternate, "an alternate query")?;
            if !texts.contains(&alternate) {
                texts.push(alternate);
            }
        }
        let listed = domains(input.domains.as_deref(), "domains")?;
        let exclude = domains(input.exclude_domains.as_deref(), "exclude_domains")?;
        let language = input.language.as_deref().map(language).transpose()?;
        let time_range = input.time_range.as_deref().map(time_range).transpose()?;
        let mut include = listed.clone();
        // A `site:` of the query itself narrows as well; of several wordings each may name another.
        include.extend(texts.iter().flat_map(|it| sites_in(it)).filter(|_| listed.is_empty()));
        let wordings = texts
            .into_iter()
            .map(|text| Wording {
                text: narrowed(text, &listed, &exclude),
                language: language.clone(),
                time_range,
            })
            .collect();
        Ok(Query { wordings, limit, domains: Domains { include, exclude } })
    }
}

fn invalid(why: String) -> ToolError {
    ToolError::new("invalid_query", why)
}

fn text(text: &str, what: &str) -> Result<String, ToolError> {
    let text = host_vocab::text::one_line(text, usize::MAX);
    if text.is_empty() {
        return Err(invalid(format!("{what} is empty; say what to look for")));
    }
    if text.len() > QUERY_BYTES_MAX {
        return Err(invalid(format!("{what} is longer than {QUERY_BYTES_MAX} bytes; use a few words")));
    }
    Ok(text)
}

fn domains(list: Option<&[String]>, name: &str) -> Result<Vec<String>, ToolError> {
    let list = list.unwrap_or_default();
    if list.len() > DOMAINS_MAX {
        return Err(invalid(format!("{name} may hold at most {DOMAINS_MAX} domains")));
    }
    list.iter()
        .map(|it| {
            domain(it).ok_or_else(|| {
                let shown = host_vocab::text::one_line(it, 80);
                invalid(format!("{name}: {shown:?} is no domain; write it as example.org"))
            })
        })
        .collect()
}

/// A domain name in the form that addresses have.
fn domain(text: &str) -> Option<String> {
    let text = text.trim().trim_start_matches("*.").trim_matches('.');
    let looks_like_one = text.contains('.') && !text.contains([':', '/', '@', '?', '#', ' ', '%', '*']);
    match Host::parse(text) {
        Ok(Host::Domain(name)) if looks_like_one => Some(name.to_ascii_lowercase()),
        _ => None,
    }
}

fn language(text: &str) -> Result<String, ToolError> {
    let mut parts = text.split('-');
    let first = parts.next().unwrap_or_default();
    let is_one = (2..=3).contains(&first.len())
        && first.bytes().all(|c| c.is_ascii_alphabetic())
        && parts.all(|it| (2..=8).contains(&it.len()) && it.bytes().all(|c| c.is_ascii_alphanumeric()))
        && text.len() <= 20;
    if is_one {
        Ok(text.to_owned())
    } else {
        Err(invalid("language must be a tag such as en or de-AT".to_owned()))
    }
}

fn time_range(text: &str) -> Result<TimeRange, ToolError> {
    match text {
        "day" => Ok(TimeRange::Day),
        "month" => Ok(TimeRange::Month),
        "year" => Ok(TimeRange::Year),
        _ => Err(invalid("time_range must be day, month or year".to_owned())),
    }
}

/// The domains of `site:` words.
fn sites_in(query: &str) -> Vec<String> {
    let words = query.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')'));
    words
        .filter_map(|word| {
            word.get(..5).filter(|it| it.eq_ignore_ascii_case("site:")).and_then(|_| domain(&word[5..]))
        })
        .collect()
}

/// A query with the domain rules in the words that engines know.
fn narrowed(mut query: String, include: &[String], exclude: &[String]) -> String {
    match include {
        [] => {}
        [one] => query.push_str(&format!(" site:{one}")),
        several => {
            let all: Vec<String> = several.iter().map(|it| format!("site:{it}")).collect();
            query.push_str(&format!(" ({})", all.join(" OR ")));
        }
    }
    for domain in exclude {
        query.push_str(&format!(" -site:{domain}"));
    }
    query
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: serde_json::Value) -> Result<Query, String> {
        let input: Input = serde_json::from_value(value).unwrap();
        Query::check(&input).map_err(|error| error.message)
    }

    // TOO-5
    #[test]
    fn rules_for_domains() {
        let query = check(serde_json::json!({
            "query": "rust  async", "alternate_queries": ["rust async", "tokio site:tokio.rs"],
            "domains": ["Docs.RS", "*.bücher.example"], "exclude_domains": ["old.docs.rs"]
        }))
        .unwrap();
        let texts: Vec<&str> = query.wordings.iter().map(|it| it.text.as_str()).collect();
        let tail = " (site:docs.rs OR site:xn--bcher-kva.example) -site:old.docs.rs";
        assert_eq!(texts, [format!("rust async{tail}"), format!("tokio site:tokio.rs{tail}")]);
        let admitted = |url: &str| query.domains.admit(&Url::parse(url).unwrap());
        assert!(
            admitted("https://docs.rs/x")
                && admitted("https://a.docs.rs./")
                && admitted("https://bücher.example")
        );
        assert!(!admitted("https://old.docs.rs/") && !admitted("https://evildocs.rs/"));
        assert!(!admitted("https://docs.rs.evil.example/") && !admitted("https://tokio.rs/"));
        let own = check(serde_json::json!({"query": "x SITE:a.example -site:b.example"})).unwrap();
        assert!(own.domains.admit(&Url::parse("https://a.example").unwrap()));
        assert!(!own.domains.admit(&Url::parse("https://c.example").unwrap()));
    }

    // TOO-5
    #[test]
    fn what_is_over_a_bound_is_an_error_that_names_it() {
        for (value, says) in [
            (serde_json::json!({"query": " \n"}), "empty"),
            (serde_json::json!({"query": "x".repeat(600)}), "500 bytes"),
            (serde_json::json!({"query": "x", "limit": 50}), "1 to 10"),
            (serde_json::json!({"query": "x", "alternate_queries": ["a", "b", "c", "d"]}), "at most 3"),
            (serde_json::json!({"query": "x", "domains": ["https://a.example/"]}), "example.org"),
            (serde_json::json!({"query": "x", "exclude_domains": ["com OR 1"]}), "example.org"),
            (serde_json::json!({"query": "x", "language": "english!"}), "de-AT"),
            (serde_json::json!({"query": "x", "time_range": "week"}), "day, month or year"),
        ] {
            let error = check(value.clone()).unwrap_err();
            assert!(error.contains(says), "{value}: {error}");
        }
    }
}
