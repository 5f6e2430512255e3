//! Every row: the log, sessions and their keys.
