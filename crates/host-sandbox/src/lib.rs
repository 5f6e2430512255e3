//! Every child process, confined.
