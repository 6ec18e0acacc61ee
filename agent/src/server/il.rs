//! Lists a method's IL line by line, original or instrumented.
//!
//! Copies the body while its module cannot unload, decodes it without any lock, and names its tokens some thousand
//! lines at a time: a thread that unloads the module never waits for more than that.
#![forbid(unsafe_code)]

use super::session::Session;
use crate::catalogue::Module;
use crate::catalogue::names::ModuleNames;
use crate::catalogue::self_recursion::ends_in_itself;
use crate::catalogue::tokens::{Scope, Tokens};
use crate::clr::metadata::{Import, MethodDef};
use crate::context::Context;
use crate::il::{self, Body, Clause, ClauseKind, Instruction, Label, Operand, Rewritten};
use crate::instrument::instrumented_body;
use crate::rejit::scan;
use redial_protocol::diagnostics::{Limit, Unsupported};
use redial_protocol::ids::CopyKey;
use redial_protocol::il::{IlBody, IlClause, IlClauseKind, IlLine, IlPage, IlSource};
use redial_protocol::limits::{IL_LINES_PER_PAGE, MAX_IL_CLAUSES, MAX_IL_CODE, MAX_IL_LOCALS, MAX_IL_WORDS};
use redial_protocol::message::{Event, Refusal, Reply};
use redial_protocol::reason::Reason;
use std::collections::HashSet;
use std::sync::Arc;

/// Bytes of text after which a page is sent: with targets, far below the frame limit.
const PAGE_BYTES: usize = 1 << 20;

/// Largest body to copy: code, and the same again for clauses.
const MAX_BODY: usize = 2 * MAX_IL_CODE;

/// Stands for a probe's `calli` signature before its module has one.
const CALL_SITE: &str = "the probe's call site, added at the first dial";

impl Session {
    /// Sends the lines of a copy's body; returns the answer.
    pub(super) fn il(&self, id: u32, copy: CopyKey, instrumented: bool) -> Reply {
        let shown = ShownBody::read(self.context, copy, instrumented)
            .and_then(|shown| shown.send(self.context, |page| self.send(Event::Il { id, page })));
        shown.map_or_else(Reply::Refused, Reply::Il)
    }
}

/// A decoded body.
struct ShownBody {
    module: Arc<Module>,
    scope: Scope,
    source: IlSource,
    body: Body,
    /// The original's local variables, as a blob.
    locals: Vec<u8>,
    /// The probe needs one more variable, whose signature is not made yet.
    one_more: bool,
    /// Offsets of the method's own instructions; None: all are.
    own: Option<HashSet<u32>>,
}

fn gone() -> Refusal {
    Refusal::Unsupported(Unsupported::Unloaded)
}

fn too_large() -> Refusal {
    Refusal::OverLimit(Limit::IlSize { limit: MAX_IL_CODE as u64 })
}

fn without(reason: Reason) -> Refusal {
    Refusal::Unsupported(Unsupported::NoIl(reason))
}

fn not_instrumented(reason: Reason) -> Refusal {
    Refusal::Unsupported(Unsupported::NoInstrumentedBody(reason))
}

impl ShownBody {
    fn read(context: &Context, copy: CopyKey, instrumented: bool) -> Result<ShownBody, Refusal> {
        let module =
            context.modules.get(copy.module.module_id as usize).filter(|module| module.key == copy.module);
        let module = module.ok_or_else(gone)?;
        let token = copy.token.0;
        let read = module.with_metadata(&context.info, |import| {
            let method = import.method(token).map_err(|_| without(Reason::NoBody))?;
            judge(context, &module, import, &method, instrumented)?;
            let copied = |body: &[u8]| (body.len() <= MAX_BODY).then(|| body.to_vec());
            let original = context.info.il_body(import.module(), token, copied);
            let original = original.map_err(|_| without(Reason::NoBody))?.ok_or_else(too_large)?;
            let locals = il::local_sig(&original).ok().filter(|sig| *sig != 0);
            let locals = locals.and_then(|sig| import.stand_alone_sig(sig).ok()).unwrap_or_default();
            Ok((original, locals, Scope::of(import, method.type_def, token)))
        });
        let (original, locals, scope) = read.ok_or_else(gone)??;
        let decoded = decode(&original)?;
        let mut shown = ShownBody {
            scope,
            source: IlSource::Original,
            body: decoded,
            locals,
            one_more: false,
            own: None,
            module,
        };
        if instrumented {
            shown.instrument(context, token, &original)?;
        }
        Ok(shown)
    }

