//! A batch: a number of rows whose cells a source fills.

use crate::abi;
use crate::gap::{Gap, Reading};
use crate::host::{Directory, Thread};
use crate::metric::Metric;
use crate::newtypes::{storage, Newtype, Storage};
use crate::source::{stage, Position, Source};
use std::ffi::OsString;
use std::marker::PhantomData;
use std::os::raw::{c_char, c_void};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// A value that fits a cell of storage `S` without losing its sign or its fraction. For "unknown",
/// put a [`Gap`].
pub trait Value<S: Storage>: sealed::Value<S> {}

mod sealed {
    use super::Target;
    pub trait Value<S> {
        /// Stores the value. REQUIRES: the row of the target exists, and its cells have storage S.
        unsafe fn store(self, target: &Target);
    }
}

/// The address of one cell.
#[doc(hidden)]
pub struct Target<'b> {
    batch: &'b abi::ctprof_batch,
    cells: abi::ctprof_cells,
    offer: u32,
    row: u32,
}

impl Target<'_> {
    unsafe fn write<T>(&self, value: T) {
        *(self.cells.values as *mut T).add(self.row as usize) = value;
        self.write_gap(0);
    }
    unsafe fn write_gap(&self, gap: u8) {
        *self.cells.gaps.add(self.row as usize) = gap;
    }
}

macro_rules! numbers {
    ($($type:ty => $storage:ident as $cell:ty;)*) => { $(
        impl sealed::Value<storage::$storage> for $type {
            unsafe fn store(self, target: &Target) { target.write::<$cell>(self.into()) }
        }
        impl Value<storage::$storage> for $type {}
    )* };
}
numbers! {
    u64 => U64 as u64; u32 => U64 as u64; u16 => U64 as u64; u8 => U64 as u64;
    i64 => I64 as i64; i32 => I64 as i64; i16 => I64 as i64; i8 => I64 as i64; u32 => I64 as i64; u16 => I64 as i64;
    f64 => F64 as f64; f32 => F64 as f64; u32 => F64 as f64; i32 => F64 as f64;
    bool => Bool as u8;
}

impl sealed::Value<storage::Text> for &[u8] {
    unsafe fn store(self, target: &Target) {
        if let Some(put) = target.batch.put_text {
            put(target.batch.core, target.offer, target.row, self.as_ptr() as *const c_char, self.len());
        }
    }
}
impl Value<storage::Text> for &[u8] {}

impl sealed::Value<storage::Text> for &str {
    unsafe fn store(self, target: &Target) {
        self.as_bytes().store(target)
    }
}
impl Value<storage::Text> for &str {}

impl sealed::Value<storage::Bits> for &[u64] {
    unsafe fn store(self, target: &Target) {
        if let Some(put) = target.batch.put_bits {
            put(target.batch.core, target.offer, target.row, self.as_ptr(), self.len());
        }
    }
}
impl Value<storage::Bits> for &[u64] {}

/// An array, such as the buckets of a histogram.
impl sealed::Value<storage::Array> for &[u64] {
    unsafe fn store(self, target: &Target) {
        if let Some(put) = target.batch.put_array {
            put(target.batch.core, target.offer, target.row, self.as_ptr(), self.len());
        }
    }
}
impl Value<storage::Array> for &[u64] {}

/// A map: each key once.
impl<K: AsRef<[u8]>> sealed::Value<storage::Map> for &[(K, u64)] {
    unsafe fn store(self, target: &Target) {
        let text = |key: &[u8]| abi::ctprof_text { data: key.as_ptr() as *const c_char, size: key.len() };
        let entries: Vec<_> = self
            .iter()
            .map(|(key, value)| abi::ctprof_entry { key: text(key.as_ref()), value: *value })
            .collect();
        if let Some(put) = target.batch.put_map {
            put(target.batch.core, target.offer, target.row, entries.as_ptr(), entries.len());
        }
    }
}
impl<K: AsRef<[u8]>> Value<storage::Map> for &[(K, u64)] {}

/// A value with its newtype: it fits only a column of that newtype, so that two values of a parser
/// cannot be swapped unnoticed.
#[derive(Clone, Copy, Debug)]
pub struct Figure<N, T = u64> {
    value: T,
    newtype: PhantomData<N>,
}

