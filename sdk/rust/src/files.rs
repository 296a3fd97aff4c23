//! Reading small kernel files, and parsing numbers in them.

use crate::gap::{Gap, Reading};
use crate::host::{Directory, Host, Thread};
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::raw::{c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::io::FromRawFd;
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::{AtomicI32, Ordering};

extern "C" {
    fn openat(directory: c_int, path: *const c_char, flags: c_int, ...) -> c_int;
}

const O_RDONLY: c_int = 0;
const O_CLOEXEC: c_int = 0o2_000_000;
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;

/// A lack of file descriptors that has not been reported yet, as an errno; 0: none.
static SHORTAGE: AtomicI32 = AtomicI32::new(0);

/// Returns the message about a lack of descriptors, and clears it.
pub(crate) fn take_shortage() -> Option<&'static str> {
    match SHORTAGE.swap(0, Ordering::Relaxed) {
        0 => None,
        EMFILE => Some("file descriptors ran out (Too many open files): values that needed one are missing (SourceFailed); raise the limit (ulimit -n) and capture again"),
        _ => Some("the host ran out of file descriptors (Too many open files in system): values that needed one are missing (SourceFailed); raise fs.file-max, or close files elsewhere, and capture again"),
    }
}

impl Directory {
    /// Opens a file below the directory for reading.
    pub fn open(self, path: impl AsRef<Path>) -> io::Result<File> {
        let path = CString::new(path.as_ref().as_os_str().as_bytes())?;
        let descriptor = unsafe { openat(self.0, path.as_ptr(), O_RDONLY | O_CLOEXEC) };
        if descriptor >= 0 {
            return Ok(unsafe { File::from_raw_fd(descriptor) });
        }
        let error = io::Error::last_os_error();
        if let Some(errno @ (EMFILE | ENFILE)) = error.raw_os_error() {
            SHORTAGE.store(errno, Ordering::Relaxed);
        }
        Err(error)
    }
}

/// Reads whole files into one reused buffer. Keep one in each source.
#[derive(Debug, Default)]
pub struct TextFile {
    buffer: Vec<u8>,
}

impl TextFile {
    /// A reader with an empty buffer.
    pub fn new() -> TextFile {
        TextFile::default()
    }

    /// Reads a file below a directory to its end. `Malformed` if it is not UTF-8.
    pub fn read(&mut self, directory: Directory, path: impl AsRef<Path>) -> Reading<&str> {
        std::str::from_utf8(self.read_bytes(directory, path)?).map_err(|_| Gap::Malformed)
    }

    /// The same for a file that may contain any bytes, such as names of threads.
    pub fn read_bytes(&mut self, directory: Directory, path: impl AsRef<Path>) -> Reading<&[u8]> {
        self.buffer.clear();
        let result = directory.open(path).and_then(|mut file| file.read_to_end(&mut self.buffer));
        match result {
            Ok(_) => Ok(&self.buffer),
            Err(error) => Err(Gap::of_errno(error.raw_os_error().unwrap_or(0))),
        }
    }

    /// Reads a file of a thread under /proc/TGID/task/TID, through its open directory if ctprof has
    /// opened it. A missing file means that the thread exited.
    pub fn read_thread(&mut self, host: &Host, thread: &Thread, file: &str) -> Reading<&str> {
        match thread.directory {
            Some(directory) => self.read(directory, file),
            None => self.read(host.proc(), format!("{}/task/{}/{}", thread.tgid, thread.tid, file)),
        }
    }
}

/// Parses a number that must fill all of `text`; otherwise `Malformed`.
pub fn number<T: FromStr>(text: &str) -> Reading<T> {
    text.parse().map_err(|_| Gap::Malformed)
}

/// Returns the text behind the separator in the line with the key `key`, without blanks at its
/// ends; `Unsupported` if no line has it.
pub fn value_of<'a>(text: &'a str, key: &str, separator: char) -> Reading<&'a str> {
    for line in text.lines() {
        if let Some((name, value)) = line.split_once(separator) {
            if name.trim() == key {
                return Ok(value.trim());
            }
        }
    }
    Err(Gap::Unsupported)
}
