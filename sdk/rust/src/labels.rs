//! Labels of the keys of a map; see `ctprof/abi/labels.h`.

use crate::newtypes::Newtype;

/// The storage of maps; see `CTPROF_MAP` in `ctprof/abi/cells.h`.
const MAP: u32 = 6;
/// The maximum number of labels of a metric.
pub const MAX_LABELS: usize = 2;

/// Returns the key of a map with two labels. The parts may be any texts.
///
/// ```
/// use ctprof_sdk::label_key;
/// assert_eq!(label_key("sda", "read"), b"sda,read");
/// assert_eq!(label_key("a,b", "100%"), b"a%2Cb,100%25");
/// ```
pub fn label_key<A: AsRef<[u8]>, B: AsRef<[u8]>>(first: A, second: B) -> Vec<u8> {
    let mut key = Vec::with_capacity(first.as_ref().len() + second.as_ref().len() + 1);
    append_part(first.as_ref(), &mut key);
    key.push(b',');
    append_part(second.as_ref(), &mut key);
    key
}

fn append_part(part: &[u8], key: &mut Vec<u8>) {
    for &byte in part {
        match byte {
            b'%' => key.extend_from_slice(b"%25"),
            b',' => key.extend_from_slice(b"%2C"),
            _ => key.push(byte),
        }
    }
}

/// Stops the compilation if the newtype is not a map, or if the names, which are separated by
/// commas, are invalid. An empty text means no labels. `labels` may end with a NUL.
#[doc(hidden)]
pub const fn check_labels<N: Newtype>(labels: &str) {
    let bytes = labels.as_bytes();
    let mut size = bytes.len();
    if size > 0 && bytes[size - 1] == 0 {
        size -= 1;
    }
    if size == 0 {
        return;
    }
    if N::INFO.storage != MAP {
        panic!("only a map has labels");
    }
    let (mut begin, mut end, mut count) = (0, 0, 0);
    let mut first_end = 0;
    while end <= size {
        if end == size || bytes[end] == b',' {
            check_name(bytes, begin, end);
            if count == MAX_LABELS {
                panic!("a metric has one or two labels");
            }
            if count == 1 && are_equal(bytes, 0, first_end, bytes, begin, end) {
                panic!("the two labels of a metric have different names");
            }
            if count == 0 {
                first_end = end;
            }
            count += 1;
            begin = end + 1;
        }
        end += 1;
    }
}

const fn check_name(bytes: &[u8], begin: usize, end: usize) {
    let mut is_valid = end > begin && end - begin <= 32 && bytes[begin].is_ascii_lowercase();
    let mut at = begin;
    while at < end {
        let byte = bytes[at];
        is_valid = is_valid && (byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        at += 1;
    }
    if !is_valid {
        panic!("the name of a label is at most 32 lower case letters, digits and _, beginning with a letter");
    }
    const RESERVED: [&[u8]; 5] = [b"key", b"le", b"quantile", b"job", b"instance"];
    let mut word = 0;
    while word < RESERVED.len() {
        if are_equal(bytes, begin, end, RESERVED[word], 0, RESERVED[word].len()) {
            panic!("key, le, quantile, job and instance are not names of labels: readers use them");
        }
        word += 1;
    }
}

const fn are_equal(a: &[u8], a_begin: usize, a_end: usize, b: &[u8], b_begin: usize, b_end: usize) -> bool {
    if a_end - a_begin != b_end - b_begin {
        return false;
    }
    let mut at = 0;
    while at < a_end - a_begin {
        if a[a_begin + at] != b[b_begin + at] {
            return false;
        }
        at += 1;
    }
    true
}
