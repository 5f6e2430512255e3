//! One order from several: reciprocal-rank fusion.

use super::engine::Hit;
use super::query::Domains;
use indexmap::IndexMap;
use url::Url;

/// How much less a later place counts.
const K: f64 = 60.0;

/// Parameters that say where a visitor came from and nothing of the page.
const TRACKERS: &[&str] = &[
    "_ga",
    "_gl",
    "_hsenc",
    "_hsmi",
    "dclid",
    "fbclid",
    "gbraid",
    "gclid",
    "gclsrc",
    "igshid",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "msclkid",
    "oly_anon_id",
    "oly_enc_id",
    "rb_clickid",
    "ref_src",
    "s_cid",
    "srsltid",
    "twclid",
    "vero_conv",
    "vero_id",
    "wbraid",
    "wickedid",
    "yclid",
];

/// The hits of several lists by the sum of 1 / (60 + place); of equal ones the first found comes first. A page
/// counts once in each list, whatever its spelling.
pub(super) fn fuse(lists: &[Vec<Hit>], domains: &Domains, limit: usize) -> Vec<Hit> {
    let mut scored: IndexMap<String, (f64, Hit)> = IndexMap::new();
    for list in lists {
        let mut seen = std::collections::HashSet::new();
        let admitted =
            list.iter().filter(|it| domains.admit(&it.url)).filter(|it| seen.insert(same_page(&it.url)));
        for (place, hit) in admitted.enumerate() {
            let score = 1.0 / (K + 1.0 + place as f64);
            let slot = scored.entry(same_page(&hit.url)).or_insert_with(|| (0.0, hit.clone()));
            slot.0 += score;
            if slot.1.excerpt.is_empty() {
                slot.1.excerpt.clone_from(&hit.excerpt);
            }
        }
    }
    let mut all: Vec<(f64, Hit)> = scored.into_values().collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.into_iter().take(limit).map(|(_, hit)| hit).collect()
}

/// What two spellings of one page have in common.
fn same_page(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let host = host.strip_prefix("www.").unwrap_or(host);
    let path = url.path().trim_end_matches('/');
    let port = url.port().map(|it| format!(":{it}")).unwrap_or_default();
    format!("{host}{port}{path}?{}", url.query().unwrap_or_default())
}

/// An address without the parameters that track its visitors.
pub(super) fn without_trackers(mut url: Url) -> Url {
    let is_tracker = |name: &str| name.starts_with("utm_") || TRACKERS.contains(&name);
    if !url.query_pairs().any(|(name, _)| is_tracker(&name)) {
        return url;
    }
    let kept: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(name, _)| !is_tracker(name))
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    if kept.is_empty() {
        url.set_query(None);
    } else {
        url.query_pairs_mut().clear().extend_pairs(kept);
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(urls: &[&str]) -> Vec<Hit> {
        urls.iter().map(|it| Hit::of("t", it, "").unwrap()).collect()
    }

    fn shown(hits: &[Hit]) -> Vec<&str> {
        hits.iter().map(|it| it.url.as_str()).collect()
    }

    // TOO-5
    #[test]
    fn what_several_wordings_find_comes_first() {
        let lists = [
            list(&["https://a.example/", "https://b.example/x", "https://c.example/"]),
            list(&["https://d.example/", "https://www.b.example/x/?utm_source=q", "http://d.example"]),
        ];
        let fused = fuse(&lists, &Domains::default(), 3);
        assert_eq!(shown(&fused), ["https://b.example/x", "https://a.example/", "https://d.example/"]);
    }

    #[test]
    fn trackers_are_gone_and_the_rest_stays() {
        let clean = |it: &str| without_trackers(Url::parse(it).unwrap()).to_string();
        assert_eq!(clean("https://x.example/?utm_medium=a&gclid=b"), "https://x.example/");
        assert_eq!(clean("https://x.example/?a=1&fbclid=z&b=%20c"), "https://x.example/?a=1&b=+c");
        assert_eq!(clean("https://x.example/?a=%20"), "https://x.example/?a=%20");
    }

    proptest! {
        // TOO-5
        #[test]
        fn fusion_is_bounded_and_names_no_page_twice(
            lists in prop::collection::vec(prop::collection::vec(0u8..8, 0..12), 0..4), limit in 1usize..10
        ) {
            let lists: Vec<Vec<Hit>> = lists
                .iter()
                .map(|it| it.iter().map(|n| Hit::of("t", &format!("https://h{n}.example/"), "").unwrap()).collect())
                .collect();
            let fused = fuse(&lists, &Domains::default(), limit);
            let mut urls = shown(&fused);
            prop_assert!(urls.len() <= limit);
            urls.sort_unstable();
            urls.dedup();
            prop_assert_eq!(urls.len(), fused.len());
        }
    }
}
