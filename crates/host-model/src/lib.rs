//! Every provider of models behind the one Model port.
