//! The host as a source sees it, and the source's answers about it.

use crate::abi;
use crate::gap::Gap;
use crate::metric::Metric;
use crate::source::Source;
use crate::text::equal;
use std::any::Any;
use std::ffi::CStr;
use std::marker::PhantomData;
use std::mem::{size_of, MaybeUninit};
use std::os::raw::c_char;
use std::sync::Arc;

/// An open directory of the host. ctprof owns it and closes it after it has closed the plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directory(pub(crate) i32);

impl Directory {
    /// The descriptor, for system calls such as openat(2). Do not close it.
    pub fn descriptor(self) -> i32 {
        self.0
    }
}

/// The address of a thread.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    /// Its row in the batch.
    pub row: u32,
    /// The id of its process.
    pub tgid: u64,
    /// Its id.
    pub tid: u64,
    /// Its open directory /proc/TGID/task/TID, if ctprof has opened it.
    pub directory: Option<Directory>,
}

/// The host, as ctprof describes it to a plugin. The host need not be the machine that ctprof runs
/// on: with `--rootfs` it is a directory tree with files of another kernel. Open files relative to
/// its directories, never by a path that begins with "/proc".
#[derive(Clone)]
pub struct Host {
    flags: u32,
    proc: Directory,
    sys: Directory,
    cgroup: Directory,
    user_hz: u32,
    proc_path: String,
    sample: (u64, u64),
    options: Vec<(String, String)>,
    context: Option<Arc<dyn Any + Send + Sync>>,
}

impl Host {
    /// # Safety
    /// `host` is a host that ctprof passed to the current call.
    pub(crate) unsafe fn copy(host: *const abi::ctprof_host) -> Host {
        // Fields beyond the size that ctprof states are zero.
        let mut copy = MaybeUninit::<abi::ctprof_host>::zeroed();
        let size = ((*host).size as usize).min(size_of::<abi::ctprof_host>());
        std::ptr::copy_nonoverlapping(host as *const u8, copy.as_mut_ptr() as *mut u8, size);
        let host = copy.assume_init();
        let context = host.context as *const Arc<dyn Any + Send + Sync>;
        Host {
            flags: host.flags,
            proc: Directory(host.proc_fd),
            sys: Directory(host.sys_fd),
            cgroup: Directory(host.cgroup_fd),
            user_hz: host.user_hz,
            proc_path: text(host.proc),
            sample: (host.sample_tgid, host.sample_tid),
            options: settings(&host.options),
            context: context.as_ref().cloned(),
        }
    }

    /// Whether the tree belongs to the running kernel. A source that needs more than files refuses
    /// all offers if this is false.
    pub fn is_live(&self) -> bool {
        self.flags & 1 != 0
    }
    /// Whether its thread ids are valid in system calls of this process.
    pub fn has_own_tids(&self) -> bool {
        self.flags & 2 != 0
    }
    /// The directory /proc.
    pub fn proc(&self) -> Directory {
        self.proc
    }
    /// The directory /sys; reading below it fails if it is missing.
    pub fn sys(&self) -> Directory {
        self.sys
    }
    /// The mount point of the cgroup v2 hierarchy; reading below it fails if there is none.
    pub fn cgroup(&self) -> Directory {
        self.cgroup
    }
    /// The path of /proc, for messages only.
    pub fn proc_path(&self) -> &str {
        &self.proc_path
    }
    /// Clock ticks per second in the units of /proc.
    pub fn user_hz(&self) -> u32 {
        self.user_hz
    }
    /// An existing thread for probing.
    pub fn sample(&self) -> Thread {
        Thread { row: 0, tgid: self.sample.0, tid: self.sample.1, directory: None }
    }
    /// Returns the value of an option of the plugin, or its default; "" for an unknown key.
    pub fn option(&self, key: &str) -> &str {
        self.options.iter().find(|(name, _)| name == key).map_or("", |(_, value)| value)
    }
    /// Returns the plugin's context. Panics if the plugin has no context of this type.
    pub fn context<C: Context>(&self) -> &C {
        let context = self.context.as_ref().and_then(|any| any.downcast_ref());
        context.expect("plugin! declares no context of this type")
    }
}

