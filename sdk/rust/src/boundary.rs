//! Calls from ctprof into the plugin: no panic crosses the boundary.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::os::raw::c_char;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

#[cfg(panic = "abort")]
compile_error!("a plugin must unwind: remove panic = \"abort\" from the profile, or a panic of the plugin aborts ctprof");

/// Why a call failed: a sentence that ctprof reports to the user. `?` converts texts and errors.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    /// A failure with a message.
    pub fn new(message: impl fmt::Display) -> Failure {
        Failure(message.to_string())
    }
    pub(crate) fn message(&self) -> &str {
        &self.0
    }
}

impl<T: fmt::Display> From<T> for Failure {
    fn from(message: T) -> Failure {
        Failure::new(message)
    }
}

thread_local! {
    /// Whether this thread is in a call from ctprof, whose panics are reported by ctprof.
    static IS_CONTAINED: Cell<bool> = Cell::new(false);
    /// The place of the last panic.
    static PLACE: RefCell<String> = RefCell::new(String::new());
}

/// Makes panics in calls from ctprof silent: they are reported as failures. The hook belongs to
/// this plugin only, because each plugin has its own copy of the standard library.
fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_CONTAINED.with(Cell::get) {
                return previous(info);
            }
            let place = info.location().map_or(String::new(), |at| format!(", {}:{}", at.file(), at.line()));
            PLACE.with(|last| *last.borrow_mut() = place);
        }));
    });
}

/// Describes a panic in one sentence, and destroys its payload, which may panic as well.
fn describe(payload: Box<dyn Any + Send>) -> String {
    let text = if let Some(text) = payload.downcast_ref::<&str>() {
        text.to_string()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a value that is no text".to_string()
    };
    let place = PLACE.with(|last| std::mem::take(&mut *last.borrow_mut()));
    if panic::catch_unwind(AssertUnwindSafe(|| drop(payload))).is_err() {
        return format!("panicked twice: {text}{place}");
    }
    format!("panicked: {text}{place}")
}

/// Calls `function` and converts a panic to a failure.
pub(crate) fn contained<T>(function: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    install_hook();
    let was_contained = IS_CONTAINED.with(|is| is.replace(true));
    let result = panic::catch_unwind(AssertUnwindSafe(function));
    let result = result.unwrap_or_else(|payload| Err(Failure(describe(payload))));
    IS_CONTAINED.with(|is| is.set(was_contained));
    result
}

/// Copies a message to a buffer of ctprof, on one line and with a NUL.
///
/// # Safety
/// `buffer` has `size` bytes, or is null.
pub(crate) unsafe fn write_message(message: &str, buffer: *mut c_char, size: usize) {
    if buffer.is_null() || size == 0 {
        return;
    }
    let mut length = message.len().min(size - 1);
    while !message.is_char_boundary(length) {
        length -= 1;
    }
    for (i, &byte) in message.as_bytes()[..length].iter().enumerate() {
        *buffer.add(i) = if byte == b'\n' || byte == 0 { b' ' } else { byte } as c_char;
    }
    *buffer.add(length) = 0;
}

/// The same as `contained`, for a function of the ABI that returns 0 or fails with a message.
///
/// # Safety
/// As `write_message`.
pub(crate) unsafe fn status(
    buffer: *mut c_char,
    size: usize,
    function: impl FnOnce() -> Result<(), Failure>,
) -> i32 {
    match contained(function) {
        Ok(()) => 0,
        Err(failure) => {
            write_message(failure.message(), buffer, size);
            1
        }
    }
}
