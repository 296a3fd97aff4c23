//! Texts at compile time: comparison, lists, and texts that end with a NUL.

use std::os::raw::c_char;

/// Whether two texts are equal.
pub(crate) const fn equal(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    if left.len() != right.len() {
        return false;
    }
    let mut i = 0;
    while i < left.len() {
        if left[i] != right[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// Whether `word` is in `list`, whose words are separated by commas without blanks.
pub(crate) const fn is_listed(list: &str, word: &str) -> bool {
    let (list, word) = (list.as_bytes(), word.as_bytes());
    let mut begin = 0;
    while begin <= list.len() {
        let mut end = begin;
        while end < list.len() && list[end] != b',' {
            end += 1;
        }
        let mut matching = 0;
        while matching < word.len() && begin + matching < end && list[begin + matching] == word[matching] {
            matching += 1;
        }
        if matching == word.len() && begin + matching == end {
            return true;
        }
        begin = end + 1;
    }
    false
}

/// The address of a text that ends with a NUL; null for an empty text.
#[doc(hidden)]
pub const fn pointer(text: &'static str) -> *const c_char {
    if text.is_empty() {
        return std::ptr::null();
    }
    let bytes = text.as_bytes();
    assert!(bytes[bytes.len() - 1] == 0, "the text does not end with a NUL");
    bytes.as_ptr() as *const c_char
}

/// The longest name of a rule or source, or list of newtypes, with its NUL.
const LONGEST: usize = 256;

/// A copy of a short text that ends with a NUL.
pub(crate) type Terminated = [u8; LONGEST];

pub(crate) const fn terminated(text: &str) -> Terminated {
    let bytes = text.as_bytes();
    assert!(bytes.len() < LONGEST, "the text has more than 255 bytes");
    let mut copy = [0; LONGEST];
    let mut i = 0;
    while i < bytes.len() {
        copy[i] = bytes[i];
        i += 1;
    }
    copy
}
