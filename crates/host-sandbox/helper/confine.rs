//! What is laid on the command just before it starts: bounds, Landlock, the system-call filter. All of it was
//! built by the host; only system calls are left here.

use crate::system;
use crate::wire::{Order, RULESET};
use std::io;

/// Lays it on the calling process.
pub(crate) fn apply(order: &Order) -> io::Result<()> {
    for (resource, most) in &order.rlimits {
        system::lower_limit(*resource as i32, *most)?;
    }
    if order.powerless || order.ruleset || !order.filter.is_empty() {
        system::no_new_privileges()?;
    }
    if order.powerless {
        system::no_capabilities()?;
    }
    if order.ruleset {
        system::landlock(RULESET)?;
    }
    system::close_on_exec()?;
    if order.filter.is_empty() { Ok(()) } else { system::filter(&order.filter) }
}
