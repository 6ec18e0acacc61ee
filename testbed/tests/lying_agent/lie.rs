//! Values that lie: serde builds any message from a seed, with extreme numbers, hostile texts and wrong counts
//! in every field.

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, SeqAccess, VariantAccess,
    Visitor, value::Error,
};

/// Characters and sequences that a terminal, a file or a text layout would act on.
const HOSTILE: [&str; 22] = [
    "\u{1b}[31m",
    "\u{1b}]0;owned\u{7}",
    "\u{1b}[2J",
    "\r",
    "\n",
    "\nEvil.* = count\n",
    "\r\n# redial dials 1\r\n",
    "\t",
    "\0",
    "\u{7f}",
    "\u{85}",
    "\u{9b}31m",
    "\u{202e}",
    "\u{2066}",
    "\u{2028}",
    "\u{61c}",
    "\u{feff}",
    "\u{301}",
    "\u{200b}\u{200d}",
    "\u{e0041}\u{10ffff}",
    "注文",
    "\" = time domain=\"x\" \\u{1b} \\",
];

/// Parts of real names, and words that mean something in patterns, dial sets, IL listings and IIS.
const PLAIN: [&str; 20] = [
    "Shop",
    "Shop.Cart.Add",
    "(int, System.Collections.Generic.List<T>)",
    "(byte\\*)",
    ".MoveNext",
    "Shop.Cart+<Add>d__1",
    "Shop.Cart+<Add>d__1.MoveNext",
    "/LM/W3SVC/2/ROOT/Shop-3-1330",
    "*",
    "0x06000001",
    "!",
    "(",
    ")",
    "ldloc.s",
    "redial app",
    "redial run",
    "1000",
    " ",
    "A.B = time slower-than=1ms",
    "8.0.31",
];

const EXTREME: [u64; 20] = [
    u64::MAX,
    u64::MAX - 1,
    u64::MAX / 2,
    i64::MAX as u64 + 1,
    1 << 53,
    1 << 40,
    u32::MAX as u64,
    u32::MAX as u64 + 1,
    i32::MAX as u64,
    u16::MAX as u64,
    0x0600_0001,
    0x06ff_ffff,
    0x7000_0001,
    999,
    1_000,
    999_500_000,
    1_535,
    1_536,
    31_536_000_000_000,
    9_223_372_036_854_775,
];

/// A text over this length counts as long; a decoder shortens it.
const LONG: usize = 40 << 10;
/// The longest text, which just fits into a frame beside other fields.
const LONGEST: usize = (4 << 20) - 4_096;
/// Entries of all lists in one value.
const ENTRIES: u64 = 6_000;

/// A generator of lies. The same seed lies the same.
pub struct Liar {
    state: u64,
    entries: u64,
    texts: usize,
}

impl Liar {
    /// Starts with a seed.
    pub fn new(seed: u64) -> Liar {
        Liar { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, entries: 0, texts: 0 }
    }