    /// Adds the probe, as the runtime has it or would get it.
    fn instrument(&mut self, context: &Context, token: u32, original: &[u8]) -> Result<(), Refusal> {
        let slot = {
            let ledger = context.ledger.lock();
            let row = ledger.find(self.module.id(), token).and_then(|id| ledger.row(id));
            row.filter(|row| row.is_on()).and_then(|row| Some((row.slot_offset()?, row.probe())))
        };
        let tokens = context.instrumentation.tokens(self.module.key).unwrap_or_default();
        let rewritten = match (slot, tokens.call_sites.get()) {
            (Some((slot, probe)), Some(Ok(sites))) => {
                self.source = IlSource::Installed;
                instrumented_body::with_probe(&tokens, *sites, slot, probe, original)
            }
            _ => {
                self.source = IlSource::Preview;
                let form = match tokens.call_sites.get() {
                    Some(Ok(sites)) => sites.form,
                    _ => context.instrumentation.call_form(&context.info, &context.modules),
                };
                let count = crate::signature::parse_locals(&self.locals).map_or(0, |locals| locals.len());
                let read = |import: &Import| {
                    let method = import.method(token).ok()?;
                    Some(ends_in_itself(import, &self.body, token, &method))
                };
                let in_itself = self.module.with_metadata(&context.info, read).flatten().ok_or_else(gone)?;
                instrumented_body::preview(form, in_itself, count, original).map(|(rewritten, one_more)| {
                    self.one_more = one_more;
                    rewritten
                })
            }
        };
        let Rewritten { body, map } = rewritten.map_err(|_| not_instrumented(Reason::CannotInsert))?;
        self.body = decode(&body)?;
        self.own = Some(map.into_iter().map(|(_, new)| new).collect());
        Ok(())
    }

    /// Sends pages and returns the header. `send` returns whether to go on.
    fn send(&self, context: &Context, mut send: impl FnMut(IlPage) -> bool) -> Result<IlBody, Refusal> {
        let mut rest = self.body.instructions.as_slice();
        let mut header = None;
        while !rest.is_empty() {
            let read = self.module.with_metadata(&context.info, |import| {
                let names = ModuleNames::default();
                let tokens = Tokens::new(import, &names, &self.scope);
                if header.is_none() {
                    header = Some(self.header(import, &tokens));
                }
                self.page(rest, &tokens)
            });
            let page = read.ok_or_else(gone)?;
            rest = rest.get(page.lines.len()..).unwrap_or_default();
            if page.lines.is_empty() || !send(page) {
                break;
            }
        }
        header.ok_or_else(gone)
    }

    fn page(&self, instructions: &[Instruction], tokens: &Tokens<'_>) -> IlPage {
        let (mut lines, mut bytes) = (Vec::new(), 0);
        for instruction in instructions.iter().take(IL_LINES_PER_PAGE) {
            let line = self.line(instruction, tokens);
            bytes += line.operand.as_ref().map_or(0, String::len) + 5 * line.targets.len() + 32;
            lines.push(line);
            if bytes >= PAGE_BYTES {
                break;
            }
        }
        IlPage { lines }
    }

