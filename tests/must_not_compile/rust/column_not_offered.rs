// A column that the source does not offer.
// must say: this source does not offer that column: add it to its OFFERS

use ctprof_sdk::prelude::*;

ctprof_sdk::metric! {
    pub Value: GaugeCount, SumGaugeCount, entity::Thread { name: "test_value" }
    pub Other: MonotonicNs, SumNs, entity::Thread { name: "test_other" }
}

pub struct Test;

impl Source for Test {
    type Stage = stage::Threads;
    const OFFERS: &'static [Offer] = &[Offer::of::<Value>()];

    fn open(_: &Host) -> Result<Self, Failure> {
        Ok(Test)
    }

    fn collect(&mut self, batch: &Batch<Self>) -> Result<(), Failure> {
        #[cfg(control)]
        let _ = batch.column::<Value>();
        #[cfg(not(control))]
        let _ = batch.column::<Other>();
        Ok(())
    }
}

ctprof_sdk::plugin! {
    name: "test",
    version: "1",
    description: "A test.",
    sources: [Test],
}