/// Objects that the sources and workers of a plugin share: a socket, a cache. Created before any
/// probe, and dropped when the session ends.
pub trait Context: Send + Sync + Sized + 'static {
    /// Creates the context. After an error, the plugin's offers are refused with its message.
    fn open(host: &Host) -> Result<Self, crate::Failure>;
}

unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    CStr::from_ptr(pointer).to_string_lossy().into_owned()
}

unsafe fn settings(array: &abi::ctprof_array) -> Vec<(String, String)> {
    let item = |i: u32| (array.items as *const u8).add((i * array.item_size) as usize);
    (0..array.count)
        .map(|i| &*(item(i) as *const abi::ctprof_setting))
        .map(|setting| (text(setting.key), text(setting.value)))
        .collect()
}

/// A change that would make a metric available on a host, for `ctprof doctor`.
#[derive(Clone, Copy, Debug)]
pub enum Remedy<'a> {
    /// No known remedy.
    None,
    /// A command for a root shell, ready to paste.
    Command(&'a str),
    /// Capabilities that ctprof lacks, separated by commas.
    Capabilities(&'a str),
    /// Parameters of the kernel's command line.
    Boot(&'a str),
    /// Another kernel: "CONFIG_SCHEDSTATS=y".
    Kernel(&'a str),
}

/// Receives the refusals of a source, with remedies. An offer that is not refused is accepted.
pub struct Probe<'a, S> {
    probe: &'a abi::ctprof_probe,
    source: PhantomData<S>,
}

impl<'a, S: Source> Probe<'a, S> {
    /// # Safety
    /// `probe` is the argument of the current call of ctprof.
    pub(crate) unsafe fn new(probe: *const abi::ctprof_probe) -> Self {
        Probe { probe: &*probe, source: PhantomData }
    }

    /// Refuses one metric with a gap and a reason: a part of a sentence, without a capital or a
    /// full stop, that names the cause.
    pub fn refuse<M: Metric>(&self, gap: Gap, reason: &str, remedy: Remedy) {
        for (i, offer) in S::OFFERS.iter().enumerate() {
            if equal(offer.name, M::NAME) {
                self.refuse_at(i as u32, gap, reason, remedy);
            }
        }
    }

    /// Refuses all offers of the source.
    pub fn refuse_all(&self, gap: Gap, reason: &str, remedy: Remedy) {
        for i in 0..S::OFFERS.len() {
            self.refuse_at(i as u32, gap, reason, remedy);
        }
    }

    /// Reports which values of a metric remain gaps although it is not refused.
    pub fn lacks<M: Metric>(&self, sentence: &str, remedy: Remedy) {
        for (i, offer) in S::OFFERS.iter().enumerate() {
            if equal(offer.name, M::NAME) {
                self.report(i as u32, sentence, remedy);
            }
        }
    }

    fn refuse_at(&self, offer: u32, gap: Gap, reason: &str, remedy: Remedy) {
        if let Some(refuse) = self.probe.refuse {
            let data = reason.as_ptr() as *const c_char;
            unsafe { refuse(self.probe.core, offer, gap as u8, data, reason.len()) };
        }
        if !matches!(remedy, Remedy::None) {
            self.report(offer, "", remedy);
        }
    }

    fn report(&self, offer: u32, lack: &str, remedy: Remedy) {
        // A core that is older than remedies does not have the function.
        if (self.probe.size as usize) < size_of::<abi::ctprof_probe>() {
            return;
        }
        let (kind, what) = match remedy {
            Remedy::None => (0, ""),
            Remedy::Command(what) => (1, what),
            Remedy::Capabilities(what) => (2, what),
            Remedy::Boot(what) => (3, what),
            Remedy::Kernel(what) => (4, what),
        };
        if let Some(report) = self.probe.remedy {
            let (lack_data, what_data) = (lack.as_ptr() as *const c_char, what.as_ptr() as *const c_char);
            unsafe { report(self.probe.core, offer, lack_data, lack.len(), kind, what_data, what.len()) };
        }
    }
}
