// A source of threads that offers a metric of processes.
// must say: a source offers only metrics of the entity of its stage

use ctprof_sdk::prelude::*;

ctprof_sdk::metric! {
    pub Value: GaugeCount, SumGaugeCount, entity::Process { name: "test_value" }
    pub Other: MonotonicNs, SumNs, entity::Thread { name: "test_other" }
}

pub struct Test;

impl Source for Test {
    #[cfg(control)]
    type Stage = stage::Processes;
    #[cfg(not(control))]
    type Stage = stage::Threads;
    const OFFERS: &'static [Offer] = &[Offer::of::<Value>()];

    fn open(_: &Host) -> Result<Self, Failure> {
        Ok(Test)
    }

    fn collect(&mut self, _: &Batch<Self>) -> Result<(), Failure> {
        Ok(())
    }
}

ctprof_sdk::plugin! {
    name: "test",
    version: "1",
    description: "A test.",
    sources: [Test],
}
