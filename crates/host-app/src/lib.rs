//! Wiring: start, reload, drain, stop.
