//! Every outbound connection.
