//! Controllers of other versions at a live host: a clear refusal that names both versions, and nothing else changes.
//! The frozen messages work between all versions.

use anyhow::{Context, Result, bail, ensure};
use redial_protocol::PROTOCOL_VERSION;
use redial_protocol::frozen::ClientHello;
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_BAD_FRAMES;
use redial_protocol::message::WireCommand;
use redial_protocol::packet::{AgentPacket, ControllerPacket};
use redial_testbed::controller::{Controller, Lifetime};
use redial_testbed::runtimes::Runtime;
use redial_testbed::target_host::{RawClient, TargetHost};
use redial_testbed::{on_each_runtime, programs, truth};

on_each_runtime!(other_versions_are_refused_in_words);

const ADD: &str = "Shop!Shop.Cart.Add(int)";
const VERSIONS: [u32; 5] = [PROTOCOL_VERSION - 1, PROTOCOL_VERSION + 1, 0, u32::MAX, u32::MAX / 2];
/// The version that the foreign controllers report.
const THEIRS: &str = "77.1";
/// A request, and a variant of its command that no version has.
const UNKNOWN_TAG: [u8; 3] = [0x10, 1, 250];
/// A kind of message that no version has.
const UNKNOWN_KIND: [u8; 2] = [0x6f, 1];

fn other_versions_are_refused_in_words(runtime: Runtime) -> Result<()> {
    let mut command = programs::shop()?.command(runtime)?;
    command.args(["--live", "--threads", "2"]);
    let mut host = TargetHost::start(command)?;
    let mut own = host.live.controller()?;
    own.dial(ADD, Level::Count, Lifetime::Kept)?;
    let before = own.row(ADD)?.calls;
    host.live.host.ask("truth-reset", "reset")?;

    let mut others = VERSIONS.iter().map(|version| join(&host, *version)).collect::<Result<Vec<_>>>()?;
    for (version, other) in VERSIONS.into_iter().zip(&mut others) {
        ensure_refused(other, version).with_context(|| format!("version {version}"))?;
    }
    let mut stranger = host.connect()?;
    stranger.hello()?;
    for _ in 0..MAX_BAD_FRAMES {
        stranger.body(&UNKNOWN_TAG);
    }
    stranger.ensure_closed().context("unknown tags of the own version")?;

    host.live.host.ask("round 20", "done")?;
    ensure_exact(&mut host, &mut own, before)?;
    for (version, other) in VERSIONS.into_iter().zip(&mut others) {
        own.dial(ADD, Level::Count, Lifetime::Kept)?;
        host.live.host.ask("round 1", "done")?;
        other.send(&ControllerPacket::AllOff)?;
        match other.packet()? {
            Some(AgentPacket::AllOffDone { reverted: 1, remaining: 0, .. }) => {}
            done => bail!("all off of version {version} was answered with {done:?}"),
        }
        ensure!(own.row(ADD)?.wanted == Level::Off, "it is still on after version {version}");
    }
    let status = own.agent_status()?;
    ensure!(status.guard_trips == 0, "{status:?}");
    ensure!(host.live.host.is_running()?);
    Ok(())
}

/// Connects with another protocol. The hello works between all versions.
fn join(host: &TargetHost, protocol: u32) -> Result<RawClient> {
    let mut client = host.connect()?;
    let hello = ClientHello { protocol, program: "other".into(), version: THEIRS.into(), pid: 1 };
    client.send(&ControllerPacket::Hello(hello))?;
    match client.packet()? {
        Some(AgentPacket::Hello(facts)) if facts.protocol == PROTOCOL_VERSION => Ok(client),
        answer => bail!("the hello of version {protocol} was answered with {answer:?}"),
    }
}

/// Checks that requests of any form are refused with a sentence that names both versions, and that the status works.
fn ensure_refused(client: &mut RawClient, protocol: u32) -> Result<()> {
    client.ask(1, WireCommand::AgentStatus)?;
    client.body(&UNKNOWN_TAG);
    for _ in 0..2 {
        match client.packet()? {
            Some(AgentPacket::VersionRefused { agent_protocol, agent_version, message }) => {
                ensure!(agent_protocol == PROTOCOL_VERSION && agent_version == env!("CARGO_PKG_VERSION"));
                let both =
                    [format!("protocol {protocol},"), format!("protocol {PROTOCOL_VERSION};"), THEIRS.into()];
                ensure!(both.iter().all(|part| message.contains(part)), "{message}");
                ensure!(message.contains(env!("CARGO_PKG_VERSION")), "{message}");
            }
            answer => bail!("a request was answered with {answer:?}"),
        }
    }
    client.body(&UNKNOWN_KIND);
    client.send(&ControllerPacket::Status)?;
    match client.packet()? {
        Some(AgentPacket::Status(facts)) => ensure!(facts.kept == 1, "{facts:?}"),
        answer => bail!("a status was answered with {answer:?}"),
    }
    Ok(())
}

/// Checks that the count of the session of the own version is exact.
fn ensure_exact(host: &mut TargetHost, own: &mut Controller, before: u64) -> Result<()> {
    let calls = truth::ask(&mut host.live.host, "truth")?;
    let expected = *calls.get("Shop.Cart.Add(int)").context("Shop knows Cart.Add(int)")?;
    let row = own.row(ADD)?;
    ensure!(expected > 0 && row.calls - before == expected, "{} of {expected}", row.calls - before);
    Ok(())
}