    fn line(&self, instruction: &Instruction, tokens: &Tokens<'_>) -> IlLine {
        let offset = instruction.old_offset.unwrap_or_default();
        let inserted = self.own.as_ref().is_some_and(|own| !own.contains(&offset));
        let (mut token, mut targets) = (None, Vec::new());
        let operand = match &instruction.operand {
            Operand::None => None,
            Operand::U8(value) => Some(value.to_string()),
            Operand::I8(value) => Some(value.to_string()),
            Operand::U16(value) => Some(value.to_string()),
            Operand::I32(value) => Some(value.to_string()),
            Operand::I64(value) => Some(value.to_string()),
            Operand::R4(bits) => Some(format!("{:?}", f32::from_bits(*bits))),
            Operand::R8(bits) => Some(format!("{:?}", f64::from_bits(*bits))),
            Operand::Token(0) if inserted => Some(CALL_SITE.into()),
            Operand::Token(value) => {
                token = Some(*value);
                tokens.name(*value).map(cut)
            }
            Operand::Target(label) => {
                targets.push(self.offset(*label));
                None
            }
            Operand::Switch(labels) => {
                targets.extend(labels.iter().map(|label| self.offset(*label)));
                None
            }
        };
        let opcode = instruction.opcode.info().name.to_owned();
        IlLine { offset, opcode, operand, token, targets, inserted }
    }

    fn offset(&self, label: Label) -> u32 {
        self.body.at(label).and_then(|instruction| instruction.old_offset).unwrap_or(self.body.old_code_size)
    }

    fn header(&self, import: &Import, tokens: &Tokens<'_>) -> IlBody {
        let body = &self.body;
        let made = (body.local_sig != 0).then(|| import.stand_alone_sig(body.local_sig).ok()).flatten();
        let (mut locals, mut count) = tokens.locals(made.as_deref().unwrap_or(&self.locals), MAX_IL_LOCALS);
        if self.one_more {
            count += 1;
            locals.push("nint".into());
            locals.truncate(MAX_IL_LOCALS);
        }
        IlBody {
            source: self.source,
            max_stack: body.max_stack,
            init_locals: body.init_locals,
            local_sig: body.local_sig,
            more_locals: (count - locals.len().min(count)) as u32,
            locals: locals.into_iter().map(cut).collect(),
            code_size: body.old_code_size,
            clauses: body.clauses.iter().take(MAX_IL_CLAUSES).map(|one| self.clause(one, tokens)).collect(),
            more_clauses: body.clauses.len().saturating_sub(MAX_IL_CLAUSES) as u32,
            lines: body.instructions.len() as u64,
        }
    }

    fn clause(&self, clause: &Clause, tokens: &Tokens<'_>) -> IlClause {
        IlClause {
            kind: match clause.kind {
                ClauseKind::Catch { class } => IlClauseKind::Catch {
                    class: tokens.name(class).map_or_else(|| format!("{class:#010x}"), cut),
                    token: class,
                },
                ClauseKind::Filter { start } => IlClauseKind::Filter { start: self.offset(start) },
                ClauseKind::Finally { .. } => IlClauseKind::Finally,
                ClauseKind::Fault { .. } => IlClauseKind::Fault,
            },
            try_start: self.offset(clause.try_region.start),
            try_end: self.offset(clause.try_region.end),
            handler_start: self.offset(clause.handler.start),
            handler_end: self.offset(clause.handler.end),
        }
    }
}

/// Checks that the method has IL and, if `instrumented`, that it can be dialled.
fn judge(
    context: &Context,
    module: &Module,
    import: &Import,
    method: &MethodDef,
    instrumented: bool,
) -> Result<(), Refusal> {
    let MethodDef { attributes, impl_flags, rva, .. } = *method;
    let bodyless = crate::eligibility::without_body(attributes, impl_flags, rva, module.dynamic);
    if let Some(reason) = bodyless {
        return Err(without(reason));
    }
    if instrumented {
        let type_name = ModuleNames::default().type_name(import, method.type_def);
        let type_name = type_name.ok_or_else(|| without(Reason::Metadata))?;
        scan::check(context, module, &type_name, method).map_err(not_instrumented)?;
    }
    Ok(())
}

fn decode(bytes: &[u8]) -> Result<Body, Refusal> {
    let body =
        il::decode(bytes).map_err(|violation| Refusal::Unsupported(Unsupported::InvalidIl(violation)))?;
    match body.old_code_size as usize {
        ..=MAX_IL_CODE => Ok(body),
        _ => Err(too_large()),
    }
}

/// Truncates a text that is too long.
fn cut(mut text: String) -> String {
    if text.len() > MAX_IL_WORDS {
        text.truncate(text.floor_char_boundary(MAX_IL_WORDS - '…'.len_utf8()));
        text.push('…');
    }
    text
}
