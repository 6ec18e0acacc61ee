//! Formats the results of changes and plans as text.

use super::json::ReleasedJson;
use super::table::{Table, number, text, wide};
use redial_model::cost::CostEstimate;
use redial_protocol::level::Level;
use redial_protocol::reason::Reason;
use redial_protocol::report::{DialReport, PlanReport, RefusedMethod, SharedModule};
use redial_text::diagnostics::{Reader, reasons};
use redial_text::words::printable;
use redial_text::words::{self, grouped};

/// Warns that dials will be expensive.
pub fn costly(estimate: &CostEstimate, pid: u32) -> String {
    format!(
        "expect a cost of {} of a processor at the current rate: {} calls per second × {} per call; `redial budget {pid} {}` \
         limits it",
        words::about_percent(estimate.then),
        words::rate(estimate.rate),
        words::picoseconds(estimate.of_a_call()),
        CostEstimate::MUCH,
    )
}

/// The most refused methods to list per reason; `--json` lists all that the agent sent.
const NAMED_PER_REASON: usize = 10;

/// Formats the result of a change; `warnings` are its warnings in words. `level` is the level that all its orders
/// share, if any. With `later`, orders that match nothing were set, too.
pub fn done(report: &DialReport, warnings: &[String], level: Option<Level>, later: bool) -> Vec<String> {
    let at = level.map(|level| format!(" at {level}")).unwrap_or_default();
    let mut first = match report.matched {
        0 if later => format!("no loaded method matches; set{at} for modules that load later"),
        matched => format!("{} matched, {} accepted{at}", words::methods(matched), grouped(report.accepted)),
    };
    if report.bodyless > 0 {
        first.push_str(&format!(", {} without a body", grouped(report.bodyless)));
    }
    let mut lines = vec![first];
    lines.extend(refusals(&report.refused_by_reason, &report.refused, &report.shared, "refused"));
    lines.extend(accepted_for_all(&report.shared));
    lines.extend(warnings.iter().map(|warning| format!("warning: {}", words::one_line(warning))));
    lines
}

/// Formats the plan of a change; `orders` are the planned orders as text, and `warnings` its warnings in words. With
/// `later`, orders that match nothing would be set, too.
pub fn planned(
    plan: &PlanReport,
    warnings: &[String],
    orders: &[String],
    estimate: Option<CostEstimate>,
    later: bool,
    columns: Option<usize>,
) -> Vec<String> {
    let mut table = Table::new(&[number("MATCHED"), wide("ORDER"), text("")]);
    for (index, (order, matched)) in orders.iter().zip(&plan.per_order).enumerate() {
        let is_unmatched = plan.unmatched.contains(&(index as u32));
        let note = match (matched, later) {
            (0, false) if is_unmatched => "(no match yet; needs --later)",
            (0, _) => "(for modules that load later)",
            _ => "",
        };
        table.row(vec![grouped(*matched), order.clone(), note.to_owned()]);
    }
    let mut lines = table.lines(columns);
    lines.push(String::new());
    let outcomes = [
        (plan.to_request, "would be recompiled"),
        (plan.to_revert, "would revert to the original IL"),
        (plan.to_adjust, "would change options without recompilation"),
        (plan.unchanged, "would stay unchanged"),
        (plan.bodyless, "without a body"),
    ];
    let outcomes: Vec<String> = outcomes
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, outcome)| format!("    {} {outcome}", grouped(*number)))
        .collect();
    let colon = if outcomes.is_empty() { "" } else { ":" };
    lines.push(format!("{} matched{colon}", words::methods(plan.matched)));
    lines.extend(outcomes);
    lines.extend(refusals(&plan.refused_by_reason, &plan.refused, &plan.shared, "would be refused"));
    lines.extend(accepted_for_all(&plan.shared));
    if plan.generic > 0 {
        let which = if plan.generic == 1 {
            "1 of them is generic".to_owned()
        } else {
            format!("{} of them are generic", grouped(plan.generic))
        };
        lines.push(format!("{which}: all instantiations are dialled, including later ones"));
    }
    if plan.to_request > 0 || plan.to_revert > 0 {
        lines.push(format!(
            "expected time: about {} until the runtime accepts the change",
            words::short_time(plan.expected_us)
        ));
    }
    if plan.expected_clr_bytes > 0 || plan.expected_agent_bytes > 0 {
        lines.push(format!(
            "expected memory: up to about {} kept by the runtime until the AppDomain unloads or the process ends, \
             about {} used by the agent",
            words::bytes(plan.expected_clr_bytes),
            words::bytes(plan.expected_agent_bytes)
        ));
    }
    lines.extend(estimate.map(|estimate| {
        format!(
            "expected cost: {} of a processor at the current rate of {} ({} calls per second); now {}",
            words::about_percent(estimate.then),
            words::methods(estimate.dials),
            words::rate(estimate.rate),
            words::percent(estimate.now),
        )
    }));
    lines.extend(warnings.iter().map(|warning| format!("warning: {}", words::one_line(warning))));
    lines.push("nothing was changed (--plan)".to_owned());
    lines
}

