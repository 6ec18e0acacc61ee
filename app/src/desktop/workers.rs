//! The threads that own pipes, as the window speaks to them.

use crate::model::ids::{ConnectionId, Ticket};
use crate::model::turns::Turn;
use crate::model::update::Update;
use crate::views::launch::Plan;
use eframe::egui;
use redial_protocol::ids::ProcessKey;

pub struct Workers { pub queue: std::collections::VecDeque<Update> }
impl Workers {
    pub fn start(_context: &egui::Context, _scan: bool) -> Workers { Workers { queue: Default::default() } }
    pub fn next(&mut self) -> Option<Update> { self.queue.pop_front() }
    pub fn connect(&mut self, _id: ConnectionId, _process: ProcessKey) {}
    pub fn reconnect(&mut self, _id: ConnectionId, _process: ProcessKey) {}
    pub fn close(&mut self, _id: ConnectionId) {}
    pub fn turn(&mut self, _turn: Turn) {}
    pub fn all_off(&mut self, _id: ConnectionId, _ticket: Ticket) {}
    pub fn launch(&mut self, _ticket: Ticket, _plan: Plan) {}
    pub fn stop(&mut self) {}
}
