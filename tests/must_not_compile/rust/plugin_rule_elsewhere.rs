// A rule of the plugin with a newtype that it does not list.
// must say: this newtype has no meaning under this rule: take one of the rules that its line in kNewtypes names

use ctprof_sdk::prelude::*;

#[derive(Default)]
pub struct Last(u64);

impl Rule for Last {
    const NAME: &'static str = "test_last";
    #[cfg(control)]
    const NEWTYPES: &'static str = "GaugeNs,GaugeCount";
    #[cfg(not(control))]
    const NEWTYPES: &'static str = "GaugeNs";
    const FALLBACK: &'static str = "MaxGaugeCount";
    fn add(&mut self, _: RowValue) {}
    fn merge(&mut self, _: &Self) {}
    fn number(&self) -> Option<Number> {
        Some(Number::U64(self.0))
    }
}

ctprof_sdk::metric! {
    pub Value: GaugeCount, Last, entity::Thread { name: "test_value" }
}
