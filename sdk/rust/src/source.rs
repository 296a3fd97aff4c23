//! Sources: types that fill cells, and their tables for the ABI.

use crate::abi;
use crate::batch::Batch;
use crate::boundary::{contained, status, write_message, Failure};
use crate::files::take_shortage;
use crate::gap::Gap;
use crate::host::{Host, Probe, Remedy};
use crate::metric::{Entity, Metric};
use crate::newtypes::Newtype;
use crate::text::{equal, terminated, Terminated};
use std::marker::PhantomData;
use std::mem::size_of;
use std::os::raw::{c_char, c_void};

/// When a source is called, and the kind of its rows: one of the types in [`stage`].
pub trait Stage: sealed::Stage + 'static {
    #[doc(hidden)]
    const NUMBER: u32;
    #[doc(hidden)]
    const ENTITY: u32;
    /// The columns that ctprof provides to every source of the stage.
    #[doc(hidden)]
    const READS: &'static [&'static str];
}

mod sealed {
    pub trait Stage {}
}

/// Stages.
pub mod stage {
    use super::{sealed, Stage};

    macro_rules! stages {
        ($($(#[$doc:meta])* $name:ident = $number:literal, $entity:literal, $reads:expr;)*) => { $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $name;
            impl sealed::Stage for $name {}
            impl Stage for $name {
                const NUMBER: u32 = $number;
                const ENTITY: u32 = $entity;
                const READS: &'static [&'static str] = $reads;
            }
        )* };
    }
    stages! {
        /// One row for each thread: `batch.threads()`.
        Threads = 1, 0, &["tgid\0", "tid\0", "task_dir?\0"];
        /// One row for each process: `batch.processes()`.
        Processes = 2, 1, &["process.tgid\0"];
        /// One row for each cgroup: `batch.cgroups()`.
        Cgroups = 3, 2, &["cgroup.path\0"];
        /// The only row of the host: row 0.
        WholeHost = 4, 3, &[];
    }
}

/// A metric that a source fills.
#[derive(Clone, Copy)]
pub struct Offer {
    pub(crate) name: &'static str,
    storage: u32,
    entity: u32,
    definition: *const abi::ctprof_metric,
}

impl Offer {
    /// Offers a metric.
    pub const fn of<M: Metric>() -> Offer {
        Offer {
            name: M::NAME,
            storage: M::Newtype::INFO.storage,
            entity: M::Entity::NUMBER,
            definition: &M::DEFINITION,
        }
    }
}

/// A column that a source reads, of the same plugin or of another. Declare a metric of another
/// plugin exactly as that plugin does: ctprof cannot check its newtype.
#[derive(Clone, Copy)]
pub struct Read {
    name: &'static str,
    storage: u32,
    is_optional: bool,
}

impl Read {
    /// Reads a column; without it, the source does not run.
    pub const fn of<M: Metric>() -> Read {
        Read { name: M::NAME, storage: M::Newtype::INFO.storage, is_optional: false }
    }
    /// Reads a column if a source fills it.
    pub const fn optional<M: Metric>() -> Read {
        Read { name: M::NAME, storage: M::Newtype::INFO.storage, is_optional: true }
    }
}