impl<N: Newtype, T: Value<N::Storage>> Figure<N, T> {
    /// States the newtype of a value, once, where it is read.
    pub fn new(value: T) -> Self {
        Figure { value, newtype: PhantomData }
    }
    /// Returns the plain value.
    pub fn value(self) -> T {
        self.value
    }
}

/// One column of a batch. If it was not requested, `is_requested` is false, and `put` does nothing.
pub struct Column<'b, M> {
    batch: &'b abi::ctprof_batch,
    cells: abi::ctprof_cells,
    offer: u32,
    metric: PhantomData<M>,
}

impl<'b, M: Metric> Column<'b, M> {
    /// Whether the column was requested. Skip expensive work if it was not.
    pub fn is_requested(&self) -> bool {
        !self.cells.gaps.is_null()
    }

    /// Fills the cell of a row with a value or a gap. The last call for a row counts.
    ///
    /// Panics if the row is not in the batch; the source then fails with a message.
    pub fn put<V: Value<<M::Newtype as Newtype>::Storage>>(&mut self, row: u32, reading: Reading<V>) {
        assert!(row < self.batch.rows, "row {} of a batch of {} rows", row, self.batch.rows);
        if !self.is_requested() {
            return;
        }
        let target = Target { batch: self.batch, cells: self.cells, offer: self.offer, row };
        match reading {
            Ok(value) => unsafe { value.store(&target) },
            Err(gap) => unsafe { target.write_gap(gap as u8) },
        }
    }

    /// The same for a value with its newtype.
    pub fn put_figure<V: Value<<M::Newtype as Newtype>::Storage>>(
        &mut self,
        row: u32,
        reading: Reading<Figure<M::Newtype, V>>,
    ) {
        self.put(row, reading.map(|figure| figure.value))
    }
}

/// The value of an input column of storage `Self`.
pub trait Input<'b>: Storage {
    /// A number, a flag or bytes.
    type Value;
    #[doc(hidden)]
    unsafe fn load(values: *const c_void, row: usize) -> Self::Value;
}

macro_rules! inputs {
    ($($storage:ident as $type:ty;)*) => { $(
        impl<'b> Input<'b> for storage::$storage {
            type Value = $type;
            unsafe fn load(values: *const c_void, row: usize) -> $type { *(values as *const $type).add(row) }
        }
    )* };
}
inputs! { U64 as u64; I64 as i64; F64 as f64; }

impl<'b> Input<'b> for storage::Bool {
    type Value = bool;
    unsafe fn load(values: *const c_void, row: usize) -> bool {
        *(values as *const u8).add(row) != 0
    }
}
impl<'b> Input<'b> for storage::Text {
    type Value = &'b [u8];
    unsafe fn load(values: *const c_void, row: usize) -> &'b [u8] {
        let text = *(values as *const abi::ctprof_text).add(row);
        if text.size == 0 {
            return &[];
        }
        std::slice::from_raw_parts(text.data as *const u8, text.size)
    }
}

/// A column that the source reads.
pub struct InputColumn<'b, M> {
    rows: u32,
    input: abi::ctprof_input,
    metric: PhantomData<&'b M>,
}

impl<'b, M: Metric> InputColumn<'b, M>
where
    <M::Newtype as Newtype>::Storage: Input<'b>,
{
    /// Whether a source fills the column on this host. False only for optional columns.
    pub fn exists(&self) -> bool {
        !self.input.values.is_null()
    }

    /// Returns the cell of a row; `Unsupported` if no source fills the column. Panics if the row is
    /// not in the batch.
    pub fn at(&self, row: u32) -> Reading<<<M::Newtype as Newtype>::Storage as Input<'b>>::Value> {
        assert!(row < self.rows, "row {} of a batch of {} rows", row, self.rows);
        if !self.exists() {
            return Err(Gap::Unsupported);
        }
        match unsafe { *self.input.gaps.add(row as usize) } {
            0 => Ok(unsafe { <M::Newtype as Newtype>::Storage::load(self.input.values, row as usize) }),
            gap => Err(Gap::of_number(gap)),
        }
    }
}

/// A process: its row and its id.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    /// Its row in the batch.
    pub row: u32,
    /// Its id.
    pub tgid: u64,
}

