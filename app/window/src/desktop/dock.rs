//! Movable panels: the tree of areas that holds them, and its conversion from and to saved layouts.

use crate::settings::layouts::{DockLayout, PanelId, SavedPart, SavedTile};
use eframe::egui::Id;
use egui_tiles::{Container, Linear, LinearDir, SimplificationOptions, Tabs, Tile, TileId, Tiles, Tree};

/// Simplifications of the tree: every panel has a tab, and an area with a single other one is replaced by it.
pub(super) const SIMPLE: SimplificationOptions = SimplificationOptions {
    all_panes_must_have_tabs: true,
    flatten_tabs_in_tabs: true,
    prune_empty_tabs: true,
    prune_empty_containers: true,
    prune_single_child_tabs: true,
    prune_single_child_containers: true,
    join_nested_linear_containers: true,
};

/// The panels and their places.
pub(super) struct Dock {
    pub(super) tree: Tree<PanelId>,
}

impl Dock {
    /// Returns the panels of a layout.
    pub fn new(layout: &DockLayout) -> Dock {
        let mut tiles = Tiles::default();
        let root = insert(&mut tiles, &layout.root);
        let mut dock = Dock { tree: Tree::new(Id::unique("dock"), root, tiles) };
        dock.tree.simplify(&SIMPLE);
        layout.hidden.iter().for_each(|panel| dock.set_visible(*panel, false));
        dock
    }

    /// Returns the layout.
    pub fn layout(&self) -> Option<DockLayout> {
        let root = saved(&self.tree.tiles, self.tree.root()?)?;
        let is_hidden = |panel: &PanelId| self.tile(*panel).is_some_and(|tile| !self.tree.is_visible(tile));
        Some(DockLayout { root, hidden: PanelId::ALL.into_iter().filter(is_hidden).collect() })
    }

    /// Returns whether a panel is on screen.
    pub fn shows(&self, panel: PanelId) -> bool {
        let active = self.tree.active_tiles();
        self.tile(panel).is_some_and(|tile| active.contains(&tile))
    }

    /// Shows a panel, in front of others in the same place.
    pub fn show(&mut self, panel: PanelId) {
        self.set_visible(panel, true);
        let tile = self.tile(panel);
        self.tree.make_active(|id, _| Some(id) == tile);
    }

    /// Hides a panel.
    pub fn hide(&mut self, panel: PanelId) {
        self.set_visible(panel, panel == PanelId::Methods);
    }

    fn tile(&self, panel: PanelId) -> Option<TileId> {
        self.tree.tiles.find_pane(&panel)
    }

    fn set_visible(&mut self, panel: PanelId, visible: bool) {
        if let Some(tile) = self.tile(panel) {
            self.tree.set_visible(tile, visible);
        }
    }
}

fn insert(tiles: &mut Tiles<PanelId>, tile: &SavedTile) -> TileId {
    let mut linear = |dir, parts: &[SavedPart]| {
        let children: Vec<TileId> = parts.iter().map(|part| insert(tiles, &part.tile)).collect();
        let mut linear = Linear::new(dir, children.clone());
        // A panel dropped here gets a share of 1, so that is the mean.
        let mean = parts.iter().map(|part| part.share).sum::<f32>() / parts.len().max(1) as f32;
        let shares = children.into_iter().zip(parts);
        shares.for_each(|(child, part)| linear.shares.set_share(child, part.share / mean));
        tiles.insert_container(Container::Linear(linear))
    };
    match tile {
        SavedTile::Panel(panel) => tiles.insert_pane(*panel),
        SavedTile::Row(parts) => linear(LinearDir::Horizontal, parts),
        SavedTile::Column(parts) => linear(LinearDir::Vertical, parts),
        SavedTile::Tabs { tiles: tabs, active } => {
            let children: Vec<TileId> = tabs.iter().map(|tab| insert(tiles, tab)).collect();
            let active = children.get(*active).copied();
            let mut tabs = Tabs::new(children);
            tabs.active = active.or(tabs.active);
            tiles.insert_container(Container::Tabs(tabs))
        }
    }
}

fn saved(tiles: &Tiles<PanelId>, id: TileId) -> Option<SavedTile> {
    let all = |children: &[TileId]| {
        children.iter().filter_map(|child| Some((*child, saved(tiles, *child)?))).collect()
    };
    Some(match tiles.get(id)? {
        Tile::Pane(panel) => SavedTile::Panel(*panel),
        Tile::Container(Container::Tabs(tabs)) => {
            let children: Vec<(TileId, SavedTile)> = all(&tabs.children);
            let active = children.iter().position(|(child, _)| tabs.is_active(*child)).unwrap_or(0);
            SavedTile::Tabs { tiles: children.into_iter().map(|(_, tile)| tile).collect(), active }
        }
        Tile::Container(Container::Linear(linear)) => {
            let children: Vec<(TileId, SavedTile)> = all(&linear.children);
            let sum: f32 = children.iter().map(|(child, _)| linear.shares[*child].max(1e-3)).sum();
            let part = |(child, tile): (TileId, SavedTile)| SavedPart {
                // Rounded, so that the same place is the same number again when it is read back.
                share: (linear.shares[child].max(1e-3) / sum * 1e4).round().max(1.0) / 1e4,
                tile,
            };
            let parts = children.into_iter().map(part).collect();
            match linear.dir {
                LinearDir::Horizontal => SavedTile::Row(parts),
                LinearDir::Vertical => SavedTile::Column(parts),
            }
        }
        // Nothing makes a grid; its panels would stand below each other.
        Tile::Container(Container::Grid(grid)) => {
            let children: Vec<TileId> = grid.children().copied().collect();
            let children: Vec<(TileId, SavedTile)> = all(&children);
            SavedTile::Column(children.into_iter().map(|(_, tile)| SavedPart { share: 1.0, tile }).collect())
        }
    })
}
