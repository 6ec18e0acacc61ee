//! A real single-file program on .NET 10: a server that speaks JSON-RPC in lines.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::host::Host;
use crate::runtimes::{self, Runtime};

/// Matches a module of the program.
pub const DOCS: &str = "Fabric.Mcp.Tools.Docs!*";
/// Each is called once by [`Server::best_practices`].
pub const CALLED_ONCE: [&str; 3] = [
    "*!Fabric.Mcp.Tools.Docs.Commands.BestPractices.GetBestPracticesCommand.ExecuteAsync",
    "*!Fabric.Mcp.Tools.Docs.Services.FabricPublicApiService.GetTopicBestPractices",
    "*!Fabric.Mcp.Tools.Docs.Services.EmbeddedResourceProviderService.GetEmbeddedResource",
];

/// The server, with one request at a time.
#[derive(Debug)]
pub struct Server {
    /// Its process.
    pub host: Host,
    last_id: u32,
}

impl Server {
    /// Starts `command`, usually [`command`].
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn start(command: Command) -> Result<Self> {
        Ok(Self { host: Host::start(command)?, last_id: 0 })
    }

    /// Sends a request and returns the answer's line, which ends with the id.
    ///
    /// # Errors
    /// When the server ends, or answers another request.
    pub fn ask(&mut self, method: &str, params: &Value) -> Result<String> {
        self.last_id += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params});
        self.host.say(&request.to_string())?;
        let line = self.host.next_line()?;
        let answer: Value = serde_json::from_str(&line).with_context(|| format!("no JSON: {line:?}"))?;
        ensure!(answer["id"] == self.last_id, "{method} {}: {line}", self.last_id);
        Ok(line)
    }

    /// Begins the conversation.
    ///
    /// # Errors
    /// Fails like [`Server::ask`].
    pub fn initialize(&mut self) -> Result<String> {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": client});
        let answer = self.ask("initialize", &params)?;
        self.host.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string())?;
        Ok(answer)
    }

    /// Asks for a document, which calls each of [`CALLED_ONCE`].
    ///
    /// # Errors
    /// Fails like [`Server::ask`].
    pub fn best_practices(&mut self) -> Result<String> {
        self.call("docs_best-practices", &json!({"topic": "pagination"}))
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// Fails like [`Server::ask`].
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Result<String> {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Gets one of each kind of answer: a long list, documents, errors.
    ///
    /// # Errors
    /// Fails like [`Server::ask`].
    pub fn conversation(&mut self) -> Result<Vec<String>> {
        Ok(vec![
            self.ask("tools/list", &json!({}))?,
            self.best_practices()?,
            self.call("docs_list-item-types", &json!({}))?,
            self.call("docs_best-practices", &json!({"topic": "no such topic"}))?,
            self.call("no_such_tool", &json!({}))?,
            self.ask("no/such/method", &json!({}))?,
            self.ask("ping", &json!({}))?,
        ])
    }

    /// Gives the next request the number of the last one, to compare answers with those of another server.
    pub fn reuse_last_id(&mut self) {
        self.last_id -= 1;
    }

    /// Ends the server by closing its input, and returns its standard error.
    ///
    /// # Errors
    /// When it does not end with code 0.
    pub fn finish(mut self) -> Result<String> {
        self.host.close_input();
        let outcome = self.host.finish()?;
        ensure!(outcome.code()? == 0, "{}", outcome.output());
        Ok(outcome.stderr)
    }
}

/// Returns the command of the server, without an agent.
///
/// # Errors
/// When the program cannot be fetched.
pub fn command() -> Result<Command> {
    let mut command = Command::new(runtimes::single_file_program()?);
    command.args(["server", "start", "--mode", "all"]);
    Runtime::V8_0.settle_environment(&mut command);
    // Otherwise it sends telemetry to its makers.
    command.env("AZURE_MCP_COLLECT_TELEMETRY", "false");
    Ok(command)
}

/// Returns an answer without the number of its request.
pub fn without_id(answer: &str) -> &str {
    answer.rsplit_once("\"id\":").map_or(answer, |(content, _)| content)
}
