//! An SQLite VFS that remembers, for every file, what was synced and what was only written. A power cut
//! keeps the former, and of the latter nothing, some or torn pieces.

use rusqlite::ffi;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::sync::{Mutex, OnceLock};

pub const NAME: &str = "power";

/// What a cut does to writes that were not synced.
#[derive(Debug, Clone, Copy)]
pub enum Unsynced {
    /// None of them reached the disk.
    Lost,
    /// Some did, in any order, and some in part.
    Mixed(u64),
}

enum Op {
    Write(u64, Vec<u8>),
    Truncate(u64),
}

#[derive(Default)]
struct FileState {
    durable: Vec<u8>,
    pending: Vec<Op>,
}

fn apply(bytes: &mut Vec<u8>, op: &Op) {
    match op {
        Op::Truncate(size) => bytes.truncate(usize::try_from(*size).unwrap()),
        Op::Write(at, data) => {
            let at = usize::try_from(*at).unwrap();
            let end = at + data.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[at..end].copy_from_slice(data);
        }
    }
}

fn files() -> &'static Mutex<BTreeMap<String, FileState>> {
    static FILES: OnceLock<Mutex<BTreeMap<String, FileState>>> = OnceLock::new();
    FILES.get_or_init(Mutex::default)
}

/// Writes what the disk would hold if the power went now.
pub fn cut(from: &Path, to: &Path, unsynced: Unsynced) {
    let from = from.canonicalize().unwrap();
    let files = files().lock().unwrap();
    for (path, state) in files.iter().filter(|(path, _)| Path::new(path).parent() == Some(&from)) {
        let mut bytes = state.durable.clone();
        if let Unsynced::Mixed(mut seed) = unsynced {
            for op in &state.pending {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                match (seed >> 33) % 3 {
                    0 => {}
                    1 => apply(&mut bytes, op),
                    _ => match op {
                        Op::Truncate(_) => {}
                        Op::Write(at, data) => {
                            apply(&mut bytes, &Op::Write(*at, data[..data.len() / 2].to_vec()))
                        }
                    },
                }
            }
        }
        std::fs::write(to.join(Path::new(path).file_name().unwrap()), bytes).unwrap();
    }
}

/// One open file: ours first, the real VFS's behind it in the same piece of memory.
#[repr(C)]
struct File {
    base: ffi::sqlite3_file,
    path: *mut String,
}

unsafe fn real(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    // SAFETY: SQLite gave us szOsFile bytes, which is our struct and the real one.
    unsafe { file.cast::<u8>().add(size_of::<File>()).cast() }
}

fn record(file: *mut ffi::sqlite3_file, change: impl FnOnce(&mut FileState)) {
    // SAFETY: called only between a successful open and the close of this file.
    let path = unsafe { (*file.cast::<File>()).path };
    if path.is_null() {
        return;
    }
    // SAFETY: as above; the string lives until close.
    let path = unsafe { (*path).clone() };
    change(files().lock().unwrap().entry(path).or_default());
}

macro_rules! pass {
    ($($name:ident($($arg:ident: $type:ty),*) -> $result:ty;)+) => {
        $(#[allow(non_snake_case, reason = "SQLite's own names")]
        unsafe extern "C" fn $name(file: *mut ffi::sqlite3_file, $($arg: $type),*) -> $result {
            // SAFETY: hands SQLite's call on to the real file, whose methods are set while it is open.
            unsafe {
                let real = real(file);
                ((*(*real).pMethods).$name.unwrap())(real, $($arg),*)
            }
        })+
    };
}

