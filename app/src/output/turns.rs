//! What became of a turn, and what would become of one, in lines for people.
#![forbid(unsafe_code)]

use super::json::LetGoJson;
use super::table::{Table, number, printable, text, wide};
use super::words::{self, grouped};
use crate::model::cost::Foreseen;
use redial_protocol::level::Level;
use redial_protocol::reason::Reason;
use redial_protocol::report::{DialReport, PlanReport, RefusedMethod, SharedModule};

/// That dials will cost much.
pub fn costly(foreseen: &Foreseen, pid: u32) -> String {
    format!(
        "that costs {} of a processor, by how often these methods were called just now: {} × {} a call; `redial budget {pid} \
         {}` has dials turned down that cost more",
        words::about_percent(foreseen.then),
        words::rate(foreseen.rate),
        words::picoseconds(foreseen.of_a_call()),
        Foreseen::MUCH,
    )
}

/// Refused methods named per reason; `--json` names all the agent sent.
const NAMED_PER_REASON: usize = 10;

/// What became of a turn; `level` is the one level it was about, if it was about one. With `later` what matches nothing is
/// set all the same.
pub fn done(report: &DialReport, level: Option<Level>, later: bool) -> Vec<String> {
    let at = level.map(|level| format!(" at {level}")).unwrap_or_default();
    let mut first = match report.matched {
        0 if later => format!("nothing that is loaded matches; set{at} for what loads from now on"),
        matched => format!("{} matched, {} accepted{at}", words::methods(matched), grouped(report.accepted)),
    };
    if report.bodyless > 0 {
        first.push_str(&format!(", {} without a body", grouped(report.bodyless)));
    }
    let mut lines = vec![first];
    lines.extend(refusals(&report.refused_by_reason, &report.refused, &report.shared, "refused"));
    lines.extend(accepted_for_all(&report.shared));
    lines.extend(report.warnings.iter().map(|warning| format!("warning: {}", words::one_line(warning))));
    lines
}

/// What would become of a turn; `orders` are those that were planned, as text. With `later`, those that match nothing
/// would be set all the same.
pub fn planned(
    plan: &PlanReport,
    orders: &[String],
    foreseen: Option<Foreseen>,
    later: bool,
    columns: Option<usize>,
) -> Vec<String> {
    let mut table = Table::new(&[number("MATCHED"), wide("ORDER"), text("")]);
    for (index, (order, matched)) in orders.iter().zip(&plan.per_order).enumerate() {
        let is_unmatched = plan.unmatched.contains(&(index as u32));
        let note = match (matched, later) {
            (0, false) if is_unmatched => "(nothing yet: needs --later)",
            (0, _) => "(for what loads later)",
            _ => "",
        };
        table.row(vec![grouped(*matched), order.clone(), note.to_owned()]);
    }
    let mut lines = table.lines(columns);
    lines.push(String::new());
    let becomes = [
        (plan.to_request, "would be recompiled"),
        (plan.to_revert, "would get the original IL back"),
        (plan.to_adjust, "would go on with other options, without being recompiled"),
        (plan.unchanged, "would stay unchanged"),
        (plan.bodyless, "without a body"),
    ];
    let becomes: Vec<String> = becomes
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("    {} {what}", grouped(*number)))
        .collect();
    let colon = if becomes.is_empty() { "" } else { ":" };
    lines.push(format!("{} matched{colon}", words::methods(plan.matched)));
    lines.extend(becomes);
    lines.extend(refusals(&plan.refused_by_reason, &plan.refused, &plan.shared, "would be refused"));
    lines.extend(accepted_for_all(&plan.shared));
    if plan.generic > 0 {
        let which = if plan.generic == 1 {
            "1 of them is generic".to_owned()
        } else {
            format!("{} of them are generic", grouped(plan.generic))
        };
        lines.push(format!("{which}: all instantiations are turned, those of later included"));
    }
    if plan.to_request + plan.to_revert > 0 {
        lines.push(format!(
            "expected: about {} until the runtime has accepted it",
            words::short_time(plan.expected_us)
        ));
    }
    if plan.expected_clr_bytes + plan.expected_agent_bytes > 0 {
        lines.push(format!(
            "expected: at most about {} kept by the runtime until the AppDomain unloads, about {} used by the agent",
            words::bytes(plan.expected_clr_bytes),
            words::bytes(plan.expected_agent_bytes)
        ));
    }
    lines.extend(foreseen.map(|foreseen| {
        format!(
            "expected: {} of a processor while {} of them {} called as often as now ({} a second); now {}",
            words::about_percent(foreseen.then),
            grouped(foreseen.dials),
            if foreseen.dials == 1 { "is" } else { "are" },
            words::rate(foreseen.rate),
            words::percent(foreseen.now),
        )
    }));
    lines.extend(plan.warnings.iter().map(|warning| format!("warning: {}", words::one_line(warning))));
    lines.push("nothing was changed (--plan)".to_owned());
    lines
}

