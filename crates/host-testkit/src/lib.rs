//! Fakes: a log in memory, a scripted model, a one-tool surface.