pass! {
    xRead(buffer: *mut c_void, amount: c_int, at: i64) -> c_int;
    xFileSize(size: *mut i64) -> c_int;
    xLock(level: c_int) -> c_int;
    xUnlock(level: c_int) -> c_int;
    xCheckReservedLock(out: *mut c_int) -> c_int;
    xFileControl(op: c_int, arg: *mut c_void) -> c_int;
    xSectorSize() -> c_int;
    xDeviceCharacteristics() -> c_int;
    xShmMap(page: c_int, size: c_int, extend: c_int, out: *mut *mut c_void) -> c_int;
    xShmLock(offset: c_int, n: c_int, flags: c_int) -> c_int;
    xShmBarrier() -> ();
    xShmUnmap(delete: c_int) -> c_int;
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    data: *const c_void,
    amount: c_int,
    at: i64,
) -> c_int {
    // SAFETY: SQLite's own arguments, handed on; the buffer holds `amount` bytes.
    unsafe {
        let real = real(file);
        let done = ((*(*real).pMethods).xWrite.unwrap())(real, data, amount, at);
        if done == ffi::SQLITE_OK {
            let bytes =
                std::slice::from_raw_parts(data.cast::<u8>(), usize::try_from(amount).unwrap()).to_vec();
            record(file, |state| state.pending.push(Op::Write(at.unsigned_abs(), bytes)));
        }
        done
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: i64) -> c_int {
    // SAFETY: as in `write`.
    unsafe {
        let real = real(file);
        let done = ((*(*real).pMethods).xTruncate.unwrap())(real, size);
        if done == ffi::SQLITE_OK {
            record(file, |state| state.pending.push(Op::Truncate(size.unsigned_abs())));
        }
        done
    }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, _flags: c_int) -> c_int {
    record(file, |state| {
        for op in std::mem::take(&mut state.pending) {
            apply(&mut state.durable, &op);
        }
    });
    ffi::SQLITE_OK
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: the last call on this file; the path was boxed at open.
    unsafe {
        let ours = file.cast::<File>();
        if !(*ours).path.is_null() {
            drop(Box::from_raw((*ours).path));
            (*ours).path = std::ptr::null_mut();
        }
        let real = real(file);
        ((*(*real).pMethods).xClose.unwrap())(real)
    }
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(xRead),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(xFileSize),
    xLock: Some(xLock),
    xUnlock: Some(xUnlock),
    xCheckReservedLock: Some(xCheckReservedLock),
    xFileControl: Some(xFileControl),
    xSectorSize: Some(xSectorSize),
    xDeviceCharacteristics: Some(xDeviceCharacteristics),
    xShmMap: Some(xShmMap),
    xShmLock: Some(xShmLock),
    xShmBarrier: Some(xShmBarrier),
    xShmUnmap: Some(xShmUnmap),
    xFetch: None,
    xUnfetch: None,
};

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite's own arguments; pNext of ours was set to the real VFS before it was registered.
    unsafe {
        let ours = file.cast::<File>();
        (*ours).base.pMethods = std::ptr::null();
        (*ours).path = std::ptr::null_mut();
        let base = (*vfs).pAppData.cast::<ffi::sqlite3_vfs>();
        let done = ((*base).xOpen.unwrap())(base, name, real(file), flags, out);
        if done != ffi::SQLITE_OK {
            return done;
        }
        (*ours).base.pMethods = &raw const METHODS;
        if !name.is_null() {
            let path = CStr::from_ptr(name).to_str().unwrap().to_owned();
            // What is there at the first opening is on the disk.
            files().lock().unwrap().entry(path.clone()).or_insert_with(|| FileState {
                durable: std::fs::read(&path).unwrap_or_default(),
                pending: Vec::new(),
            });
            (*ours).path = Box::into_raw(Box::new(path));
        }
        done
    }
}

unsafe extern "C" fn delete(vfs: *mut ffi::sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    // SAFETY: as in `open`.
    unsafe {
        let base = (*vfs).pAppData.cast::<ffi::sqlite3_vfs>();
        files().lock().unwrap().remove(CStr::from_ptr(name).to_str().unwrap());
        ((*base).xDelete.unwrap())(base, name, sync)
    }
}

/// Registers it once for this process.
pub fn register() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        // SAFETY: the default VFS lives as long as the process, and so does what is leaked here.
        unsafe {
            let base = ffi::sqlite3_vfs_find(std::ptr::null());
            let mut ours = *base;
            ours.zName = c"power".as_ptr();
            ours.pNext = std::ptr::null_mut();
            ours.pAppData = base.cast();
            ours.szOsFile = (*base).szOsFile + c_int::try_from(size_of::<File>()).unwrap();
            ours.xOpen = Some(open);
            ours.xDelete = Some(delete);
            assert_eq!(ffi::sqlite3_vfs_register(Box::leak(Box::new(ours)), 0), ffi::SQLITE_OK);
        }
    });
}
