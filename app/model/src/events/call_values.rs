//! The values of a traced call, for conditions that filter calls. They mean what they mean in the agent.

use redial_protocol::condition::{Operand, Root, Text, Undecided, Values};
use redial_protocol::trace::{Outcome, TracedCall, Value};

/// The values of a call.
pub struct CallValues<'c>(pub &'c TracedCall);

/// An object of a call.
#[derive(Clone, Copy, Debug)]
pub enum CallObject<'c> {
    /// An object or collection.
    Value(&'c Value),
    /// The exception that ended the call: its type and message.
    Exception(Option<&'c str>, Option<&'c Value>),
}

type Read<'c> = Result<Operand<'c, CallObject<'c>>, Undecided>;

impl<'c> Values for CallValues<'c> {
    type Object = CallObject<'c>;

    fn root(&self, root: Root) -> Read<'c> {
        let call = self.0;
        match (root, &call.outcome) {
            (Root::Argument(index), _) => operand(call.arguments.get(usize::from(index)).ok_or(Undecided)?),
            (Root::ArgumentAfter(index), _) => {
                let (_, value) = call.arguments_after.iter().find(|(of, _)| *of == index).ok_or(Undecided)?;
                operand(value)
            }
            (Root::Result, Outcome::Returned(Some(value))) => operand(value),
            (Root::Result, _) | (Root::Exception, Outcome::InFlight) => Err(Undecided),
            (Root::Exception, Outcome::Returned(_)) => Ok(Operand::Null),
            (Root::Exception, Outcome::Thrown { type_name, message, .. }) => {
                Ok(Operand::Object(CallObject::Exception(type_name.as_deref(), message.as_ref())))
            }
            (Root::Duration, _) => {
                let ns = call.duration_ns.and_then(|ns| i64::try_from(ns).ok());
                ns.map(Operand::Duration).ok_or(Undecided)
            }
        }
    }

    fn field(&self, object: CallObject<'c>, name: &str) -> Read<'c> {
        match (object, name) {
            (CallObject::Value(Value::Object { fields, .. }), _) => {
                let (_, value) = fields.iter().find(|(of, _)| of == name).ok_or(Undecided)?;
                operand(value)
            }
            (CallObject::Exception(type_name, _), "type") => {
                type_name.map(|name| Operand::Text(Text::Utf8(name))).ok_or(Undecided)
            }
            (CallObject::Exception(_, message), "message" | "Message") => operand(message.ok_or(Undecided)?),
            _ => Err(Undecided),
        }
    }

    fn size(&self, object: CallObject<'c>) -> Result<u64, Undecided> {
        match object {
            CallObject::Value(Value::Collection { length, .. } | Value::Dictionary { length, .. }) => {
                Ok(*length)
            }
            _ => Err(Undecided),
        }
    }
}

fn operand(value: &Value) -> Read<'_> {
    Ok(match value {
        Value::Null => Operand::Null,
        Value::Bool(value) => Operand::Bool(*value),
        Value::Char(unit) => Operand::Text(Text::Units(std::slice::from_ref(unit), 1)),
        Value::Int(value) => Operand::Int(*value),
        Value::UInt(value) | Value::Pointer(value) => Operand::UInt(*value),
        Value::Float(bits) => Operand::Double(f32::from_bits(*bits).into()),
        Value::Double(bits) => Operand::Double(f64::from_bits(*bits)),
        Value::String { units, length } => Operand::Text(Text::Units(units, *length)),
        Value::Enum { name, value, .. } => match name {
            Some(name) => Operand::Enum(*value, name),
            None => Operand::Int(*value),
        },
        Value::Text { type_name, text } => match type_name.rsplit('.').next() {
            Some("decimal" | "Decimal") => Operand::Double(text.parse().map_err(|_| Undecided)?),
            Some("TimeSpan") => Operand::Duration(time_span(text).ok_or(Undecided)?),
            _ => return Err(Undecided),
        },
        Value::Object { .. } | Value::Collection { .. } | Value::Dictionary { .. } => {
            Operand::Object(CallObject::Value(value))
        }
        Value::Omitted(_) => return Err(Undecided),
    })
}

/// Returns the nanoseconds of a `TimeSpan` in its usual form, `-1.02:03:04.5000000`.
fn time_span(text: &str) -> Option<i64> {
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let mut parts = text.split(':');
    let (first, minutes, seconds) = (parts.next()?, parts.next()?, parts.next()?);
    let (days, hours) = first.split_once('.').unwrap_or(("0", first));
    let (seconds, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let number = |digits: &str| digits.parse::<i64>().ok();
    let fraction = number(&format!("{fraction:0<9}"))?;
    let hours = number(days)?.checked_mul(24)?.checked_add(number(hours)?)?;
    let minutes = hours.checked_mul(60)?.checked_add(number(minutes)?)?;
    let seconds = minutes.checked_mul(60)?.checked_add(number(seconds)?)?;
    seconds.checked_mul(1_000_000_000)?.checked_add(fraction)?.checked_mul(sign)
}
