// A negative number in a column of an unsigned newtype.
// must say: `i32: Value<U64>` is not satisfied

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
        batch.column::<Value>().put(0, Ok(1u32));
        #[cfg(not(control))]
        batch.column::<Value>().put(0, Ok(-1i32));
        Ok(())
    }
}

ctprof_sdk::plugin! {
    name: "test",
    version: "1",
    description: "A test.",
    sources: [Test],
}
