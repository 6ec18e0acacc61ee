//! What a knob's hint says of the cost of its levels, before one is turned to: what a call costs there, as measured in
//! this process, times how often it is called.

use crate::model::connection::Connection;
use crate::model::cost::Foreseen;
use crate::model::methodset::MethodSet;
use crate::output::words;
use crate::ui::knob::Hint;
use crate::ui::numbers;
use redial_protocol::cost::Cost;
use redial_protocol::level::Level;

/// What is known of some methods.
struct Known {
    /// Those that can be on.
    methods: u64,
    /// Those of them that are counted.
    counted: u64,
    /// What all of them want; None: they differ.
    wanted: Option<Level>,
    /// What a call costs at the levels they may have, as far as it was measured.
    calls: Vec<Cost>,
    /// What levels cost from that on, where that can be told.
    levels: Vec<(Level, Foreseen)>,
}

/// The sentences for methods that one knob turns; none where the agent told no costs.
pub fn hints(connection: &Connection, methods: &MethodSet, wanted: Option<Level>) -> Vec<Hint> {
    let Some(costs) = connection.agent.as_ref().map(|agent| &agent.costs).filter(|costs| !costs.is_empty())
    else {
        return Vec::new();
    };
    let group = connection.group_of_set(methods);
    let from = connection.offered().iter().copied().filter(|level| *level != Level::Off);
    let from = from.filter(|level| Some(*level) >= wanted);
    let known = Known {
        methods: group.methods.saturating_sub(group.bodyless).into(),
        counted: group.counted().into(),
        wanted,
        calls: costs.iter().copied().filter(|cost| connection.offered().contains(&cost.level)).collect(),
        levels: from.filter_map(|level| Some((level, connection.foresee(methods, level)?))).collect(),
    };
    known.sentences()
}

impl Known {
    fn sentences(&self) -> Vec<Hint> {
        let plain = |text: String| Hint { text, warns: false };
        match (self.methods, self.counted) {
            (0, _) => return Vec::new(),
            (methods, 0) => {
                let each =
                    |cost: &Cost| format!("{} at {}", words::picoseconds(cost.picoseconds), cost.level);
                let each: Vec<String> = self.calls.iter().map(each).collect();
                let (none, how_often) = match methods {
                    1 => ("Not", "it tells how often it is called"),
                    _ => ("None is", "they tell how often they are called"),
                };
                return vec![plain(format!(
                    "{none} counted now: a call would cost about {}; turned to count, {how_often}.",
                    words::all(&each)
                ))];
            }
            _ => {}
        }
        let (it, costs) = if self.methods == 1 { ("it", "It costs") } else { ("they", "They cost") };
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
            hints.push(Hint { text, warns: foreseen.then >= Foreseen::MUCH });
        }
        let others = self.methods.saturating_sub(self.counted);
        if others > 0 && !hints.is_empty() {
            let others = words::count(
                others,
                "is not counted now: what it costs",
                "are not counted now: what they cost",
            );
            hints.push(plain(format!("{others} is not known.")));
        }
        hints
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(
        methods: u64,
        counted: u64,
        wanted: Option<Level>,
        levels: &[(Level, f64)],
    ) -> Vec<(String, bool)> {
        let foreseen = |then| Foreseen { dials: counted, rate: 2e6, now: 0.1, then };
        let levels = levels.iter().map(|(level, then)| (*level, foreseen(*then))).collect();
        let cost = |level, picoseconds| Cost { level, picoseconds };
        let calls = vec![cost(Level::Count, 640), cost(Level::Time, 35_000)];
        let hints = Known { methods, counted, wanted, calls, levels }.sentences();
        hints.into_iter().map(|hint| (hint.text, hint.warns)).collect()
    }

    #[test]
    fn a_level_is_told_with_the_arithmetic_and_much_is_warned_of() {
        let count = (Level::Count, 0.1);
        assert_eq!(
            told(1, 1, Some(Level::Count), &[count, (Level::Time, 4.0)]),
            [
                ("It costs about 0.1 % of a processor now.".to_owned(), false),
                (
                    "At time it would cost about 4.0 % of a processor: 2.00 M/s × 20 ns a call.".to_owned(),
                    false
                ),
            ]
        );
        let much = told(3, 2, Some(Level::Count), &[count, (Level::Time, 12.0)]);
        assert_eq!(
            much[1..],
            [
                (
                    "At time they would cost about 12 % of a processor: 2.00 M/s × 60 ns a call.".to_owned(),
                    true
                ),
                ("1 is not counted now: what it costs is not known.".to_owned(), false),
            ]
        );
        let mixed = told(9, 2, None, &[count, (Level::Time, 4.0)]);
        assert!(mixed[1].0.starts_with("At count they would cost about 0.1 %"), "{mixed:?}");
        assert_eq!(mixed[3].0, "7 are not counted now: what they cost is not known.");
        assert_eq!(told(1, 1, Some(Level::Time), &[(Level::Time, 4.0)]).len(), 1, "there is nothing above");
    }

    #[test]
    fn what_is_not_counted_is_to_be_counted_first() {
        let each = "a call would cost about 0.64 ns at count and 35 ns at time";
        let told_of = |methods| told(methods, 0, Some(Level::Off), &[]);
        assert_eq!(
            told_of(1),
            [(format!("Not counted now: {each}; turned to count, it tells how often it is called."), false)]
        );
        assert_eq!(
            told_of(5),
            [(
                format!("None is counted now: {each}; turned to count, they tell how often they are called."),
                false
            )]
        );
        assert!(
            told(1, 1, Some(Level::Count), &[]).is_empty(),
            "it is not called, or its rate not known yet"
        );
        assert!(told(0, 0, Some(Level::Off), &[]).is_empty());
    }
}
