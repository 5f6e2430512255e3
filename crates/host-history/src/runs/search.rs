//! Searching runs (RUN-5, RUN-6).

use super::arguments::Asked;
use super::{RunViews, TOOL, candidates, set_limit};
use crate::cursor::{self, Kind};
use crate::error::HistoryError;
use crate::fold::{fold, terms};
use crate::navigation::{Navigation, NextAction};
use crate::scope::HistoryScope;
use crate::store::{RunHit, RunMatches, RunSearchQuery};
use host_vocab::text::one_line;
use serde_json::{Map, Value, json};

impl RunViews {
    pub(super) fn search(
        &self,
        scope: &HistoryScope,
        asked: &Asked,
        query: &str,
    ) -> Result<Value, HistoryError> {
        let terms = scored(terms(query)?);
        if terms.is_empty() {
            return Err(HistoryError::Input("query: there is no word in it".to_owned()));
        }
        let question = json!(fold(query));
        let after: Option<(usize, u64)> = match &asked.cursor {
            None => None,
            Some(cursor) => {
                let (matched, seq) =
                    cursor::open(self.store.as_ref(), scope.binding(), Kind::RunSearch, &question, cursor)?;
                self.anchored(scope, seq)?;
                Some((matched, seq))
            }
        };
        let mut found = self.store.search_runs(&RunSearchQuery {
            scope: scope.filter(),
            terms: terms.clone(),
            after,
            without: Some((Some(scope.conversation.clone()), scope.current.clone())),
            limit: asked.limit + 1,
        })?;
        let more = found.hits.len() > asked.limit;
        found.hits.truncate(asked.limit);
        let next = found.hits.last().filter(|_| more).map(|hit| {
            let anchor = (hit.matched.len(), hit.row.seq);
            cursor::seal(self.store.as_ref(), scope.binding(), Kind::RunSearch, &question, &anchor)
        });
        let mut page = self.page(&found, query, next.as_deref(), asked);
        let mut navigation = self.search_navigation(&found, &terms, next.as_deref(), asked, query);
        if let ([only], None, None) = (found.hits.as_slice(), &asked.cursor, &next) {
            self.hydrate(scope, only, &mut page, &mut navigation);
        }
        page.insert("navigation".into(), json!(navigation));
        Ok(Value::Object(page))
    }

    fn page(&self, found: &RunMatches, query: &str, next: Option<&str>, asked: &Asked) -> Map<String, Value> {
        let runs: Vec<Value> = found
            .hits
            .iter()
            .map(|hit| {
                let mut row = self.row(&hit.row);
                if let Some(map) = row.as_object_mut() {
                    map.insert("matchedTerms".into(), hit.matched.len().into());
                }
                row
            })
            .collect();
        let mut page = Map::new();
        page.insert("kind".into(), "run_search".into());
        page.insert("query".into(), one_line(query, 512).into());
        page.insert("matchedAllTerms".into(), Value::Bool(found.all_terms && !found.hits.is_empty()));
        page.insert("runs".into(), runs.into());
        page.insert("nextCursor".into(), next.into());
        page.insert("limit".into(), asked.limit.into());
        page
    }

    fn search_navigation(
        &self,
        found: &RunMatches,
        terms: &[String],
        next: Option<&str>,
        asked: &Asked,
        query: &str,
    ) -> Navigation {
        let rows: Vec<_> = found.hits.iter().map(|hit| hit.row.clone()).collect();
        let mut navigation = Navigation { next_actions: candidates(&rows), ..Navigation::default() };
        navigation.guidance = match found.hits.first() {
            None => "No settled run of this conversation carries any of these words in what set it going, its id, \
                     dates, status, source, model or effort. Answers and tool results are not searched here."
                .to_owned(),
            Some(_) if found.all_terms => "These runs carry every word of the query, newest first.".to_owned(),
            Some(best) => {
                let matched: Vec<&str> = best.matched.iter().filter_map(|at| terms.get(*at)).map(String::as_str).collect();
                let matched = one_line(&matched.join(", "), 300);
                format!(
                    "No run carries every word. Ranked by how many they carry; the best one carries: {matched}. Look \
                     whether it is the one that is meant before you rely on it."
                )
            }
        };
        if let Some(cursor) = next {
            let mut arguments = json!({"action": "search", "query": query, "cursor": cursor});
            set_limit(&mut arguments, asked);
            navigation.next_actions.push(NextAction::new(TOOL, "more matches", arguments));
        }
        if found.hits.is_empty() {
            navigation.next_actions.push(NextAction::new(
                TOOL,
                "list the newest runs",
                json!({"action": "list"}),
            ));
        }
        navigation
    }

    /// One hit is the one that is meant: its overview comes along. What can't be read takes nothing away from
    /// the plain result.
    fn hydrate(
        &self,
        scope: &HistoryScope,
        only: &RunHit,
        page: &mut Map<String, Value>,
        navigation: &mut Navigation,
    ) {
        let Ok(whole) = self.overview_of(scope, &only.row) else { return };
        navigation.guidance.push_str(" Only one run matches; its overview is included.");
        if !whole.navigation.guidance.is_empty() {
            navigation.guidance.push(' ');
            navigation.guidance.push_str(&whole.navigation.guidance);
        }
        if let Some(cursor) = &whole.timeline_cursor {
            page.insert("timelineCursor".into(), cursor.as_str().into());
        }
        navigation.next_actions = whole.navigation.next_actions;
        navigation.related_tools = whole.navigation.related_tools;
        page.insert("overview".into(), whole.body);
    }
}

/// The terms that count: a lone ASCII letter or digit matches nearly everything, so it counts only in a query
/// of nothing else.
pub(super) fn scored(terms: Vec<String>) -> Vec<String> {
    let lone = |term: &String| term.len() == 1 && term.as_bytes()[0].is_ascii_alphanumeric();
    if terms.iter().all(lone) { terms } else { terms.into_iter().filter(|term| !lone(term)).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    // RUN-5
    #[test]
    fn lone_letters_count_only_among_themselves() {
        let words = |text: &str| scored(text.split(' ').map(str::to_owned).collect());
        assert_eq!(words("unsubscribe group a 7"), ["unsubscribe", "group"]);
        assert_eq!(words("a 7"), ["a", "7"]);
        assert_eq!(words("審 a"), ["審"]);
    }
}
