//! Layouts: which panels are shown, how large they are and, once the user moved one, where each is.

use super::lower_tab::LowerTab;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Most layouts with a name.
pub const NAMED: usize = 50;
/// Most characters of a layout's name.
pub const NAME: usize = 60;

/// A panel of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PanelId {
    /// The process list.
    Processes,
    /// The table of methods, which is always there.
    Methods,
    /// The details of the selection.
    Details,
    /// The log.
    Log,
    /// The table of traced calls.
    Events,
    /// When traced calls ran.
    Timeline,
    /// The tree of traced calls.
    Calls,
    /// Numbers of selected methods over time.
    Charts,
    /// Source and IL of the selected method.
    Code,
}

impl PanelId {
    /// All panels.
    pub const ALL: [PanelId; 9] = [
        PanelId::Processes,
        PanelId::Methods,
        PanelId::Details,
        PanelId::Log,
        PanelId::Events,
        PanelId::Timeline,
        PanelId::Calls,
        PanelId::Charts,
        PanelId::Code,
    ];

    /// Returns the title.
    pub fn title(self) -> &'static str {
        match self {
            PanelId::Processes => "Processes",
            PanelId::Methods => "Methods",
            PanelId::Details => "Details",
            PanelId::Log => "Log",
            PanelId::Events => "Events",
            PanelId::Timeline => "Timeline",
            PanelId::Calls => "Calls",
            PanelId::Charts => "Charts",
            PanelId::Code => "Source",
        }
    }

    /// Returns the tab of the lower panel that shows the same in the standard layout.
    pub fn lower_tab(self) -> Option<LowerTab> {
        LowerTab::ALL.into_iter().find(|tab| PanelId::of_tab(*tab) == self)
    }

    /// Returns the panel that shows what a tab of the lower panel shows.
    pub fn of_tab(tab: LowerTab) -> PanelId {
        match tab {
            LowerTab::Events => PanelId::Events,
            LowerTab::Timeline => PanelId::Timeline,
            LowerTab::Calls => PanelId::Calls,
            LowerTab::Charts => PanelId::Charts,
            LowerTab::Code => PanelId::Code,
        }
    }
}

/// An edge of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The left one.
    Left,
    /// The right one.
    Right,
    /// The lower one.
    Bottom,
}

impl Side {
    /// All sides.
    pub const ALL: [Side; 3] = [Side::Left, Side::Right, Side::Bottom];

    /// Returns the name within a sentence.
    pub fn word(self) -> &'static str {
        match self {
            Side::Left => "left",
            Side::Right => "right",
            Side::Bottom => "bottom",
        }
    }
}

/// An area of a layout with movable panels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SavedTile {
    /// A panel.
    Panel(PanelId),
    /// Areas of which one is visible.
    Tabs {
        /// The areas.
        tiles: Vec<SavedTile>,
        /// The position of the visible one.
        active: usize,
    },
    /// Areas beside each other.
    Row(Vec<SavedPart>),
    /// Areas above each other.
    Column(Vec<SavedPart>),
}

/// A part of a row or column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedPart {
    /// Its width or height, relative to those of the other parts.
    pub share: f32,
    /// Its content.
    pub tile: SavedTile,
}

impl SavedPart {
    /// Returns a part that shows tabs of panels, the first of them visible.
    pub fn tabs(share: f32, panels: &[PanelId]) -> SavedPart {
        let tiles = panels.iter().copied().map(SavedTile::Panel).collect();
        SavedPart { share, tile: SavedTile::Tabs { tiles, active: 0 } }
    }
}

impl SavedTile {
    /// Returns every panel, in order.
    fn panels(&self) -> Vec<PanelId> {
        match self {
            SavedTile::Panel(panel) => vec![*panel],
            SavedTile::Tabs { tiles, .. } => tiles.iter().flat_map(SavedTile::panels).collect(),
            SavedTile::Row(parts) | SavedTile::Column(parts) => {
                parts.iter().flat_map(|part| part.tile.panels()).collect()
            }
        }
    }

    fn has_sound_shares(&self) -> bool {
        match self {
            SavedTile::Panel(_) => true,
            SavedTile::Tabs { tiles, .. } => tiles.iter().all(SavedTile::has_sound_shares),
            SavedTile::Row(parts) | SavedTile::Column(parts) => parts.iter().all(|part| {
                part.share.is_finite() && (1e-4..1e6).contains(&part.share) && part.tile.has_sound_shares()
            }),
        }
    }

