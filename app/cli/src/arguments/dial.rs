//! Arguments of `redial dial`.

use super::super::target::Target;
use super::super::time_options::TimeArguments;
use super::change::ChangeArguments;
use super::values::{check_condition, level, module_id, pattern};
use clap::Args;
use redial_protocol::dialset::{self, DialProblem};
use redial_protocol::level::Level;
use redial_protocol::order::Order;

/// `dial`
#[derive(Debug, Args)]
pub struct DialArguments {
    /// Process id, list of ids (12,34), name:NAME or pool:NAME
    #[arg(value_name = "PID", value_parser = Target::parse)]
    pub target: Target,
    /// Methods to dial; PATTERN=LEVEL includes the level
    #[arg(value_parser = pattern)]
    pub pattern: String,
    /// Level to set
    #[arg(value_parser = level)]
    pub level: Option<Level>,
    /// Only AppDomains whose name starts with PREFIX, including later ones
    #[arg(long, value_name = "PREFIX", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub domain: Option<String>,
    /// Only this copy of a module: an id listed by `modules`
    #[arg(long, value_name = "MODULE", value_parser = module_id, conflicts_with = "later")]
    pub copy: Option<u64>,
    /// With --domain, also dial copies that other AppDomains share
    #[arg(long, requires = "domain")]
    pub all_domains: bool,
    /// With level time: also time async methods to their completion
    #[arg(long)]
    pub completions: bool,
    /// With level trace: capture only calls for which this is true, for example 'rate > 0.2 && name == "Ada"'
    #[arg(long, value_name = "EXPR")]
    pub when: Option<String>,
    /// Options of level time
    #[command(flatten)]
    pub beyond: TimeArguments,
    /// Options shared with the other command that turns dials
    #[command(flatten)]
    pub change: ChangeArguments,
}

impl DialArguments {
    /// Returns the requested order.
    ///
    /// # Errors
    /// A sentence, when the arguments contradict each other or lack a level.
    pub fn order(&self) -> Result<Order, String> {
        let pid = self.target.text();
        let line = dialset::parse_dial_option(&self.pattern);
        let given = self.beyond.options();
        let order = match (self.level, line) {
            (Some(level), Err(_)) => Order::new(&self.pattern, level),
            (Some(level), Ok(line)) => {
                return Err(format!(
                    "the level is given twice; use `redial dial {pid} '{}' {level}`",
                    line.pattern
                ));
            }
            (None, Ok(line)) if line.domain.is_some() && self.domain.is_some() => {
                return Err(
                    "the domain is given twice: inside the quoted pattern and with --domain".to_owned()
                );
            }
            (None, Ok(line)) if line.copy.is_some() && self.copy.is_some() => {
                return Err("the copy is given twice: inside the quoted pattern and with --copy".to_owned());
            }
            (None, Ok(line)) if line.options.slower_than_ns.is_some() && given.slower_than_ns.is_some() => {
                return Err("the duration is given twice: inside the quoted pattern and with --slower-than"
                    .to_owned());
            }
            (None, Ok(line)) if line.when.is_some() && self.when.is_some() => {
                return Err(
                    "the condition is given twice: inside the quoted pattern and with --when".to_owned()
                );
            }
            (None, Ok(line)) => line,
            (None, Err(DialProblem::NoLevel { .. })) => {
                return Err(format!(
                    "the level is missing; use `redial dial {pid} '{}' count`, for example",
                    self.pattern
                ));
            }
            (None, Err(problem)) => return Err(problem.to_string()),
        };
        if !given.is_none() && order.level < Level::Time {
            return Err(format!(
                "{} needs level time; use `redial dial {pid} '{}' time {0}`",
                self.beyond.flags(),
                order.pattern
            ));
        }
        check_condition(self.when.as_deref())?;
        let pattern = &order.pattern;
        if self.when.is_some() && order.level < Level::Trace {
            return Err(format!(
                "--when needs level trace; use `redial dial {pid} '{pattern}' trace --when`"
            ));
        }
        let options = order.options.with(given);
        if order.level == Level::Time && options.lacks_calls() {
            return Err(format!(
                "--stack at level time belongs to the slowest calls; use `redial dial {pid} '{pattern}' time --stack --slower-than 10ms`, for example, or --failed-only"
            ));
        }
        Ok(Order {
            when: self.when.clone().or(order.when),
            domain: self.domain.clone().or(order.domain),
            copy: self.copy.or(order.copy),
            all_domains: self.all_domains || order.all_domains,
            options,
            ..order
        })
    }
}
