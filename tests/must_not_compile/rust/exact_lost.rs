// A count of 64 bits in a column of fractions, which has 53.
// must say: `u64: Value<F64>` is not satisfied

use ctprof_sdk::prelude::*;

ctprof_sdk::metric! {
    pub Value: GaugeF64, MeanGaugeF64, entity::Thread { name: "test_value" }
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
        batch.column::<Value>().put(0, Ok(1u32));
        #[cfg(not(control))]
        batch.column::<Value>().put(0, Ok(1u64));
        Ok(())
    }
}

ctprof_sdk::plugin! {
    name: "test",
    version: "1",
    description: "A test.",
    sources: [Test],
}