    /// Returns the area without a panel; `None` if nothing remains.
    fn without(self, panel: PanelId) -> Option<SavedTile> {
        let parts = |parts: Vec<SavedPart>| {
            let parts = parts.into_iter().filter_map(|SavedPart { share, tile }| {
                tile.without(panel).map(|tile| SavedPart { share, tile })
            });
            Some(parts.collect::<Vec<_>>()).filter(|parts| !parts.is_empty())
        };
        match self {
            SavedTile::Panel(one) => (one != panel).then_some(SavedTile::Panel(one)),
            SavedTile::Tabs { tiles, active } => {
                let shown = tiles.get(active).cloned().and_then(|tile| tile.without(panel));
                let tiles: Vec<SavedTile> =
                    tiles.into_iter().filter_map(|tile| tile.without(panel)).collect();
                let active = tiles.iter().position(|tile| Some(tile) == shown.as_ref()).unwrap_or(0);
                (!tiles.is_empty()).then_some(SavedTile::Tabs { tiles, active })
            }
            SavedTile::Row(all) => parts(all).map(SavedTile::Row),
            SavedTile::Column(all) => parts(all).map(SavedTile::Column),
        }
    }
}

/// A layout with movable panels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DockLayout {
    /// All panels.
    pub root: SavedTile,
    /// Those that are hidden.
    pub hidden: Vec<PanelId>,
}

impl DockLayout {
    /// Returns the layout, or `None` if it is not one: each panel must be there once, with a size.
    fn sound(mut self) -> Option<DockLayout> {
        let mut panels = self.root.panels();
        panels.sort_unstable();
        let is_sound = panels == sorted(PanelId::ALL) && self.root.has_sound_shares();
        self.hidden.retain(|panel| *panel != PanelId::Methods);
        is_sound.then_some(self)
    }

    /// Moves a panel to an edge of the window and shows it there.
    pub fn move_to(&mut self, panel: PanelId, side: Side) {
        self.hidden.retain(|hidden| *hidden != panel);
        let Some(rest) = self.root.clone().without(panel) else { return };
        let (moved, rest) = (SavedPart::tabs(1.0, &[panel]), SavedPart { share: 3.0, tile: rest });
        self.root = match side {
            Side::Left => SavedTile::Row(vec![moved, rest]),
            Side::Right => SavedTile::Row(vec![rest, moved]),
            Side::Bottom => SavedTile::Column(vec![rest, moved]),
        };
    }
}

fn sorted(mut panels: [PanelId; 9]) -> Vec<PanelId> {
    panels.sort_unstable();
    panels.to_vec()
}

/// Which panels the standard layout shows, and how large they are, in points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StandardLayout {
    /// Whether the process list is shown.
    pub processes_open: bool,
    /// Whether the details are shown where there is room.
    pub details_open: bool,
    /// Whether the log is shown.
    pub log_open: bool,
    /// Whether the panel below the methods is shown.
    pub events_open: bool,
    /// Its tab.
    pub lower_tab: LowerTab,
    /// The width of the process list.
    pub processes_width: Option<f32>,
    /// The width of the details.
    pub detail_width: Option<f32>,
    /// The height of the log.
    pub log_height: Option<f32>,
    /// The height of the panel below the methods.
    pub events_height: Option<f32>,
    /// The width of the selected call there.
    pub call_width: Option<f32>,
}

impl Default for StandardLayout {
    fn default() -> Self {
        StandardLayout {
            processes_open: true,
            details_open: true,
            log_open: true,
            events_open: false,
            lower_tab: LowerTab::Events,
            processes_width: None,
            detail_width: None,
            log_height: None,
            events_height: None,
            call_width: None,
        }
    }
}

/// A layout that the user saved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedLayout {
    /// Its name.
    pub name: String,
    /// The standard layout then.
    pub standard: StandardLayout,
    /// The movable panels, if they were movable.
    pub dock: Option<DockLayout>,
}

/// The current layout, and the saved ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Layouts {
    /// Whether panels are movable; otherwise the standard layout is shown.
    pub movable: bool,
    /// The layout with movable panels, as last shown.
    pub dock: Option<DockLayout>,
    /// Saved layouts, in the order in which they were saved.
    pub named: Vec<NamedLayout>,
    /// How many layouts of the file could not be used.
    #[serde(skip)]
    pub dropped: usize,
}

impl Layouts {
    /// Returns a saved layout.
    pub fn get(&self, name: &str) -> Option<&NamedLayout> {
        self.named.iter().find(|layout| layout.name == name)
    }

    /// Saves a layout, in place of one with the same name.
    ///
    /// # Errors
    /// Why it is not saved.
    pub fn save(&mut self, layout: NamedLayout) -> Result<(), &'static str> {
        if layout.name.trim().is_empty() || layout.name.chars().count() > NAME {
            return Err("a layout needs a name of at most 60 characters");
        }
        let is_full = self.named.len() >= NAMED;
        match self.named.iter_mut().find(|one| one.name == layout.name) {
            Some(one) => *one = layout,
            None if is_full => return Err("50 layouts are saved already: delete one first"),
            None => self.named.push(layout),
        }
        Ok(())
    }

    /// Deletes a saved layout.
    pub fn delete(&mut self, name: &str) {
        self.named.retain(|layout| layout.name != name);
    }
}

