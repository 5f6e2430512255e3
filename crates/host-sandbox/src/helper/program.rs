//! Becoming the command: a plain `execve`, without the fallback that hands files to a shell.

use super::order::Order;
use std::ffi::CString;
use std::io;

/// Everything that the call needs, laid out before the fork.
pub(super) struct Program {
    /// Where the program may be, in order.
    places: Vec<CString>,
    arguments: Pointers,
    environment: Pointers,
}

/// Texts and a list of pointers to them that ends with a null.
struct Pointers {
    list: Vec<*const libc::c_char>,
    _texts: Vec<CString>,
}

// SAFETY: the pointers lead into `_texts`, whose buffers move with it and are never changed.
unsafe impl Send for Pointers {}
// SAFETY: nothing here is changed after it was made.
unsafe impl Sync for Pointers {}

impl Pointers {
    fn new(texts: Vec<CString>) -> Self {
        let list = texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
        Pointers { list, _texts: texts }
    }
}

impl Program {
    /// `None` = a text holds a NUL.
    pub(super) fn prepare(order: &Order) -> Option<Self> {
        let texts = |list: &mut dyn Iterator<Item = String>| {
            list.map(|text| CString::new(text).ok()).collect::<Option<Vec<_>>>()
        };
        let name = order.argv.first()?;
        let places = if name.contains('/') {
            texts(&mut std::iter::once(name.clone()))?
        } else {
            let path = order.env.get("PATH").map_or("/usr/bin:/bin", String::as_str);
            let folders = path.split(':').filter(|folder| folder.starts_with('/'));
            texts(&mut folders.map(|folder| format!("{folder}/{name}")))?
        };
        Some(Program {
            places,
            arguments: Pointers::new(texts(&mut order.argv.iter().cloned())?),
            environment: Pointers::new(texts(
                &mut order.env.iter().map(|(name, value)| format!("{name}={value}")),
            )?),
        })
    }

    /// Becomes it; comes back with the reason where that fails.
    pub(super) fn become_it(&self) -> io::Error {
        let mut worst = io::Error::from_raw_os_error(libc::ENOENT);
        for place in &self.places {
            // SAFETY: all three are NUL-terminated and live as long as `self`.
            unsafe {
                libc::execve(place.as_ptr(), self.arguments.list.as_ptr(), self.environment.list.as_ptr())
            };
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::ENOENT | libc::ENOTDIR) => {}
                // Another folder may have one that can be started.
                Some(libc::EACCES) => worst = error,
                _ => return error,
            }
        }
        worst
    }
}
