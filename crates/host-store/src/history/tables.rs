//! The tables of runs and calls in the derived file.

/// Rows are found by sequence; `logical` and `conversation` are numbers of [`super::scope`]. Texts stand apart, so
/// that lists stay on few pages. Grams have their own tokens only (see [`super::tokens`]).
pub(crate) const TABLES: &str = "
CREATE TABLE h_scopes(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE h_conversations(
  id INTEGER PRIMARY KEY, runs INTEGER NOT NULL, last_at INTEGER NOT NULL, last_seq INTEGER NOT NULL UNIQUE
) STRICT;
CREATE TABLE h_runs(
  seq INTEGER PRIMARY KEY,
  run TEXT NOT NULL,
  conversation INTEGER NOT NULL,
  logical INTEGER NOT NULL,
  isolated INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  source TEXT NOT NULL,
  source_detail TEXT,
  model TEXT NOT NULL,
  effort TEXT,
  input TEXT NOT NULL,
  settled_seq INTEGER,
  ended_at INTEGER,
  duration_ms INTEGER,
  status TEXT,
  failure_kind TEXT,
  usage TEXT
) STRICT;
CREATE INDEX h_runs_logical ON h_runs(logical, seq);
CREATE INDEX h_runs_run ON h_runs(run, seq);
CREATE INDEX h_runs_status ON h_runs(status, seq);
CREATE TABLE h_run_texts(seq INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
CREATE VIRTUAL TABLE h_run_grams USING fts5(grams, content='', contentless_delete=1, detail=none, tokenize='ascii');
CREATE TABLE h_calls(
  seq INTEGER PRIMARY KEY,
  call TEXT NOT NULL,
  run TEXT NOT NULL,
  run_seq INTEGER NOT NULL,
  conversation INTEGER NOT NULL,
  logical INTEGER NOT NULL,
  isolated INTEGER NOT NULL,
  tool TEXT NOT NULL,
  nth INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  invocation_key INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  state TEXT,
  code TEXT,
  end_seq INTEGER,
  ended_at INTEGER,
  duration_ms INTEGER,
  recovered INTEGER NOT NULL DEFAULT 0,
  result_key INTEGER
) STRICT;
CREATE INDEX h_calls_logical ON h_calls(logical, seq) WHERE state IS NOT NULL;
CREATE INDEX h_calls_run ON h_calls(run_seq, call, seq);
CREATE INDEX h_calls_call ON h_calls(logical, call, seq);
CREATE INDEX h_calls_invocation ON h_calls(invocation_key);
CREATE INDEX h_calls_result ON h_calls(result_key) WHERE result_key IS NOT NULL;
CREATE TABLE h_call_texts(seq INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
CREATE VIRTUAL TABLE h_call_grams USING fts5(grams, content='', contentless_delete=1, detail=none, tokenize='ascii');
INSERT INTO meta(name, value) VALUES('calls', 0), ('call_bytes', 0), ('purged', 0);
";