/// Reads what can be read and counts the rest: a damaged layout must not cost the other settings.
impl<'de> Deserialize<'de> for Layouts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Layouts, D::Error> {
        let mut layouts = Layouts::default();
        let Value::Object(mut value) = Value::deserialize(deserializer)? else {
            return Ok(Layouts { dropped: 1, ..layouts });
        };
        match value.remove("dock") {
            None | Some(Value::Null) => {}
            Some(dock) => match serde_json::from_value(dock).ok().and_then(DockLayout::sound) {
                Some(dock) => layouts.dock = Some(dock),
                None => layouts.dropped += 1,
            },
        }
        layouts.movable = match value.remove("movable") {
            None => false,
            Some(Value::Bool(movable)) => movable && layouts.dock.is_some(),
            Some(_) => {
                layouts.dropped += 1;
                false
            }
        };
        let named = match value.remove("named") {
            None => Vec::new(),
            Some(Value::Array(named)) => named,
            Some(_) => {
                layouts.dropped += 1;
                Vec::new()
            }
        };
        for layout in named {
            let layout: Option<NamedLayout> = serde_json::from_value(layout).ok();
            let layout = layout.and_then(|layout| match layout.dock {
                None => Some(layout),
                Some(dock) => dock.sound().map(|dock| NamedLayout { dock: Some(dock), ..layout }),
            });
            if layout.is_none_or(|layout| layouts.save(layout).is_err()) {
                layouts.dropped += 1;
            }
        }
        Ok(layouts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> DockLayout {
        let row = vec![
            SavedPart::tabs(1.0, &[PanelId::Processes]),
            SavedPart::tabs(3.0, &[PanelId::Methods]),
            SavedPart::tabs(1.0, &[PanelId::Details]),
        ];
        let lower = [PanelId::Events, PanelId::Timeline, PanelId::Calls, PanelId::Charts, PanelId::Code];
        let column = vec![
            SavedPart { share: 3.0, tile: SavedTile::Row(row) },
            SavedPart::tabs(1.0, &lower),
            SavedPart::tabs(0.5, &[PanelId::Log]),
        ];
        DockLayout { root: SavedTile::Column(column), hidden: vec![PanelId::Code] }
    }

    fn read(value: Value) -> Layouts {
        serde_json::from_value(value).expect("never an error")
    }

    #[test]
    fn reads_saved_layouts_back() {
        let named =
            |name: &str, dock| NamedLayout { name: name.into(), standard: StandardLayout::default(), dock };
        let layouts = Layouts {
            movable: true,
            dock: Some(all()),
            named: vec![named("mine", Some(all())), named("plain", None)],
            dropped: 0,
        };
        assert_eq!(read(serde_json::to_value(&layouts).expect("JSON")), layouts);
    }

    #[test]
    fn drops_a_damaged_layout_and_keeps_the_others() {
        let good = serde_json::to_value(NamedLayout {
            name: "good".into(),
            standard: StandardLayout::default(),
            dock: Some(all()),
        })
        .expect("JSON");
        let mut without_log = all();
        without_log.root = without_log.root.without(PanelId::Log).expect("others");
        let mut twice = all();
        twice.root = SavedTile::Row(vec![
            SavedPart { share: 1.0, tile: twice.root },
            SavedPart::tabs(1.0, &[PanelId::Log]),
        ]);
        let mut flat = all();
        flat.root = SavedTile::Row(vec![SavedPart { share: 0.0, tile: flat.root }]);
        for bad in [without_log, twice, flat] {
            let bad = serde_json::to_value(bad).expect("JSON");
            let layouts =
                read(serde_json::json!({ "movable": true, "dock": bad, "named": [good, { "name": 3 }] }));
            assert_eq!((layouts.movable, layouts.dock.is_none(), layouts.dropped), (false, true, 2));
            assert_eq!(layouts.named.len(), 1);
        }
        for bad in
            [serde_json::json!(7), serde_json::json!({ "named": {} }), serde_json::json!({ "dock": "left" })]
        {
            assert_eq!(read(bad), Layouts { dropped: 1, ..Layouts::default() });
        }
    }

    #[test]
    fn moving_keeps_every_panel_once() {
        let mut layout = all();
        for panel in PanelId::ALL {
            for side in Side::ALL {
                layout.move_to(panel, side);
                assert!(!layout.hidden.contains(&panel));
                layout = layout.sound().expect("a whole layout");
            }
        }
    }

    #[test]
    fn layouts_need_a_name_and_room() {
        let named = |name: String| NamedLayout { name, standard: StandardLayout::default(), dock: None };
        let mut layouts = Layouts::default();
        assert!(layouts.save(named(" ".into())).is_err() && layouts.save(named("x".repeat(61))).is_err());
        for number in 0..NAMED {
            assert_eq!(layouts.save(named(number.to_string())), Ok(()));
        }
        assert!(layouts.save(named("one more".into())).is_err());
        assert_eq!(layouts.save(named("7".into())), Ok(()), "it replaces the other");
        layouts.delete("7");
        assert_eq!((layouts.named.len(), layouts.get("7")), (NAMED - 1, None));
    }
}
