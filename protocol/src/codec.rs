//! Binary encoding: the only module that uses bincode. Everything above the frozen layer passes through
//! [`encode`] and [`decode`].
//!
//! Decoding allocates only for bytes that arrived: `body_decoder` borrows strings from the body, and the messages
//! cap their collections (`capped`) before decoding.

mod body_decoder;

use crate::limits::MAX_FRAME;
use body_decoder::{BodyDecoder, Texts};
use serde::de::{DeserializeOwned, Deserializer, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// Reason why a message could not be encoded or decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// The message exceeds the maximum frame.
    #[error("the message is {length} bytes long; the limit is {MAX_FRAME} bytes")]
    TooLong {
        /// Its length.
        length: usize,
    },
    /// The value cannot be encoded.
    #[error("the message cannot be encoded: {0}")]
    Encode(String),
    /// The bytes are not the expected message.
    #[error("the bytes are not a message of this protocol version: {0}")]
    Decode(String),
    /// Bytes follow the end of the message.
    #[error("{extra} bytes follow the end of the message")]
    Trailing {
        /// Number of these bytes.
        extra: usize,
    },
}

/// Encodes a message.
///
/// # Errors
/// If the bytes would exceed [`MAX_FRAME`].
pub fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, CodecError> {
    let mut bytes = Vec::new();
    encode_into(value, &mut bytes)?;
    Ok(bytes)
}

/// Appends the encoded message to `out`.
///
/// # Errors
/// If the bytes would exceed [`MAX_FRAME`]; `out` then contains a part of them.
pub fn encode_into<T: Serialize>(value: &T, out: &mut Vec<u8>) -> Result<(), CodecError> {
    let before = out.len();
    bincode::serde::encode_into_std_write(value, out, bincode::config::standard())
        .map_err(|error| CodecError::Encode(error.to_string()))?;
    match out.len().saturating_sub(before) {
        0..=MAX_FRAME => Ok(()),
        length => Err(CodecError::TooLong { length }),
    }
}

/// Decodes `bytes`, which must be exactly one message.
///
/// Allocates at most a small multiple of `bytes.len()`, whatever the bytes claim.
///
/// # Errors
/// If the bytes are not exactly one message of type `T`.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    decode_with(bytes, Texts::Exact)
}

/// As [`decode`], for messages whose texts are shown or written to files: they are cleaned (`peer_text`).
///
/// # Errors
/// As [`decode`].
pub fn decode_cleaned<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    decode_with(bytes, Texts::Cleaned)
}

fn decode_with<T: DeserializeOwned>(bytes: &[u8], texts: Texts) -> Result<T, CodecError> {
    if bytes.len() > MAX_FRAME {
        return Err(CodecError::TooLong { length: bytes.len() });
    }
    let mut decoder = BodyDecoder::new(bytes, texts);
    let value = T::deserialize(&mut decoder).map_err(|error| CodecError::Decode(error.to_string()))?;
    match decoder.remaining() {
        0 => Ok(value),
        extra => Err(CodecError::Trailing { extra }),
    }
}

/// For `#[serde(deserialize_with)]` on several texts in one string, with offsets elsewhere.
pub(crate) fn joined_texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    deserializer.deserialize_byte_buf(JoinedTexts)
}

struct JoinedTexts;

impl Visitor<'_> for JoinedTexts {
    type Value = String;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("texts back to back")
    }

    fn visit_str<E>(self, texts: &str) -> Result<String, E> {
        Ok(texts.to_owned())
    }

    fn visit_string<E>(self, texts: String) -> Result<String, E> {
        Ok(texts)
    }
}

/// For `#[serde(deserialize_with)]` on lists. Refuses a list that announces more than `MAX` entries before
/// decoding any, and allocates only for entries that arrive.
pub(crate) fn capped<'de, D, T, const MAX: usize>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    deserializer.deserialize_seq(CappedList::<T, MAX>(PhantomData))
}

struct CappedList<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for CappedList<T, MAX> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a list of at most {MAX} entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Vec<T>, A::Error> {
        let over = |count| A::Error::custom(format_args!("a list of {count} entries; the limit is {MAX}"));
        if let Some(count) = entries.size_hint().filter(|count| *count > MAX) {
            return Err(over(count));
        }
        let mut list = Vec::new();
        while let Some(entry) = entries.next_element()? {
            if list.len() == MAX {
                return Err(over(MAX + 1));
            }
            list.push(entry);
        }
        Ok(list)
    }
}