/// Formats the end of held dials.
pub fn released(gone: &ReleasedJson) -> String {
    let ReleasedJson { pid, reverted, stay, remaining } = *gone;
    let mut parts = Vec::new();
    if reverted > 0 {
        parts.push(format!("{} reverted to the original IL", words::methods(reverted)));
    }
    if stay > 0 {
        let which = if stay == 1 { "stays" } else { "stay" };
        parts.push(format!("{} {which} dialled by other orders", words::methods(stay)));
    }
    if remaining > 0 {
        let failed = format!("{} could not be turned off", words::methods(remaining));
        parts.push(format!("{failed} (see `redial status {pid}`)"));
    }
    match parts.is_empty() {
        true => "off: no dial was held any more".to_owned(),
        false => format!("off: {}", parts.join(", ")),
    }
}

fn refusals(
    by_reason: &[(Reason, u64)],
    methods: &[RefusedMethod],
    shared: &[SharedModule],
    verb: &str,
) -> Vec<String> {
    let mut lines = Vec::new();
    for (reason, number) in by_reason {
        lines.push(format!(
            "{} {verb}: {}",
            words::methods(*number),
            reasons::sentence(*reason, Reader::CommandLine)
        ));
        let named: Vec<_> =
            methods.iter().filter(|one| one.reason == *reason).take(NAMED_PER_REASON).collect();
        let misfit =
            methods.iter().filter(|one| one.reason == *reason).find_map(|one| one.condition.as_ref());
        lines.extend(misfit.iter().flat_map(|misfit| {
            misfit.to_string().lines().map(|line| format!("    {}", printable(line))).collect::<Vec<_>>()
        }));
        for one in &named {
            let code =
                if *reason == Reason::Hresult { format!("  ({:#010x})", one.hresult) } else { String::new() };
            lines.push(format!("    {}{code}", printable(&one.method)));
        }
        let rest = number.saturating_sub(named.len() as u64);
        if rest > 0 {
            lines.push(format!("    … and {} more", grouped(rest)));
        }
        if *reason == Reason::Shared {
            let refused = shared.iter().filter(|module| !module.accepted);
            lines.extend(refused.map(|module| {
                format!(
                    "  {} is one copy shared by AppDomains {}",
                    printable(&module.module),
                    domains(module)
                )
            }));
        }
    }
    lines
}

/// Returns a sentence for each module whose only copy was dialled for all AppDomains that share it.
fn accepted_for_all(shared: &[SharedModule]) -> impl Iterator<Item = String> {
    shared.iter().filter(|module| module.accepted).map(|module| {
        let methods = words::count(module.methods, "method is", "methods are");
        format!(
            "{} is one copy shared by AppDomains {}: {methods} dialled in all of them",
            printable(&module.module),
            domains(module)
        )
    })
}

