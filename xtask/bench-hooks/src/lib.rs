//! The cheapest profiler that uses the CLR's own enter and leave hooks (`SetEnterLeaveFunctionHooks3`): one counter for
//! all methods and threads, bumped in assembly. `cargo xtask bench count` compares with it; nothing else uses it.
//!
//! `BENCH_HOOKS=exact` makes the increment atomic; otherwise it is a plain one, which loses counts when threads meet.
//! At shutdown it says on standard error how often the hook ran. Only for x86-64, as the hooks are assembly.
//!
//! `BENCH_MASK=NUMBER` makes it a profiler that asks for those events (`COR_PRF_MONITOR`, decimal) and does nothing at
//! any: what the flags themselves cost a start, for `cargo xtask bench startup`.
#![cfg(target_arch = "x86_64")]

mod com;
mod hooks;
mod object;
