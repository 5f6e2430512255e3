//! Our own tools, one file each.