    /// Returns a number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) % limit.max(1)
    }

    /// Returns true once in `number` times.
    pub fn one_in(&mut self, number: u64) -> bool {
        self.below(number) == 0
    }

    /// Returns one of the given values.
    pub fn pick<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize].clone()
    }

    /// Returns a number: often one so small that ids collide and indexes fit, otherwise an extreme or any one.
    pub fn number(&mut self) -> u64 {
        match self.below(8) {
            0..5 => self.below(5),
            5 | 6 => self.pick(&EXTREME),
            _ => self.below(u64::MAX),
        }
    }

    /// Returns a text of some parts, most of them hostile.
    pub fn text(&mut self) -> String {
        if self.one_in(400) && self.texts == 0 {
            let length = self.pick(&[LONG, LONG, 1 << 20, LONGEST]);
            self.texts += length;
            let part = self.pick(&["x", "\u{1b}[1m", "\u{301}", "é", "\u{202e}ab", "A.B+"]);
            return part.repeat(length / part.len());
        }
        let parts = self.pick(&[0, 1, 1, 2, 3, 6]);
        let part = |liar: &mut Liar| if liar.one_in(2) { liar.pick(&HOSTILE) } else { liar.pick(&PLAIN) };
        (0..parts).map(|_| part(self)).collect()
    }

    /// Returns a text for a name: mostly a plausible one.
    pub fn name(&mut self) -> String {
        if self.one_in(3) { self.text() } else { self.pick(&PLAIN).to_owned() }
    }

    fn count(&mut self) -> usize {
        let count = match self.below(40) {
            0..20 => self.below(3),
            20..38 => self.below(6),
            38 => self.below(300),
            _ => self.below(5_000),
        };
        let count = count.min(ENTRIES - self.entries);
        self.entries += count;
        count as usize
    }

    /// Returns a lie of any type. Lists over the type's limit are tried again: no encoder sends them.
    pub fn lie<T: for<'de> Deserialize<'de>>(&mut self) -> T {
        loop {
            (self.entries, self.texts) = (0, 0);
            if let Ok(value) = T::deserialize(&mut *self) {
                return value;
            }
        }
    }

    /// Changes some bytes of an encoded body behind its kind: numbers, lengths, tags or texts. Often puts in a
    /// number of bincode's longer forms.
    pub fn mutate(&mut self, body: &mut Vec<u8>) {
        for _ in 0..=self.below(3) {
            let Some(length) = (body.len() as u64).checked_sub(1).filter(|length| *length > 0) else {
                return;
            };
            let at = 1 + self.below(length) as usize;
            match self.below(5) {
                0 => body[at] = self.below(256) as u8,
                1 => body[at] ^= 1 << self.below(8),
                2 => {
                    let mut long = vec![self.pick(&[251, 252, 253, 254, 255])];
                    long.extend_from_slice(&self.number().to_le_bytes());
                    body.splice(at..=at, long);
                }
                3 => drop(body.drain(at..)),
                _ => body.insert(at, self.below(256) as u8),
            }
        }
    }
}

/// Makes integers from [`Liar::number`].
macro_rules! numbers {
    ($($deserialize:ident $visit:ident $number:ty)+) => {$(
        fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.$visit(self.number() as $number)
        }
    )+};
}

/// Makes texts.
macro_rules! texts {
    ($($deserialize:ident)+) => {$(
        fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.visit_string(self.text())
        }
    )+};
}

/// Refuses types that no message contains.
macro_rules! never {
    ($($deserialize:ident)+) => {$(
        fn $deserialize<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
            panic!("messages contain no such type")
        }
    )+};
}

impl<'de> Deserializer<'de> for &mut Liar {
    type Error = Error;

    numbers! {
        deserialize_u8 visit_u8 u8
        deserialize_u16 visit_u16 u16
        deserialize_u32 visit_u32 u32
        deserialize_u64 visit_u64 u64
        deserialize_i8 visit_i8 i8
        deserialize_i16 visit_i16 i16
        deserialize_i32 visit_i32 i32
        deserialize_i64 visit_i64 i64
    }

    texts! { deserialize_str deserialize_string deserialize_byte_buf }

    never! {
        deserialize_any deserialize_f32 deserialize_f64 deserialize_char deserialize_bytes deserialize_unit
        deserialize_map deserialize_identifier deserialize_ignored_any
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bool(self.one_in(2))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.one_in(3) { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let count = self.count();
        visitor.visit_seq(Parts { liar: self, left: count })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Parts { liar: self, left: len })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_seq(Parts { liar: self, left: len })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_seq(Parts { liar: self, left: fields.len() })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let variant = self.below(variants.len() as u64) as u32;
        visitor.visit_enum(Variant { liar: self, variant })
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

struct Parts<'a> {
    liar: &'a mut Liar,
    left: usize,
}

impl<'de> SeqAccess<'de> for Parts<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        seed.deserialize(&mut *self.liar).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

struct Variant<'a> {
    liar: &'a mut Liar,
    variant: u32,
}

impl<'a, 'de> EnumAccess<'de> for Variant<'a> {
    type Error = Error;
    type Variant = &'a mut Liar;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self::Variant), Error> {
        Ok((seed.deserialize(IntoDeserializer::<Error>::into_deserializer(self.variant))?, self.liar))
    }
}

impl<'de> VariantAccess<'de> for &mut Liar {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Parts { liar: self, left: len })
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_seq(Parts { liar: self, left: fields.len() })
    }
}
