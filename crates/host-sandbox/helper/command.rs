//! Becoming a program: a plain `execve`, without the fallback that hands files to a shell.

use crate::system;
use std::ffi::{CString, c_char};
use std::io;

/// Everything that the call needs, laid out before the fork.
pub(crate) struct Program {
    /// Where the program may be, in order.
    places: Vec<CString>,
    arguments: Pointers,
    environment: Pointers,
}

/// Texts and a list of pointers to them that ends with a null.
struct Pointers {
    list: Vec<*const c_char>,
    _texts: Vec<CString>,
}

fn texts(list: &[Vec<u8>]) -> Option<Vec<CString>> {
    list.iter().map(|text| CString::new(text.as_slice()).ok()).collect()
}

impl Pointers {
    fn new(texts: Vec<CString>) -> Self {
        // The buffers of the texts stay where they are when the list of them moves.
        let list = texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
        Pointers { list, _texts: texts }
    }
}

impl Program {
    /// `None` = a text holds a NUL.
    pub(crate) fn new(places: &[Vec<u8>], argv: &[Vec<u8>], env: &[Vec<u8>]) -> Option<Self> {
        Some(Program {
            places: texts(places)?,
            arguments: Pointers::new(texts(argv)?),
            environment: Pointers::new(texts(env)?),
        })
    }

    /// Becomes it; comes back with the reason where that fails.
    pub(crate) fn become_it(&self) -> io::Error {
        const ENOENT: i32 = 2;
        const EACCES: i32 = 13;
        const ENOTDIR: i32 = 20;
        let mut worst = io::Error::from_raw_os_error(ENOENT);
        for place in &self.places {
            let error = system::execve(place, &self.arguments.list, &self.environment.list);
            match error.raw_os_error() {
                Some(ENOENT | ENOTDIR) => {}
                // Another folder may have one that can be started.
                Some(EACCES) => worst = error,
                _ => return error,
            }
        }
        worst
    }
}
