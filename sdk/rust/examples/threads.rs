//! threads: voluntary switches and the name length of each thread, the voluntary share of all
//! switches, and the running threads of the host.
//!
//! Sources: /proc/TGID/task/TID/status, lines `voluntary_ctxt_switches` and
//! `nonvoluntary_ctxt_switches`; /proc/stat, line `procs_running`. The option `threads.file` names
//! another file than `stat`.

#![deny(unsafe_code)]

use ctprof_sdk::prelude::*;

ctprof_sdk::metric! {
    /// Counted by the kernel in __schedule().
    pub Switches: MonotonicCount, SumCount, entity::Thread {
        name: "threads_switches",
        source: "/proc/<tgid>/task/<tid>/status:voluntary_ctxt_switches",
        description: "How often the thread blocked, or yielded its CPU.",
        headline: "blocks/s",
        shown: Shown::Rate,
    }
    pub Preempted: MonotonicCount, SumCount, entity::Thread {
        name: "threads_preempted",
        source: "/proc/<tgid>/task/<tid>/status:nonvoluntary_ctxt_switches",
        description: "How often the kernel took the CPU away from the thread.",
    }
    pub NameLength: GaugeCount, Mean, entity::Thread {
        name: "threads_name_length",
        description: "Bytes of the thread's name.",
    }
    pub Running: GaugeCount, MaxGaugeCount, entity::Host {
        name: "threads_running",
        source: "/proc/stat:procs_running",
        description: "Threads of the host that run or wait for a CPU.",
    }
}

ctprof_sdk::derived! {
    pub VOLUNTARY: entity::Thread {
        name: "threads_voluntary",
        expression: "threads_switches / (threads_switches + threads_preempted)",
        unit: "ratio",
        description: "The share of switches that were voluntary.",
    }
}

/// The mean of the group.
#[derive(Default)]
pub struct Mean {
    sum: u64,
    count: u64,
}

impl Rule for Mean {
    const NAME: &'static str = "threads_mean";
    const NEWTYPES: &'static str = "GaugeCount";
    const FALLBACK: &'static str = "MaxGaugeCount";
    const DESCRIPTION: &'static str = "the mean of the group";

    fn add(&mut self, value: RowValue) {
        if let RowValue::U64(value) = value {
            self.sum += value;
            self.count += 1;
        }
    }
    fn merge(&mut self, from: &Self) {
        self.sum += from.sum;
        self.count += from.count;
    }
    fn number(&self) -> Option<Number> {
        (self.count > 0).then(|| Number::F64(self.sum as f64 / self.count as f64))
    }
}

/// The values of a thread's file `status`, each with its newtype.
struct Status {
    switches: Reading<Figure<MonotonicCount>>,
    preempted: Reading<Figure<MonotonicCount>>,
}

impl Status {
    fn parse(text: &str) -> Status {
        let count = |key| value_of(text, key, ':').and_then(number).map(Figure::new);
        Status { switches: count("voluntary_ctxt_switches"), preempted: count("nonvoluntary_ctxt_switches") }
    }
}

pub struct Threads {
    host: Host,
    file: TextFile,
}

impl Source for Threads {
    type Stage = stage::Threads;
    const NAME: &'static str = "switches";
    const OFFERS: &'static [Offer] =
        &[Offer::of::<Switches>(), Offer::of::<Preempted>(), Offer::of::<NameLength>()];
    const READS: &'static [Read] = &[Read::of::<columns::Comm>()];

    fn probe(host: &Host, probe: &Probe<Self>) {
        if TextFile::new().read_thread(host, &host.sample(), "status").is_err() {
            let reason = "cannot read /proc/<tgid>/task/<tid>/status";
            probe.refuse::<Switches>(Gap::Unsupported, reason, Remedy::None);
            probe.refuse::<Preempted>(Gap::Unsupported, reason, Remedy::None);
        }
    }

    fn open(host: &Host) -> Result<Self, Failure> {
        Ok(Threads { host: host.clone(), file: TextFile::new() })
    }

    fn collect(&mut self, batch: &Batch<Self>) -> Result<(), Failure> {
        let mut switches = batch.column::<Switches>();
        let mut preempted = batch.column::<Preempted>();
        let mut lengths = batch.column::<NameLength>();
        let names = batch.input::<columns::Comm>();
        for thread in batch.threads() {
            let text = self.file.read_thread(&self.host, &thread, "status");
            let status = text.map(Status::parse);
            switches.put_figure(thread.row, status.as_ref().map_err(|gap| *gap).and_then(|s| s.switches));
            preempted.put_figure(thread.row, status.and_then(|s| s.preempted));
            lengths.put(thread.row, names.at(thread.row).map(|name| name.len() as u64));
        }
        Ok(())
    }
}

pub struct Stat {
    host: Host,
    file: TextFile,
}

impl Source for Stat {
    type Stage = stage::WholeHost;
    const NAME: &'static str = "stat";
    const OFFERS: &'static [Offer] = &[Offer::of::<Running>()];

    fn probe(host: &Host, probe: &Probe<Self>) {
        let name = host.option("file");
        if TextFile::new().read(host.proc(), name).is_err() {
            probe.refuse_all(Gap::Unsupported, &format!("there is no /proc/{name}"), Remedy::None);
        }
    }

    fn open(host: &Host) -> Result<Self, Failure> {
        Ok(Stat { host: host.clone(), file: TextFile::new() })
    }

    fn collect(&mut self, batch: &Batch<Self>) -> Result<(), Failure> {
        let text = self.file.read(self.host.proc(), self.host.option("file")).map_err(Gap::for_host);
        let running: Reading<u64> = text.and_then(|text| value_of(text, "procs_running", ' ')).and_then(number);
        batch.column::<Running>().put(0, running);
        Ok(())
    }
}

ctprof_sdk::plugin! {
    name: "threads",
    version: "1.0",
    description: "Switches and names of threads.",
    sources: [Threads, Stat],
    rules: [Mean],
    derived: [VOLUNTARY],
    options: [("file", "stat", "The file under /proc.")],
}
