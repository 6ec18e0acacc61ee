//! `il` as JSON.

use super::fields::{module_id, token};
use crate::method_source::SourceInfo;
use redial_protocol::ids::CopyKey;
use redial_protocol::il::{IlBody, IlClause, IlClauseKind, IlLine, IlSource};
use serde::{Serialize, Serializer};
use std::collections::HashMap;

/// A method's IL.
#[derive(Debug, Serialize)]
pub struct IlJson<'a> {
    pid: u32,
    module: &'a str,
    module_id: String,
    token: String,
    method: &'a str,
    signature: &'a str,
    /// `original`, `handed-over` or `would-be`.
    source: &'static str,
    maxstack: u16,
    init_locals: bool,
    locals: &'a [String],
    locals_left_out: u32,
    code_size: u32,
    clauses: Vec<ClauseJson<'a>>,
    clauses_left_out: u32,
    instructions: InstructionsJson<'a>,
    /// Where the method begins, if its PDB was found.
    file: Option<&'a str>,
    line: Option<u32>,
    pdb: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct ClauseJson<'a> {
    /// `catch`, `filter`, `finally` or `fault`.
    kind: &'static str,
    class: Option<&'a str>,
    token: Option<String>,
    filter_start: Option<u32>,
    try_start: u32,
    try_end: u32,
    handler_start: u32,
    handler_end: u32,
}

/// Instructions, made one by one as they are written.
#[derive(Debug)]
struct InstructionsJson<'a>(&'a [IlLine], HashMap<u32, u32>);

impl Serialize for InstructionsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|line| InstructionJson {
            offset: line.offset,
            opcode: &line.opcode,
            operand: line.operand.as_deref(),
            token: line.token.map(token),
            targets: &line.targets,
            inserted: line.inserted,
            line: self.1.get(&line.offset).copied(),
        }))
    }
}

#[derive(Debug, Serialize)]
struct InstructionJson<'a> {
    offset: u32,
    opcode: &'a str,
    operand: Option<&'a str>,
    token: Option<String>,
    targets: &'a [u32],
    inserted: bool,
    /// Line in the source; absent in an instrumented body and without a PDB.
    line: Option<u32>,
}

/// Returns the JSON value for a body's source.
fn source_word(source: IlSource) -> &'static str {
    match source {
        IlSource::Original => "original",
        IlSource::Installed => "handed-over",
        IlSource::Preview => "would-be",
    }
}

impl<'a> IlJson<'a> {
    /// Makes the object for a method of process `pid`. `names` are its assembly, method and parameters.
    pub fn new(
        pid: u32,
        copy: CopyKey,
        (module, method, signature): (&'a str, &'a str, &'a str),
        (body, lines): (&'a IlBody, &'a [IlLine]),
        source: &'a SourceInfo,
    ) -> Self {
        IlJson {
            pid,
            module,
            module_id: module_id(copy.module),
            token: token(copy.token.0),
            method,
            signature,
            source: source_word(body.source),
            maxstack: body.max_stack,
            init_locals: body.init_locals,
            locals: &body.locals,
            locals_left_out: body.more_locals,
            code_size: body.code_size,
            clauses: body.clauses.iter().map(ClauseJson::from).collect(),
            clauses_left_out: body.more_clauses,
            instructions: InstructionsJson(lines, source.lines(body, lines)),
            file: source.start().map(|(file, _)| file),
            line: source.start().map(|(_, line)| line),
            pdb: source.pdb(),
        }
    }
}

impl<'a> From<&'a IlClause> for ClauseJson<'a> {
    fn from(clause: &'a IlClause) -> Self {
        let (kind, class, of, filter_start) = match &clause.kind {
            IlClauseKind::Catch { class, token: of } => {
                ("catch", Some(class.as_str()), Some(token(*of)), None)
            }
            IlClauseKind::Filter { start } => ("filter", None, None, Some(*start)),
            IlClauseKind::Finally => ("finally", None, None, None),
            IlClauseKind::Fault => ("fault", None, None, None),
        };
        ClauseJson {
            kind,
            class,
            token: of,
            filter_start,
            try_start: clause.try_start,
            try_end: clause.try_end,
            handler_start: clause.handler_start,
            handler_end: clause.handler_end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::ids::{MethodToken, ModuleKey};
    use serde_json::json;

    #[test]
    fn fields_are_as_documented() {
        let copy = CopyKey {
            module: ModuleKey { module_id: 0x7f10, generation: 1 },
            token: MethodToken(0x0600_0012),
        };
        let body = IlBody {
            source: IlSource::Installed,
            max_stack: 3,
            init_locals: true,
            local_sig: 0x1100_0001,
            locals: vec!["int".into()],
            more_locals: 0,
            code_size: 9,
            clauses: vec![IlClause {
                kind: IlClauseKind::Catch { class: "System.Exception".into(), token: 0x0100_0002 },
                try_start: 0,
                try_end: 2,
                handler_start: 2,
                handler_end: 4,
            }],
            more_clauses: 0,
            lines: 1,
        };
        let line = IlLine {
            offset: 4,
            opcode: "br.s".into(),
            operand: None,
            token: None,
            targets: vec![9],
            inserted: true,
        };
        let names = ("Shop", "Shop.Cart.Add", "(int)");
        assert_eq!(
            serde_json::to_value(IlJson::new(7, copy, names, (&body, &[line]), &SourceInfo::NoFile))
                .expect("JSON"),
            json!({
                "pid": 7, "module": "Shop", "module_id": "0x7f10", "token": "0x06000012",
                "method": "Shop.Cart.Add", "signature": "(int)", "source": "handed-over", "maxstack": 3,
                "init_locals": true, "locals": ["int"], "locals_left_out": 0, "code_size": 9,
                "clauses": [{
                    "kind": "catch", "class": "System.Exception", "token": "0x01000002", "filter_start": null,
                    "try_start": 0, "try_end": 2, "handler_start": 2, "handler_end": 4,
                }],
                "clauses_left_out": 0,
                "instructions": [{
                    "offset": 4, "opcode": "br.s", "operand": null, "token": null, "targets": [9], "inserted": true,
                    "line": null,
                }],
                "file": null, "line": null, "pdb": null,
            })
        );
    }
}
