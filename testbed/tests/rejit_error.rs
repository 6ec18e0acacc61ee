//! `ReJITError` inside our own `RequestReJIT`, on real runtimes: a method that does not exist goes along with every
//! request (a hook of test builds). The error is noted, and everything else is dialled as ever.

use anyhow::Result;
use redial_protocol::level::Level;
use redial_protocol::state::State;
use redial_testbed::controller::{Controller, Stay};
use redial_testbed::on_each_runtime;
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::LiveShop;

fn an_error_inside_the_request_is_survived(runtime: Runtime) -> Result<()> {
    let mut shop = LiveShop::start(runtime, &[], 2, &[("REDIAL_TEST_BAD_TOKEN", "1")])?;
    let mut controller = Controller::connect(shop.pid)?;
    let errors = |controller: &mut Controller| -> Result<usize> {
        let audit = controller.agent_status()?.audit;
        Ok(audit.iter().filter(|entry| entry.order.starts_with("ReJITError for 0x06ffff00")).count())
    };
    assert_eq!(errors(&mut controller)?, 0);
    for turn in 1..=3 {
        let report = controller.dial("Shop!Shop.Cart.Add(int)", Level::Count, Stay::Kept)?;
        assert_eq!((report.matched, report.accepted), (1, 1));
        assert_eq!(errors(&mut controller)?, turn, "the runtime answered the token that does not exist");
        let before = controller.row("Shop!Shop.Cart.Add(int)")?.calls;
        shop.host.ask("truth-reset", "reset")?;
        shop.rounds(3)?;
        let row = controller.row("Shop!Shop.Cart.Add(int)")?;
        assert_eq!(row.state, State::Live);
        assert_eq!(row.calls - before, shop.truth()?["Shop.Cart.Add(int)"]);
        controller.off("Shop!Shop.Cart.Add(int)")?;
    }
    shop.exit().map(drop)
}

on_each_runtime!(an_error_inside_the_request_is_survived);