/// A source of values. ctprof creates one object for each worker and passes it batches of rows;
/// different objects run concurrently, a single object never does.
///
/// ```
/// use ctprof_sdk::prelude::*;
///
/// ctprof_sdk::metric! {
///     pub Running: GaugeCount, MaxGaugeCount, entity::Host { name: "hello_running" }
/// }
///
/// pub struct Stat { host: Host, file: TextFile }
///
/// impl Source for Stat {
///     type Stage = stage::WholeHost;
///     const OFFERS: &'static [Offer] = &[Offer::of::<Running>()];
///
///     fn probe(host: &Host, probe: &Probe<Self>) {
///         if TextFile::new().read(host.proc(), "stat").is_err() {
///             probe.refuse_all(Gap::Unsupported, "there is no /proc/stat", Remedy::None);
///         }
///     }
///     fn open(host: &Host) -> Result<Self, Failure> {
///         Ok(Stat { host: host.clone(), file: TextFile::new() })
///     }
///     fn collect(&mut self, batch: &Batch<Self>) -> Result<(), Failure> {
///         let text = self.file.read(self.host.proc(), "stat").map_err(Gap::for_host);
///         let running = text.and_then(|text| value_of(text, "procs_running", ' ')).and_then(number);
///         batch.column::<Running>().put(0, running as Reading<u64>);
///         Ok(())
///     }
/// }
/// ```
///
/// A panic or an error becomes a message to the user; cells of the batch that have no value yet
/// become `SourceFailed`, and the next batch is tried.
pub trait Source: Send + Sized + 'static {
    /// The kind of its rows.
    type Stage: Stage;
    /// The metrics that it fills.
    const OFFERS: &'static [Offer];
    /// Further columns that it reads.
    const READS: &'static [Read] = &[];
    /// The name in messages; "": the name of the plugin.
    const NAME: &'static str = "";
    /// Among the sources that can fill a column, the one with the highest rank is selected.
    const RANK: i32 = 0;
    /// The number of its tallies.
    const TALLIES: u32 = 0;
    /// The object in the file that `summarise` fills; "": none.
    const SUMMARY_KEY: &'static str = "";

    /// Refuses the offers that this host does not support. It must return within 5 s.
    fn probe(_host: &Host, _probe: &Probe<Self>) {}
    /// Creates the object of one worker.
    fn open(host: &Host) -> Result<Self, Failure>;
    /// Fills all cells of a batch.
    fn collect(&mut self, batch: &Batch<Self>) -> Result<(), Failure>;
    /// Reports results of the capture, after the last batch.
    fn summarise(_summary: &Summary) {}
}

/// Receives the results that a source reports after a capture.
pub struct Summary<'a>(&'a abi::ctprof_summary);

impl Summary<'_> {
    /// Returns a tally, summed over all workers.
    pub fn tally(&self, tally: u32) -> u64 {
        assert!(tally < self.0.tallies_count, "tally {} of {}", tally, self.0.tallies_count);
        unsafe { *self.0.tallies.add(tally as usize) }
    }
    /// The number of threads that were found.
    pub fn rows_listed(&self) -> u64 {
        self.0.rows_listed
    }
    /// Adds a field to the source's object in the file.
    pub fn put(&self, key: &str, value: u64) {
        let key = terminated(key);
        if let Some(put) = self.0.put_u64 {
            unsafe { put(self.0.core, key.as_ptr() as *const c_char, value) };
        }
    }
    /// Prints a message to the user. Begin it with the plugin's name; state its effect on the
    /// values, and what the user can do.
    pub fn note(&self, message: &str) {
        if let Some(note) = self.0.note {
            unsafe { note(self.0.core, message.as_ptr() as *const c_char, message.len()) };
        }
    }
}

/// The index of a metric among the columns of a source, found at compile time.
pub(crate) struct Position<S, M>(PhantomData<(S, M)>);

impl<S: Source, M: Metric> Position<S, M> {
    pub(crate) const OFFER: usize = {
        let mut i = 0;
        loop {
            if i == S::OFFERS.len() {
                panic!("this source does not offer that column: add it to its OFFERS");
            }
            if equal(S::OFFERS[i].name, M::NAME) && S::OFFERS[i].storage == M::Newtype::INFO.storage {
                break i;
            }
            i += 1;
        }
    };
    pub(crate) const READ: usize = {
        let mut i = 0;
        loop {
            if i == S::READS.len() {
                panic!("this source does not read that column: add it to its READS");
            }
            if equal(S::READS[i].name, M::NAME) && S::READS[i].storage == M::Newtype::INFO.storage {
                break S::Stage::READS.len() + i;
            }
            i += 1;
        }
    };
}

const MAX_COLUMNS: usize = 64;

/// The table of a source for the ABI.
#[doc(hidden)]
pub struct Table<S>(PhantomData<S>);

impl<S: Source> Table<S> {
    const OFFERS: [abi::ctprof_offer; MAX_COLUMNS] = {
        assert!(S::OFFERS.len() <= MAX_COLUMNS, "a source offers at most 64 metrics");
        let empty = abi::ctprof_offer { metric: std::ptr::null(), rank: 0, reserved: 0 };
        let mut table = [empty; MAX_COLUMNS];
        let mut i = 0;
        while i < S::OFFERS.len() {
            if S::OFFERS[i].entity != S::Stage::ENTITY {
                panic!("a source offers only metrics of the entity of its stage");
            }
            table[i].metric = S::OFFERS[i].definition;
            table[i].rank = S::RANK;
            i += 1;
        }
        table
    };

