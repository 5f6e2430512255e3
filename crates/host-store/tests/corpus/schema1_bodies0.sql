-- A log of schema 1 with bodies of version 0, as SQL. Its key is 32 times the byte 7.
PRAGMA page_size = 4096;
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA application_id = 1836019276;
CREATE TABLE meta(name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE events(
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  version INTEGER NOT NULL,
  conversation TEXT,
  logical TEXT,
  run TEXT,
  call TEXT,
  checksum BLOB NOT NULL,
  prev_hash BLOB NOT NULL,
  hash BLOB NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX events_run ON events(run) WHERE run IS NOT NULL;
INSERT INTO meta(name, value) VALUES('log_id', x'000102030405060708090a0b0c0d0e0f');
INSERT INTO meta(name, value) VALUES('key_fingerprint', x'33e78841bea720f6abd859ecfa475358');
INSERT INTO events VALUES(1, 1790000000001, 'host_started', 0, NULL, NULL, NULL, NULL, x'ba0564c64c747e75bdedb566dd9662cb968df62c58e6d3c4e4647259a3a5f3af', x'0000000000000000000000000000000000000000000000000000000000000000', x'ff760c19296a330299b924f2154ac6be810326c7f48fc067362f7cb7092604dc', '{"incarnation":"0011","version":"0.0.1"}');
INSERT INTO events VALUES(2, 1790000000002, 'run_started', 0, 'tui:default#2026-10-01', 'tui:default', 'run-a', NULL, x'ad58f892da8b18088fff9fa41e6a2c741f4652ea95b6f81729b9093697ea5afb', x'ff760c19296a330299b924f2154ac6be810326c7f48fc067362f7cb7092604dc', x'f8736ced86bb428463fc87e1ceb67708cdef2883b6903aa94350390340cfd029', '{"incarnation":"0011","source":"terminal","userInput":"what is in a.txt?","model":"scripted:a"}');
INSERT INTO events VALUES(3, 1790000000003, 'call_started', 0, 'tui:default#2026-10-01', 'tui:default', 'run-a', 'call-1', x'1a9727e4ca05bdb27ab2955ef3b1e9f79caec81151f85a79c32e2e23c86f5114', x'f8736ced86bb428463fc87e1ceb67708cdef2883b6903aa94350390340cfd029', x'123b21b81b469a9e8bdc8e93add708fc9a5dc0615e3a97a7e2347e95626f1e5a', '{"tool":"Read","source":"built-in","arguments":{"path":"a.txt"},"argumentsDigest":"00","rule":"allow-all"}');
INSERT INTO events VALUES(4, 1790000000004, 'call_settled', 0, 'tui:default#2026-10-01', 'tui:default', 'run-a', 'call-1', x'fc6e67bb95071787a2a9140adeed4de482a66584189e14254b149e743eee51aa', x'123b21b81b469a9e8bdc8e93add708fc9a5dc0615e3a97a7e2347e95626f1e5a', x'395b880a85604b81523ebcbc25d99d57860c001908d63f111fb3b091140f4678', '{"tool":"Read","settled":"done","code":"ok","text":"héllo","durationMs":3}');
INSERT INTO events VALUES(5, 1790000000005, 'run_settled', 0, 'tui:default#2026-10-01', 'tui:default', 'run-a', NULL, x'a678f97012114332a8c21358421a11f9d36dff44c416fe7d702838efdf9c530a', x'395b880a85604b81523ebcbc25d99d57860c001908d63f111fb3b091140f4678', x'b2c5a1bcbb51762af000a4210e6335f74b93b7ab40dfd7c487ed99e9b2fd5ee9', '{"status":"succeeded","text":"It says héllo.","durationMs":40}');
INSERT INTO events VALUES(6, 1790000000006, 'run_started', 0, 'tui:default#2026-10-02', 'tui:default', 'run-b', NULL, x'82939b43b63bde85faa7f660a7d76ae749ac9c6871dcb6b6328c0ac3b81c3dfb', x'b2c5a1bcbb51762af000a4210e6335f74b93b7ab40dfd7c487ed99e9b2fd5ee9', x'19421ad51dc6dfb9dd8fd29da94b37db7eb7b19cbb8e73a01a6f2b0fa2182646', '{"incarnation":"0011","source":"terminal","userInput":"and then?","model":"scripted:a"}');
INSERT INTO events VALUES(7, 1790000000007, 'run_settled', 0, 'tui:default#2026-10-02', 'tui:default', 'run-b', NULL, x'db00dc64ce74d68d2c67cce460d4c9e3ab67431db69b43deaa5a8879f767db9f', x'19421ad51dc6dfb9dd8fd29da94b37db7eb7b19cbb8e73a01a6f2b0fa2182646', x'762da74db754a8ae2cff5764ecf7affe32e1da1ee0871cd9bce38ccd5b7396fd', '{"status":"interrupted","failureKind":"process_death","text":"","durationMs":9}');
INSERT INTO events VALUES(8, 1790000000008, 'warning', 1, NULL, NULL, NULL, NULL, x'cea6dbfcd49e3eb9e6d09e6349c8b9b78fa175fe90fbd126238dac3cecd6ca0f', x'762da74db754a8ae2cff5764ecf7affe32e1da1ee0871cd9bce38ccd5b7396fd', x'35c6f95b1ba89932adb2215999c90e6a8ddfd6be79b993c794b0ce3d6eb4769e', '{"code":"note","message":"the last event of this log"}');
PRAGMA user_version = 1;
PRAGMA journal_mode = WAL;
