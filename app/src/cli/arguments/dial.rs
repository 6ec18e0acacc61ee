//! What a user may type behind `dial`.

use super::super::beyond::Beyond;
use super::super::target::Target;
use super::{Turn, level, module_id, pattern};
use clap::Args;
use redial_protocol::dialset::{self, DialProblem};
use redial_protocol::level::Level;
use redial_protocol::order::Order;

/// `dial`
#[derive(Debug, Args)]
pub struct Dial {
    /// Process id; or 12,34, name:NAME, pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// Which methods; PATTERN=LEVEL says both
    #[arg(value_parser = pattern)]
    pub pattern: String,
    /// How much to see
    #[arg(value_parser = level)]
    pub level: Option<Level>,
    /// Only in AppDomains whose name begins with PREFIX, those of later included
    #[arg(long, value_name = "PREFIX", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub domain: Option<String>,
    /// Only this copy of a module: its id as `modules` lists it
    #[arg(long, value_name = "MODULE", value_parser = module_id, conflicts_with = "later")]
    pub copy: Option<u64>,
    /// Where AppDomains share one copy, dial it for all of them, though --domain names one
    #[arg(long, requires = "domain")]
    pub all_domains: bool,
    /// At time: bring along what does the work of async methods, to see their calls complete
    #[arg(long)]
    pub completions: bool,
    /// What is asked for beyond times
    #[command(flatten)]
    pub beyond: Beyond,
    /// How it is turned
    #[command(flatten)]
    pub turn: Turn,
}

impl Dial {
    /// What is asked for, as a line of a dial set would say it; else what is wrong with it.
    pub fn order(&self) -> Result<Order, String> {
        let pid = self.target.text();
        let line = dialset::parse_dial_option(&self.pattern);
        let given = self.beyond.options();
        let order = match (self.level, line) {
            (Some(level), Err(_)) => Order::new(&self.pattern, level),
            (Some(level), Ok(line)) => {
                return Err(format!(
                    "the level is given twice: say `redial dial {pid} '{}' {level}`",
                    line.pattern
                ));
            }
            (None, Ok(line)) if line.domain.is_some() && self.domain.is_some() => {
                return Err(
                    "the domain is given twice: within the pattern's quotes and by --domain".to_owned()
                );
            }
            (None, Ok(line)) if line.copy.is_some() && self.copy.is_some() => {
                return Err("the copy is given twice: within the pattern's quotes and by --copy".to_owned());
            }
            (None, Ok(line)) if line.options.slower_than_ns.is_some() && given.slower_than_ns.is_some() => {
                return Err("the duration is given twice: within the pattern's quotes and by --slower-than"
                    .to_owned());
            }
            (None, Ok(line)) => line,
            (None, Err(DialProblem::NoLevel { .. })) => {
                return Err(format!(
                    "no level is given: say `redial dial {pid} '{}' count`, for example",
                    self.pattern
                ));
            }
            (None, Err(problem)) => return Err(problem.to_string()),
        };
        if !given.is_none() && order.level < Level::Time {
            return Err(format!(
                "{} is about calls that are timed: say `redial dial {pid} '{}' time {0}`",
                self.beyond.flags(),
                order.pattern
            ));
        }
        Ok(Order {
            domain: self.domain.clone().or(order.domain),
            copy: self.copy.or(order.copy),
            all_domains: self.all_domains || order.all_domains,
            options: order.options.with(given),
            ..order
        })
    }
}
