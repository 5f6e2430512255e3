//! Where turns come from: the terminal.