fn domains(module: &SharedModule) -> String {
    let mut names: Vec<String> = module.domains.iter().map(|name| format!("'{}'", printable(name))).collect();
    if module.more_domains > 0 {
        names.push(format!("{} more", grouped(module.more_domains)));
    }
    words::all(&names)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use redial_text::fixtures::{plan, report, shared};

    /// Returns a prediction for two dials.
    pub fn estimate() -> CostEstimate {
        CostEstimate { dials: 2, rate: 2e6, now: 0.08, then: 4.0 }
    }

    #[test]
    fn plans_predict_the_cost_from_current_rates() {
        let lines = planned(&plan(), &[], &["A.B = time".to_owned()], Some(estimate()), false, None);
        let expected = "expected cost: about 4.0 % of a processor at the current rate of 2 methods (2,000,000 calls per \
                        second); now less than 0.1 %";
        assert!(lines.iter().any(|line| line == expected), "{lines:#?}");
        let little = CostEstimate { dials: 1, then: 0.09, ..estimate() };
        let lines = planned(&plan(), &[], &["A.B = time".to_owned()], Some(little), false, None);
        let expected = "expected cost: less than 0.1 % of a processor at the current rate of 1 method";
        assert!(lines.iter().any(|line| line.starts_with(expected)), "{lines:#?}");
    }

    #[test]
    fn groups_refusals_and_cuts_long_lists() {
        let lines = done(
            &report(20, 7, &[(Reason::Hresult, 1), (Reason::Dynamic, 12)]),
            &[],
            Some(Level::Count),
            false,
        );
        assert_eq!(lines[0], "20 methods matched, 7 accepted at count");
        assert_eq!(lines[1], "1 method refused: the runtime refused the request");
        assert_eq!(lines[2], "    Shop!Shop.Cart.M0()  (0x80131371)");
        assert!(lines[3].starts_with("12 methods refused: it was emitted at run time"));
        assert_eq!(lines.len(), 3 + 1 + NAMED_PER_REASON + 1);
        assert_eq!(lines[lines.len() - 1], "    … and 2 more");
    }

    #[test]
    fn reports_orders_for_later_modules() {
        let nothing = report(0, 0, &[]);
        assert_eq!(
            done(&nothing, &[], Some(Level::Count), false),
            ["0 methods matched, 0 accepted at count"]
        );
        let later = done(&nothing, &[], Some(Level::Count), true);
        assert_eq!(later, ["no loaded method matches; set at count for modules that load later"]);
    }

    #[test]
    fn names_the_domains_that_share_a_copy() {
        let refused = DialReport { shared: vec![shared(false)], ..report(2, 0, &[(Reason::Shared, 2)]) };
        let lines = done(&refused, &[], Some(Level::Count), false);
        assert!(lines[1].contains("--all-domains"), "{lines:#?}");
        assert_eq!(lines[4], "  Shop.Common is one copy shared by AppDomains 'A', 'B\\u{1b}' and 2 more");
        let accepted = DialReport { shared: vec![shared(true)], bodyless: 1, ..report(3, 2, &[]) };
        assert_eq!(
            done(&accepted, &[], None, true),
            [
                "3 methods matched, 2 accepted, 1 without a body",
                "Shop.Common is one copy shared by AppDomains 'A', 'B\\u{1b}' and 2 more: \
                 2 methods are dialled in all of them",
            ]
        );
        let one = SharedModule { methods: 1, ..shared(true) };
        assert!(accepted_for_all(&[one]).all(|line| line.ends_with(": 1 method is dialled in all of them")));
    }

    #[test]
    fn reports_the_end_of_held_dials() {
        let text = |reverted, stay, remaining| released(&ReleasedJson { pid: 9, reverted, stay, remaining });
        assert_eq!(text(0, 0, 0), "off: no dial was held any more");
        assert_eq!(text(1, 0, 0), "off: 1 method reverted to the original IL");
        assert_eq!(
            text(12, 1, 2),
            "off: 12 methods reverted to the original IL, 1 method stays dialled by other orders, \
             2 methods could not be turned off (see `redial status 9`)"
        );
    }

    #[test]
    fn formats_a_whole_plan() {
        let orders = ["Shop.* = count domain=A".to_owned(), "Nope.* = off".to_owned()];
        assert_eq!(
            planned(&plan(), &["mind\nthe gap".to_owned()], &orders, None, false, None),
            [
                "MATCHED  ORDER",
                "      9  Shop.* = count domain=A",
                "      0  Nope.* = off             (no match yet; needs --later)",
                "",
                "9 methods matched:",
                "    4 would be recompiled",
                "    1 would revert to the original IL",
                "    1 would change options without recompilation",
                "    1 would stay unchanged",
                "    1 without a body",
                &format!(
                    "1 method would be refused: {}",
                    reasons::sentence(Reason::Shared, Reader::CommandLine)
                ),
                "    Shop!Shop.Cart.M0()",
                "  Shop.Common is one copy shared by AppDomains 'A', 'B\\u{1b}' and 2 more",
                "2 of them are generic: all instantiations are dialled, including later ones",
                "expected time: about 1 ms until the runtime accepts the change",
                "expected memory: up to about 5.86 KiB kept by the runtime until the AppDomain unloads or the process ends, \
                 about 512 B used by the agent",
                "warning: mind the gap",
                "nothing was changed (--plan)",
            ]
        );
        let nothing = PlanReport { per_order: vec![0], ..PlanReport::default() };
        assert_eq!(
            planned(&nothing, &[], &orders[1..], None, true, None)[1..],
            [
                "      0  Nope.* = off  (for modules that load later)",
                "",
                "0 methods matched",
                "nothing was changed (--plan)"
            ]
        );
    }
}
