//! Cost estimates in a knob's hint: the measured cost of a call at each level, times the call rate.

use crate::ui::knob::Hint;
use crate::ui::numbers;
use redial_model::cost::CostEstimate;
use redial_model::method_set::MethodSet;
use redial_model::subject::Subject;
use redial_protocol::cost::Cost;
use redial_protocol::level::Level;
use redial_text::words;

/// The facts about some methods.
struct CostFacts {
    /// Number of methods that can be on.
    methods: u64,
    /// Number of those that are counted.
    counted: u64,
    /// The level wanted for all of them; `None` if they differ.
    wanted: Option<Level>,
    /// The measured costs of a call at the possible levels.
    calls: Vec<Cost>,
    /// The estimated costs from the wanted level upwards.
    levels: Vec<(Level, CostEstimate)>,
}

/// Returns the sentences for methods that one knob turns; none if the agent reported no costs.
pub fn hints(subject: Subject<'_>, methods: &MethodSet, wanted: Option<Level>) -> Vec<Hint> {
    let agent = subject.process().and_then(|connection| connection.agent.as_ref());
    let Some(costs) = agent.map(|agent| &agent.costs).filter(|costs| !costs.is_empty()) else {
        return Vec::new();
    };
    let group = subject.table().group_of_set(methods);
    let from = subject.offered().iter().copied().filter(|level| *level != Level::Off);
    let from = from.filter(|level| Some(*level) >= wanted);
    let known = CostFacts {
        methods: group.methods.saturating_sub(group.bodyless).into(),
        counted: group.counted().into(),
        wanted,
        calls: costs.iter().copied().filter(|cost| subject.offered().contains(&cost.level)).collect(),
        levels: from.filter_map(|level| Some((level, subject.estimate_cost(methods, level)?))).collect(),
    };
    known.sentences()
}

impl CostFacts {
    fn sentences(&self) -> Vec<Hint> {
        let plain = |text: String| Hint { text, warns: false };
        match (self.methods, self.counted) {
            (0, _) => return Vec::new(),
            (methods, 0) => {
                let each =
                    |cost: &Cost| format!("{} at {}", words::picoseconds(cost.picoseconds), cost.level);
                let each: Vec<String> = self.calls.iter().map(each).collect();
                let (none, how_often) = match methods {
                    1 => ("Not", "set it to count to see its call rate"),
                    _ => ("None is", "set them to count to see their call rates"),
                };
                return vec![plain(format!(
                    "{none} counted now: a call would cost about {}. To estimate the total, {how_often}.",
                    words::all(&each)
                ))];
            }
            _ => {}
        }
        let (it, costs) = if self.methods == 1 { ("it", "Costs") } else { ("they", "They cost") };
        let mut hints = Vec::new();
        if let Some((_, foreseen)) = self.levels.first() {
            hints.push(plain(format!("{costs} {} of a processor now.", words::about_percent(foreseen.now))));
        }
        for (level, foreseen) in self.levels.iter().filter(|(level, _)| Some(*level) != self.wanted) {
            let text = format!(
                "At {level} {it} would cost {} of a processor: {} × {} a call.",
                words::about_percent(foreseen.then),
                numbers::rate(foreseen.rate),
                words::picoseconds(foreseen.of_a_call()),
            );
            hints.push(Hint { text, warns: foreseen.then >= CostEstimate::MUCH });
        }
        let others = self.methods.saturating_sub(self.counted);
        if others > 0 && !hints.is_empty() {
            let others =
                words::count(others, "is not counted now, so its cost", "are not counted now, so their cost");
            hints.push(plain(format!("{others} is unknown.")));
        }
        hints
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints_for(
        methods: u64,
        counted: u64,
        wanted: Option<Level>,
        levels: &[(Level, f64)],
    ) -> Vec<(String, bool)> {
        let foreseen = |then| CostEstimate { dials: counted, rate: 2e6, now: 0.1, then };
        let levels = levels.iter().map(|(level, then)| (*level, foreseen(*then))).collect();
        let cost = |level, picoseconds| Cost { level, picoseconds };
        let calls = vec![cost(Level::Count, 640), cost(Level::Time, 35_000)];
        let hints = CostFacts { methods, counted, wanted, calls, levels }.sentences();
        hints.into_iter().map(|hint| (hint.text, hint.warns)).collect()
    }

    #[test]
    fn cost_hint_shows_arithmetic_and_warns() {
        let count = (Level::Count, 0.1);
        assert_eq!(
            hints_for(1, 1, Some(Level::Count), &[count, (Level::Time, 4.0)]),
            [
                ("Costs about 0.1 % of a processor now.".to_owned(), false),
                (
                    "At time it would cost about 4.0 % of a processor: 2.00 M/s × 20 ns a call.".to_owned(),
                    false
                ),
            ]
        );
        let much = hints_for(3, 2, Some(Level::Count), &[count, (Level::Time, 12.0)]);
        assert_eq!(
            much[1..],
            [
                (
                    "At time they would cost about 12 % of a processor: 2.00 M/s × 60 ns a call.".to_owned(),
                    true
                ),
                ("1 is not counted now, so its cost is unknown.".to_owned(), false),
            ]
        );
        let mixed = hints_for(9, 2, None, &[count, (Level::Time, 4.0)]);
        assert!(mixed[1].0.starts_with("At count they would cost about 0.1 %"), "{mixed:?}");
        assert_eq!(mixed[3].0, "7 are not counted now, so their cost is unknown.");
        assert_eq!(
            hints_for(1, 1, Some(Level::Time), &[(Level::Time, 4.0)]).len(),
            1,
            "there is no higher level"
        );
    }

    #[test]
    fn uncounted_method_suggests_counting() {
        let each = "a call would cost about 0.64 ns at count and 35 ns at time";
        let hints_for_methods = |methods| hints_for(methods, 0, Some(Level::Off), &[]);
        assert_eq!(
            hints_for_methods(1),
            [(
                format!(
                    "Not counted now: {each}. To estimate the total, set it to count to see its call \
                      rate."
                ),
                false
            )]
        );
        assert_eq!(
            hints_for_methods(5),
            [(
                format!(
                    "None is counted now: {each}. To estimate the total, set them to count to see \
                        their call rates."
                ),
                false
            )]
        );
        assert!(hints_for(1, 1, Some(Level::Count), &[]).is_empty(), "not called, or its rate not known yet");
        assert!(hints_for(0, 0, Some(Level::Off), &[]).is_empty());
    }
}