/// A cgroup: its row and its path, which is relative to [`Host::cgroup`](crate::Host::cgroup) and
/// begins with "/".
#[derive(Clone, Copy, Debug)]
pub struct Cgroup<'b> {
    /// Its row in the batch.
    pub row: u32,
    /// Its path.
    pub path: &'b [u8],
}

impl Cgroup<'_> {
    /// Returns the path of a file of the cgroup below [`Host::cgroup`](crate::Host::cgroup).
    pub fn file(&self, name: &str) -> PathBuf {
        let directory = [b".", self.path].concat();
        PathBuf::from(OsString::from_vec(directory)).join(name)
    }
}

/// A batch of at most 1,024 rows. Put a value or a gap into every cell of every requested column.
pub struct Batch<'b, S> {
    batch: &'b abi::ctprof_batch,
    source: PhantomData<S>,
}

impl<S> Clone for Batch<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S> Copy for Batch<'_, S> {}

impl<'b, S: Source> Batch<'b, S> {
    /// # Safety
    /// `batch` is the argument of the current call of ctprof to `S`.
    pub(crate) unsafe fn new(batch: *const abi::ctprof_batch) -> Self {
        Batch { batch: &*batch, source: PhantomData }
    }

    /// The number of rows.
    pub fn rows(&self) -> u32 {
        self.batch.rows
    }

    /// Returns the column of a metric that the source offers. Any other metric does not compile.
    pub fn column<M: Metric>(&self) -> Column<'b, M> {
        let offer = Position::<S, M>::OFFER;
        let cells = unsafe { *self.batch.cells.add(offer) };
        Column { batch: self.batch, cells, offer: offer as u32, metric: PhantomData }
    }

    /// Returns a column that the source reads. Any other metric does not compile.
    pub fn input<M: Metric>(&self) -> InputColumn<'b, M> {
        let input = unsafe { *self.batch.inputs.add(Position::<S, M>::READ) };
        InputColumn { rows: self.batch.rows, input, metric: PhantomData }
    }

    /// Adds to one of the source's tallies. Panics if the source does not have it.
    pub fn tally(&self, tally: u32, count: u64) {
        assert!(tally < S::TALLIES, "tally {} of {}", tally, S::TALLIES);
        if let Some(add) = self.batch.tally {
            unsafe { add(self.batch.core, tally, count) };
        }
    }

    /// The id in a row of one of the columns that ctprof provides to every source of the stage.
    fn id(&self, input: usize, row: u32) -> u64 {
        unsafe { *((*self.batch.inputs.add(input)).values as *const u64).add(row as usize) }
    }
}

impl<'b, S: Source<Stage = stage::Threads>> Batch<'b, S> {
    /// The threads of the batch, in the order of their rows.
    pub fn threads(&self) -> impl Iterator<Item = Thread> + 'b {
        let batch = *self;
        (0..self.rows()).map(move |row| Thread {
            row,
            tgid: batch.id(0, row),
            tid: batch.id(1, row),
            directory: batch.directory(row),
        })
    }

    fn directory(&self, row: u32) -> Option<Directory> {
        let input = unsafe { *self.batch.inputs.add(2) };
        if input.values.is_null() {
            return None;
        }
        let descriptor = unsafe { *(input.values as *const i64).add(row as usize) };
        if descriptor < 0 {
            return None;
        }
        Some(Directory(descriptor as i32))
    }
}

impl<'b, S: Source<Stage = stage::Processes>> Batch<'b, S> {
    /// The processes of the batch, in the order of their rows.
    pub fn processes(&self) -> impl Iterator<Item = Process> + 'b {
        let batch = *self;
        (0..self.rows()).map(move |row| Process { row, tgid: batch.id(0, row) })
    }
}

impl<'b, S: Source<Stage = stage::Cgroups>> Batch<'b, S> {
    /// The cgroups of the batch, in the order of their rows.
    pub fn cgroups(&self) -> impl Iterator<Item = Cgroup<'b>> + 'b {
        let paths = unsafe { (*self.batch.inputs).values };
        (0..self.rows()).map(move |row| Cgroup {
            row,
            path: unsafe { <storage::Text as Input<'b>>::load(paths, row as usize) },
        })
    }
}
