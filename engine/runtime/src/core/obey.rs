//! What the coordinator asks of a core.
//!
//! Threading: belongs to one core. Errors: failures of user code are reported like those of a slice.

use crate::api::bolt::CoreBolt;
use crate::core::Core;
use crate::core::bolt_executor::BoltExecutor;
use crate::core::link::OpenFrame;
use crate::core::spout_executor::SpoutExecutor;
use crate::core::status::{Command, Event};
use crate::core::transfer::Transfer;
use crate::core::turn::{enter, leave};

impl Core {
    pub(super) fn obey(&mut self) {
        for command in self.commands.take() {
            match command {
                Command::Activate => self.each_spout(|spout| spout.set_active(true)),
                Command::Deactivate => self.each_spout(|spout| spout.set_active(false)),
                Command::AskForReplays => self.each_spout(SpoutExecutor::ask_for_replays),
                // That there was a command ends the turn as one with work.
                Command::EndTurn => {}
                Command::StopTicks => {
                    self.bolts.iter_mut().for_each(|bolt| bolt.tick = None);
                    self.update_ticks();
                    self.update_deadline();
                }
                Command::ReportIdle => {
                    self.report_idle = true;
                    self.idle_reported = false;
                }
                Command::Finish { component } => {
                    self.each_bolt(|bolt, transfer| {
                        if bolt.component_number == component {
                            bolt.each_task(transfer, "finish", |bolt, _, out| bolt.finish(out), false);
                        }
                    });
                    self.end_turn(OpenFrame::Go);
                    self.report_failures();
                    self.show_numbers();
                    self.send_event(Event::Finished { core: self.index, component });
                }
                Command::Attach { peer, socket, received } => {
                    if let Some(sockets) = &mut self.transfer.sockets {
                        sockets.attach(peer, socket, &received);
                    }
                    self.come_back(peer);
                }
                Command::Forget { worker, peers } => self.forget(worker, &peers),
                Command::GiveUp { worker, peers } => self.give_up(worker, &peers),
                Command::Rewire { blueprint, new_peers, together } => {
                    self.rewire(&blueprint, &new_peers);
                    together.wait_for_all();
                }
                Command::TakeVersion { version } => {
                    if let Some(sockets) = &mut self.transfer.sockets {
                        sockets.set_assignment_version(version);
                    }
                }
                Command::AcceptVersion { version } => {
                    if let Some(sockets) = &mut self.transfer.sockets {
                        sockets.accept_version(version);
                    }
                }
                Command::Snapshot(reply) => {
                    let _ = reply.send(self.snapshot());
                }
                Command::Figures(reply) => {
                    let _ = reply.send(self.figures());
                }
                Command::Stop { orderly } => {
                    if orderly {
                        self.each_spout(SpoutExecutor::close);
                        self.each_bolt(|bolt, transfer| {
                            let cleanup = |bolt: &mut dyn CoreBolt| {
                                bolt.cleanup();
                                Ok(())
                            };
                            bolt.each_task(transfer, "cleanup", |bolt, _, _| cleanup(bolt), false);
                        });
                    }
                    self.each_spout(SpoutExecutor::drop_tasks);
                    self.each_bolt(|bolt, _| bolt.drop_tasks());
                    self.report_failures();
                    self.stopping = true;
                }
            }
        }
    }

    /// Lets every spout executor do something that is not a slice, so that it can be named if it stays there.
    pub(super) fn each_spout(&mut self, mut call: impl FnMut(&mut SpoutExecutor)) {
        for spout in &mut self.spouts {
            enter(&self.status, spout.component_number, crate::clock::now_ns());
            call(spout);
            leave(&self.status);
        }
    }

    /// As [`Core::each_spout`].
    pub(super) fn each_bolt(&mut self, mut call: impl FnMut(&mut BoltExecutor, &mut Transfer)) {
        for bolt in &mut self.bolts {
            enter(&self.status, bolt.component_number, crate::clock::now_ns());
            call(bolt, &mut self.transfer);
            leave(&self.status);
        }
    }
}
