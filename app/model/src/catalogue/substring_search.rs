//! Finds short words in a long text. A searcher for rare words restarts after each hit, but words of three
//! letters occur in many names; then every unpredictable branch is expensive.

/// Bytes compared together; the compiler turns a block into a few vector comparisons.
const BLOCK: usize = 64;
/// Hits of a block that are written unconditionally, without checking how many there are.
const USUAL: usize = 4;

/// Returns every place of a word of three bytes, ascending. The text may have at most 4 GiB.
pub fn places(text: &[u8], word: [u8; 3]) -> Vec<u32> {
    let [first, second, third] = word;
    let behind = |bytes: usize| text.get(bytes..).unwrap_or_default().as_chunks::<BLOCK>().0;
    let blocks = behind(0).iter().zip(behind(1)).zip(behind(2));
    let (mut places, mut found, mut done) = (vec![0u32; 2 * BLOCK], 0, 0);
    for ((one, two), three) in blocks {
        let mut hits = [0u8; BLOCK];
        for (hit, ((one, two), three)) in hits.iter_mut().zip(one.iter().zip(two).zip(three)) {
            *hit = u8::from(*one == first) & u8::from(*two == second) & u8::from(*three == third);
        }
        if hits.iter().fold(0, |any, hit| any | hit) != 0 {
            if places.len() < found + BLOCK + USUAL {
                places.resize(2 * places.len(), 0);
            }
            let mut hits = as_bits(&hits);
            for _ in 0..USUAL {
                if let Some(place) = places.get_mut(found) {
                    *place = done + hits.trailing_zeros();
                }
                found += usize::from(hits != 0);
                hits &= hits.wrapping_sub(1);
            }
            while hits != 0 {
                if let Some(place) = places.get_mut(found) {
                    *place = done + hits.trailing_zeros();
                }
                found += 1;
                hits &= hits - 1;
            }
        }
        done += BLOCK as u32;
    }
    places.truncate(found);
    let rest = (done..).zip(text.get(done as usize..).unwrap_or_default().windows(3));
    places.extend(rest.filter(|(_, here)| *here == word).map(|(at, _)| at));
    places
}

/// Converts bytes of 0 or 1 to bits, the first one lowest.
fn as_bits(bytes: &[u8; BLOCK]) -> u64 {
    // The product collects the lowest bits of eight bytes in its highest byte.
    let gathered = |eight: &[u8; 8]| u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let eights = bytes.as_chunks::<8>().0.iter().enumerate();
    eights.fold(0, |bits, (at, eight)| bits | gathered(eight) << (8 * at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_place_at_any_length() {
        let text: Vec<u8> = (0u32..400).map(|at| b"aab"[(at * at / 7 % 3) as usize]).collect();
        for length in 0..text.len() {
            let text = &text[..length];
            for word in [*b"aaa", *b"aba", *b"bab", *b"aab", *b"zzz"] {
                let here = (0..).zip(text.windows(3));
                let expected: Vec<u32> = here.filter(|(_, here)| *here == word).map(|(at, _)| at).collect();
                assert_eq!(places(text, word), expected, "{length} {word:?}");
            }
        }
        assert_eq!(places(&[b'a'; 300], *b"aaa").len(), 298);
    }
}
