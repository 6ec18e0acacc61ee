//! Icons of commands, where one says more than the name alone.

use super::UiCommand;
use crate::settings::LowerTab;
use crate::settings::ThemeChoice;
use crate::ui::icons::Icon;
use redial_protocol::level::Level;

impl UiCommand {
    /// Returns the command's icon.
    pub fn icon(&self) -> Option<Icon> {
        Some(match self {
            UiCommand::AllOff | UiCommand::TurnTo(Level::Off) => Icon::PowerOff,
            UiCommand::ToggleSelected => Icon::Power,
            UiCommand::TurnUp => Icon::ArrowUp,
            UiCommand::TurnDown => Icon::ArrowDown,
            UiCommand::TurnTo(Level::Count) => Icon::Hash,
            UiCommand::TurnTo(Level::Time) => Icon::Timer,
            UiCommand::TurnTo(Level::Trace) => Icon::ScrollText,
            UiCommand::FindHot => Icon::Flame,
            UiCommand::CancelHot | UiCommand::Stop => Icon::Square,
            UiCommand::Undo | UiCommand::UndoOfAnyone | UiCommand::UndoOfBudget(_) => Icon::Undo2,
            UiCommand::Redo => Icon::Redo2,
            UiCommand::DialSets => Icon::Layers,
            UiCommand::Budget => Icon::Gauge,
            UiCommand::TakeControl => Icon::Hand,
            UiCommand::Agent => Icon::History,
            UiCommand::Back => Icon::ArrowLeft,
            UiCommand::Forward => Icon::ArrowRight,
            UiCommand::FocusFilter => Icon::Search,
            UiCommand::ClearFilter | UiCommand::ClearEvents | UiCommand::ClearLines(_) => Icon::Eraser,
            UiCommand::Pin => Icon::Pin,
            UiCommand::SortAgain | UiCommand::Reconnect => Icon::RefreshCw,
            UiCommand::SelectAll => Icon::CheckCheck,
            UiCommand::Copy(_) | UiCommand::CopyEvent(_) => Icon::Copy,
            UiCommand::Events => Icon::List,
            UiCommand::Lower(LowerTab::Timeline) | UiCommand::ShowInTimeline => Icon::Clock,
            UiCommand::Lower(LowerTab::Calls) => Icon::ListTree,
            UiCommand::Lower(LowerTab::Charts) => Icon::ChartLine,
            UiCommand::Lower(LowerTab::Code) => Icon::CodeXml,
            UiCommand::Launch => Icon::Play,
            UiCommand::StartDemo => Icon::CirclePlay,
            UiCommand::SetUp => Icon::Terminal,
            UiCommand::Attach => Icon::Plug,
            UiCommand::Disconnect => Icon::Unplug,
            UiCommand::SaveSession => Icon::Save,
            UiCommand::OpenSession => Icon::FolderOpen,
            UiCommand::CompareSession => Icon::GitCompare,
            UiCommand::Quit => Icon::LogOut,
            UiCommand::ProcessList => Icon::PanelLeft,
            UiCommand::Details => Icon::PanelRight,
            UiCommand::Log => Icon::PanelBottom,
            UiCommand::Columns => Icon::Columns3,
            UiCommand::ResetColumns | UiCommand::ResetLayout | UiCommand::ZoomReset => Icon::RotateCcw,
            UiCommand::MovablePanels | UiCommand::Layouts => Icon::LayoutDashboard,
            UiCommand::Theme(ThemeChoice::Dark) => Icon::Moon,
            UiCommand::Theme(ThemeChoice::Light) => Icon::Sun,
            UiCommand::Theme(ThemeChoice::System) => Icon::Monitor,
            UiCommand::Compact => Icon::Rows4,
            UiCommand::ZoomIn => Icon::ZoomIn,
            UiCommand::ZoomOut => Icon::ZoomOut,
            UiCommand::Palette => Icon::Command,
            UiCommand::Keys => Icon::Keyboard,
            _ => return None,
        })
    }
}
