//! How long an append takes. The bound is wide, for loaded machines and unoptimised builds; the example
//! `append_time` measures it properly.

use crate::events::*;
use host_event::Scope;
use std::time::{Duration, Instant};

#[test]
fn an_append_waits_for_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(dir.path());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut times: Vec<Duration> = (0..2000)
        .map(|n| {
            let scope = Scope::of_run(&conversation("web:a"), &run(&format!("r{}", n / 20)));
            let event = event(&warning(&"lorem ipsum ".repeat(85)), scope, n);
            let began = Instant::now();
            runtime.block_on(host_ports::log::Log::append(&log, vec![event])).unwrap();
            began.elapsed()
        })
        .collect();
    times.sort();
    println!("append of 1 KB: p50 {:?}, p99 {:?}", times[1000], times[1980]);
    assert!(times[1000] < Duration::from_millis(2), "p50 {:?}", times[1000]);
}
