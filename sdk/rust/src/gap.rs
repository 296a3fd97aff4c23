//! Gaps: the reasons why a cell has no value.

/// Why a cell has no value. Choose the gap by the action that it requires from the reader of a
/// report; `ctprof/gap.hpp` lists the actions. Zero is a value like any other: never use it for
/// "unknown".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Gap {
    /// The metric does not apply to this row.
    NotApplicable = 2,
    /// The thread or process exited before the cell was read.
    ThreadGone = 3,
    /// ctprof is not permitted to read it.
    Denied = 4,
    /// This kernel or its configuration does not provide it.
    Unsupported = 5,
    /// A setting that can be changed while the kernel runs is off.
    SwitchedOff = 6,
    /// The setting is on, but the thread started earlier and is not counted.
    PredatesSwitch = 7,
    /// The data could not be parsed.
    Malformed = 8,
    /// Another attempt may succeed.
    Busy = 9,
    /// The source failed; its message states why.
    SourceFailed = 10,
}

/// A value or a gap. `?` passes a gap on, so no error branch can be forgotten.
pub type Reading<T> = Result<T, Gap>;

impl Gap {
    /// Returns the gap for the error of reading a file of a thread. A missing file means that the
    /// thread exited, because `probe` has already determined what the kernel lacks. For a file of
    /// the whole host, use [`for_host`](Gap::for_host) on the result.
    pub fn of_errno(errno: i32) -> Gap {
        match errno {
            2 | 3 => Gap::ThreadGone,             // ENOENT, ESRCH
            1 | 13 => Gap::Denied,                // EPERM, EACCES
            11 | 16 | 110 => Gap::Busy,           // EAGAIN, EBUSY, ETIMEDOUT
            19 | 22 | 38 | 95 => Gap::Unsupported, // ENODEV, EINVAL, ENOSYS, EOPNOTSUPP
            _ => Gap::SourceFailed,
        }
    }

    /// Returns the gap for a file of the whole host: a missing file means that the kernel does not
    /// provide it.
    pub fn for_host(self) -> Gap {
        if self == Gap::ThreadGone {
            Gap::Unsupported
        } else {
            self
        }
    }

    /// Returns the gap of an input column. Gaps that only ctprof writes become `SourceFailed`.
    pub(crate) fn of_number(number: u8) -> Gap {
        match number {
            2 => Gap::NotApplicable,
            3 => Gap::ThreadGone,
            4 => Gap::Denied,
            5 => Gap::Unsupported,
            6 => Gap::SwitchedOff,
            7 => Gap::PredatesSwitch,
            8 => Gap::Malformed,
            9 => Gap::Busy,
            _ => Gap::SourceFailed,
        }
    }
}
