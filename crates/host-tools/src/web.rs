//! What `WebFetch` and `WebSearch` share: where they may go, how other people's text is framed, and a reader of
//! HTML and XML that nothing can make slow.

pub(crate) mod flight;
pub(crate) mod frame;
pub(crate) mod markup;
pub(crate) mod reach;
mod source;
pub(crate) mod tree;

pub use reach::{HostRule, WebReach};
pub use source::WebTools;
