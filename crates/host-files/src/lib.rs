//! Every open file.
