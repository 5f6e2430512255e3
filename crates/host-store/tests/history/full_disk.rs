//! Views on a disk that has no room for the index.

use crate::past::*;
use host_history::{HistoryStore, RunListQuery, ScopeFilter};
use host_store::EventLog;

// HIS-7, T9-05: an index that is behind and can't be brought up answers nothing; one in memory does.
#[test]
fn an_index_that_is_behind_on_a_full_disk_gives_no_answer() {
    let past = Past::new();
    past.turn("web:a", "one", "x", "y");
    while past.log.search_behind().unwrap() > 0 {
        past.log.catch_up().unwrap();
    }
    for n in 0..300 {
        past.turn("web:a", &format!("later{n}"), &format!("words of {n} that take room {n}{n}"), "y");
    }
    for ask_at_once in [false, true] {
        let reader = EventLog::open_to_read(past.dir.path()).unwrap().unwrap();
        assert_eq!(reader.search_behind().unwrap(), 600);
        reader.fill_index_for_test().unwrap();
        if !ask_at_once {
            reader.catch_up().unwrap();
        }
        let query = RunListQuery { scope: ScopeFilter::Everything, status: None, before: None, limit: 1000 };
        assert_eq!(reader.list_runs(&query).unwrap().len(), 301);
        assert_eq!(reader.search_behind().unwrap(), 0);
        reader.close().unwrap();
    }
}
