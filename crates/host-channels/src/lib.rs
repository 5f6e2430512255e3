//! Where turns come from. Today that is the terminal; each further channel is one folder.

pub mod form;
pub mod terminal;