/// What became of dials that were held, in numbers of copies.
pub fn let_go(gone: &LetGoJson) -> String {
    let LetGoJson { pid, reverted, stay, remaining } = *gone;
    let mut parts = Vec::new();
    if reverted > 0 {
        let have = if reverted == 1 { "has" } else { "have" };
        parts.push(format!("{} {have} the original IL again", words::methods(reverted)));
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
        true => "off: nothing was held any more".to_owned(),
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
        lines.push(format!("{} {verb}: {}", words::methods(*number), reason.sentence()));
        let named: Vec<_> =
            methods.iter().filter(|one| one.reason == *reason).take(NAMED_PER_REASON).collect();
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
                format!("  {} is one copy for the AppDomains {}", printable(&module.module), domains(module))
            }));
        }
    }
    lines
}

/// A sentence for each module of which one copy was dialled for all AppDomains that share it.
fn accepted_for_all(shared: &[SharedModule]) -> impl Iterator<Item = String> {
    shared.iter().filter(|module| module.accepted).map(|module| {
        let methods = words::count(module.methods, "method of it turns", "methods of it turn");
        format!(
            "{} is one copy for the AppDomains {}: {methods} in all of them",
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

    /// A report with so many refusals.
    pub fn report(matched: u64, accepted: u64, refused: &[(Reason, u64)]) -> DialReport {
        let method = |(reason, index): (Reason, u64)| RefusedMethod {
            method: format!("Shop!Shop.Cart.M{index}()"),
            reason,
            hresult: if reason == Reason::Hresult { 0x8013_1371 } else { 0 },
        };
        DialReport {
            matched,
            accepted,
            refused_by_reason: refused.to_vec(),
            refused: refused
                .iter()
                .flat_map(|(reason, n)| (0..*n).map(|i| (*reason, i)))
                .map(method)
                .collect(),
            ..DialReport::default()
        }
    }

    /// A module that four AppDomains share.
    pub fn shared(accepted: bool) -> SharedModule {
        SharedModule {
            module: "Shop.Common".into(),
            methods: 2,
            domains: vec!["A".into(), "B\u{1b}".into()],
            more_domains: 2,
            accepted,
        }
    }

    /// A plan of some of everything.
    pub fn plan() -> PlanReport {
        let from = report(9, 0, &[(Reason::Shared, 1)]);
        PlanReport {
            per_order: vec![9, 0],
            matched: 9,
            to_request: 4,
            to_revert: 1,
            to_adjust: 1,
            unchanged: 1,
            bodyless: 1,
            refused_by_reason: from.refused_by_reason,
            refused: from.refused,
            shared: vec![shared(false)],
            generic: 2,
            expected_us: 1_250,
            expected_clr_bytes: 6_000,
            expected_agent_bytes: 512,
            warnings: vec!["mind\nthe gap".into()],
            unmatched: vec![1],
        }
    }

    /// Two dials that would cost more.
    pub fn foreseen() -> Foreseen {
        Foreseen { dials: 2, rate: 2e6, now: 0.08, then: 4.0 }
    }

    #[test]
    fn what_it_would_cost_is_told_by_present_rates() {
        let lines = planned(&plan(), &["A.B = time".to_owned()], Some(foreseen()), false, None);
        let told = "expected: about 4.0 % of a processor while 2 of them are called as often as now (2,000,000 a second); \
                    now less than 0.1 %";
        assert!(lines.iter().any(|line| line == told), "{lines:#?}");
        let little = Foreseen { dials: 1, then: 0.09, ..foreseen() };
        let lines = planned(&plan(), &["A.B = time".to_owned()], Some(little), false, None);
        let told = "expected: less than 0.1 % of a processor while 1 of them is called";
        assert!(lines.iter().any(|line| line.starts_with(told)), "{lines:#?}");
    }

    #[test]
    fn refusals_are_grouped_and_long_lists_end() {
        let lines =
            done(&report(20, 7, &[(Reason::Hresult, 1), (Reason::Dynamic, 12)]), Some(Level::Count), false);
        assert_eq!(lines[0], "20 methods matched, 7 accepted at count");
        assert_eq!(lines[1], "1 method refused: the runtime refused the request");
        assert_eq!(lines[2], "    Shop!Shop.Cart.M0()  (0x80131371)");
        assert!(lines[3].starts_with("12 methods refused: it was emitted at run time"));
        assert_eq!(lines.len(), 3 + 1 + NAMED_PER_REASON + 1);
        assert_eq!(lines[lines.len() - 1], "    … and 2 more");
    }

    #[test]
    fn what_loads_later_is_told_as_such() {
        let nothing = report(0, 0, &[]);
        assert_eq!(done(&nothing, Some(Level::Count), false), ["0 methods matched, 0 accepted at count"]);
        let later = done(&nothing, Some(Level::Count), true);
        assert_eq!(later, ["nothing that is loaded matches; set at count for what loads from now on"]);
    }

    #[test]
    fn who_shares_a_copy_is_named_whether_it_was_dialled_or_not() {
        let refused = DialReport { shared: vec![shared(false)], ..report(2, 0, &[(Reason::Shared, 2)]) };
        let lines = done(&refused, Some(Level::Count), false);
        assert!(lines[1].contains("--all-domains"), "{lines:#?}");
        assert_eq!(lines[4], "  Shop.Common is one copy for the AppDomains 'A', 'B\\u{1b}' and 2 more");
        let accepted = DialReport { shared: vec![shared(true)], bodyless: 1, ..report(3, 2, &[]) };
        assert_eq!(
            done(&accepted, None, true),
            [
                "3 methods matched, 2 accepted, 1 without a body",
                "Shop.Common is one copy for the AppDomains 'A', 'B\\u{1b}' and 2 more: \
                 2 methods of it turn in all of them",
            ]
        );
        let one = SharedModule { methods: 1, ..shared(true) };
        assert!(accepted_for_all(&[one]).all(|line| line.ends_with(": 1 method of it turns in all of them")));
    }

    #[test]
    fn what_was_held_is_told_when_it_ends() {
        let said = |reverted, stay, remaining| let_go(&LetGoJson { pid: 9, reverted, stay, remaining });
        assert_eq!(said(0, 0, 0), "off: nothing was held any more");
        assert_eq!(said(1, 0, 0), "off: 1 method has the original IL again");
        assert_eq!(
            said(12, 1, 2),
            "off: 12 methods have the original IL again, 1 method stays dialled by other orders, \
             2 methods could not be turned off (see `redial status 9`)"
        );
    }

    #[test]
    fn a_plan_says_all_of_it() {
        let orders = ["Shop.* = count domain=A".to_owned(), "Nope.* = off".to_owned()];
        assert_eq!(
            planned(&plan(), &orders, None, false, None),
            [
                "MATCHED  ORDER",
                "      9  Shop.* = count domain=A",
                "      0  Nope.* = off             (nothing yet: needs --later)",
                "",
                "9 methods matched:",
                "    4 would be recompiled",
                "    1 would get the original IL back",
                "    1 would go on with other options, without being recompiled",
                "    1 would stay unchanged",
                "    1 without a body",
                &format!("1 method would be refused: {}", Reason::Shared.sentence()),
                "    Shop!Shop.Cart.M0()",
                "  Shop.Common is one copy for the AppDomains 'A', 'B\\u{1b}' and 2 more",
                "2 of them are generic: all instantiations are turned, those of later included",
                "expected: about 1 ms until the runtime has accepted it",
                "expected: at most about 5.86 KiB kept by the runtime until the AppDomain unloads, about 512 B used by the \
                 agent",
                "warning: mind the gap",
                "nothing was changed (--plan)",
            ]
        );
        let nothing = PlanReport { per_order: vec![0], ..PlanReport::default() };
        assert_eq!(
            planned(&nothing, &orders[1..], None, true, None)[1..],
            [
                "      0  Nope.* = off  (for what loads later)",
                "",
                "0 methods matched",
                "nothing was changed (--plan)"
            ]
        );
    }
}
