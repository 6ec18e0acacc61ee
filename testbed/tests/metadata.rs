//! The CLR widens all metadata tables as it opens a module for writing, whatever the module's size. So nothing that the
//! agent adds later makes it replace a table while others read it. The agent refuses to extend narrow tables.

use anyhow::{Result, ensure};
use redial_protocol::level::Level;
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::on_each_runtime;
use redial_testbed::runtimes::Runtime;
use redial_testbed::shop::LiveShop;

on_each_runtime!(tables_are_wide_once_a_module_is_opened);

/// One small module, loaded while the program runs, and the largest, loaded first: timed bodies need tokens of both.
fn tables_are_wide_once_a_module_is_opened(runtime: Runtime) -> Result<()> {
    let mut shop = LiveShop::start(runtime, &[], 1, &[])?;
    shop.host.ask("load-plugin", "plugin")?;
    let mut controller = Controller::connect(shop.pid)?;
    for pattern in ["Plugin!*", "Shop!*", "System.Private.CoreLib!System.String.*"] {
        let report = controller.dial(pattern, Level::Time, Lifetime::Kept)?;
        ensure!(report.accepted > 0 && report.refused.is_empty(), "{pattern}: {report:?}");
    }
    drop(controller);
    shop.exit().map(drop)
}