    /// The names of the columns that it reads in addition to those of its stage.
    const READ_NAMES: [Terminated; 16] = {
        assert!(S::READS.len() <= 16, "a source reads at most 16 further columns");
        let mut names = [[0; 256]; 16];
        let mut i = 0;
        while i < S::READS.len() {
            let mut name = terminated(S::READS[i].name);
            if S::READS[i].is_optional {
                name[S::READS[i].name.len()] = b'?';
            }
            names[i] = name;
            i += 1;
        }
        names
    };

    const READS: [*const c_char; 32] = {
        let names: &'static [Terminated; 16] = &Self::READ_NAMES;
        let mut table = [std::ptr::null(); 32];
        let mut i = 0;
        while i < S::Stage::READS.len() {
            table[i] = S::Stage::READS[i].as_ptr() as *const c_char;
            i += 1;
        }
        let mut k = 0;
        while k < S::READS.len() {
            table[i + k] = &names[k] as *const u8 as *const c_char;
            k += 1;
        }
        table
    };

    const NAME: Terminated = terminated(S::NAME);
    const SUMMARY_KEY: Terminated = terminated(S::SUMMARY_KEY);

    /// Makes the table. `plugin` is the name of the plugin, with a NUL.
    pub const fn make(plugin: &'static str) -> abi::ctprof_source {
        abi::ctprof_source {
            size: size_of::<abi::ctprof_source>() as u32,
            stage: S::Stage::NUMBER,
            name: if S::NAME.is_empty() {
                plugin.as_ptr() as *const c_char
            } else {
                &Self::NAME as *const u8 as *const c_char
            },
            offers: abi::ctprof_array {
                items: &Self::OFFERS as *const abi::ctprof_offer as *const c_void,
                count: S::OFFERS.len() as u32,
                item_size: size_of::<abi::ctprof_offer>() as u32,
            },
            reads: abi::ctprof_array {
                items: &Self::READS as *const *const c_char as *const c_void,
                count: (S::Stage::READS.len() + S::READS.len()) as u32,
                item_size: size_of::<*const c_char>() as u32,
            },
            tallies_count: S::TALLIES,
            reserved: 0,
            summary_key: if S::SUMMARY_KEY.is_empty() {
                std::ptr::null()
            } else {
                &Self::SUMMARY_KEY as *const u8 as *const c_char
            },
            probe: Some(probe::<S>),
            open_worker: Some(open_worker::<S>),
            collect: Some(collect::<S>),
            list: None,
            close_worker: Some(close_worker::<S>),
            summarise: Some(summarise::<S>),
            start: None,
            drain_exited: None,
            drain_records: None,
            stop: None,
            window_ends: None,
            window_opens: None,
        }
    }
}

/// A probe that panics refuses all offers, with its message.
unsafe extern "C" fn probe<S: Source>(host: *const abi::ctprof_host, probe: *const abi::ctprof_probe) {
    let answer = Probe::<S>::new(probe);
    let result = contained(|| {
        S::probe(&Host::copy(host), &answer);
        Ok(())
    });
    if let Err(failure) = result {
        answer.refuse_all(Gap::SourceFailed, failure.message(), Remedy::None);
    }
}

unsafe extern "C" fn open_worker<S: Source>(
    host: *const abi::ctprof_host,
    worker: *mut *mut c_void,
    message: *mut c_char,
    size: usize,
) -> i32 {
    status(message, size, || {
        *worker = Box::into_raw(Box::new(S::open(&Host::copy(host))?)) as *mut c_void;
        Ok(())
    })
}

unsafe extern "C" fn collect<S: Source>(worker: *mut c_void, batch: *mut abi::ctprof_batch) -> i32 {
    let (message, size) = ((*batch).message, (*batch).message_size);
    let result = status(message, size, || (*(worker as *mut S)).collect(&Batch::new(batch)));
    if result == 0 {
        (*batch).rows_done = (*batch).rows;
        if let Some(shortage) = take_shortage() {
            write_message(shortage, message, size);
        }
    }
    result
}

/// The function cannot report a panic of the destructor, so the panic is ignored.
unsafe extern "C" fn close_worker<S: Source>(worker: *mut c_void) {
    let _ = contained(|| {
        drop(Box::from_raw(worker as *mut S));
        Ok(())
    });
}

unsafe extern "C" fn summarise<S: Source>(summary: *const abi::ctprof_summary) {
    let _ = contained(|| {
        S::summarise(&Summary(&*summary));
        Ok(())
    });
}
