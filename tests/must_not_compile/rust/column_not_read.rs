// A column that the source does not read.
// must say: this source does not read that column: add it to its READS

use ctprof_sdk::prelude::*;

ctprof_sdk::metric! {
    pub Value: GaugeCount, SumGaugeCount, entity::Thread { name: "test_value" }
    pub Other: MonotonicNs, SumNs, entity::Thread { name: "test_other" }
}

pub struct Test;

impl Source for Test {
    type Stage = stage::Threads;
    const OFFERS: &'static [Offer] = &[Offer::of::<Value>()];
    const READS: &'static [Read] = &[Read::of::<columns::Comm>()];

    fn open(_: &Host) -> Result<Self, Failure> {
        Ok(Test)
    }

    fn collect(&mut self, batch: &Batch<Self>) -> Result<(), Failure> {
        #[cfg(control)]
        let _ = batch.input::<columns::Comm>().at(0);
        #[cfg(not(control))]
        let _ = batch.input::<Other>().at(0);
        Ok(())
    }
}

ctprof_sdk::plugin! {
    name: "test",
    version: "1",
    description: "A test.",
    sources: [Test],
}
