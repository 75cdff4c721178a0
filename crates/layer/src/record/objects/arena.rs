//! Arrays and names that records refer to, in blocks of image words that are released and reused.
//!
//! A block has a power of two of words; its first word holds its size class and the number of records that
//! share it.
//!
//! ```text
//! word 0            size class | holders << 8 (next free block, while nobody holds it)
//! word 1 …          the array, or the bytes of a name
//! ```
//!
//! Blocks are taken from the free list of their class; otherwise small ones are cut from a piece of 4096
//! words. Memory: an array of n words takes the next power of two above n words, at least 32 bytes.

use super::lock::Guarded;
use mpiscope_image::layout::{Loss, Text, Words};
use mpiscope_image::{W64, Writer};

/// Smallest block: 2^2 words.
const SMALLEST: u32 = 2;
/// Largest block that is cut from a piece: 2^9 words.
const LARGEST_CUT: u32 = 9;
/// Words in a piece.
const PIECE: usize = 1 << 12;
/// Number of size classes; the largest block has 2^39 words.
const CLASSES: usize = 40;

struct Free {
    /// Offset of the first free block of each class.
    returned: [u64; CLASSES],
    /// The unused rest of the last piece.
    piece: &'static [W64],
}

static FREE: Guarded<Free> = Guarded::new(Free { returned: [0; CLASSES], piece: &[] });

fn class_of(words: usize) -> u32 {
    (words + 1).next_power_of_two().trailing_zeros().max(SMALLEST)
}

/// Takes a block for `words` words; `None` (counted as a loss) when the image is full.
fn take(writer: &'static Writer, words: usize) -> Option<&'static [W64]> {
    let block = class_of(words)
        .try_into()
        .ok()
        .and_then(|class: usize| FREE.with(|free| take_class(free, writer, class)));
    if block.is_none() {
        writer.lose(Loss::STRINGS, 1);
    }
    block
}

fn take_class(free: &mut Free, writer: &'static Writer, class: usize) -> Option<&'static [W64]> {
    let len = 1usize << class;
    let returned = free.returned.get_mut(class)?;
    let block = if *returned != 0 {
        let block = writer.words_at(*returned, len)?;
        *returned = block.get(1)?.get();
        block
    } else if class as u32 > LARGEST_CUT {
        writer.new_words(len)?
    } else {
        if free.piece.len() < len {
            // The rest of the old piece is wasted: less than the largest block that is cut.
            free.piece = writer.new_words(PIECE)?;
        }
        let (block, rest) = free.piece.split_at_checked(len)?;
        free.piece = rest;
        block
    };
    block.first()?.set(class as u64 | 1 << 8);
    Some(block)
}

/// Allocates an array to be filled and makes `to` refer to it. The previous contents of `to` must have been
/// released.
pub fn reserve(writer: &'static Writer, to: &Words, len: usize) -> &'static [W64] {
    let words = if len == 0 { None } else { take(writer, len).and_then(|block| block.get(1..=len)) };
    let Some(words) = words else { return &[] };
    let Some(first) = words.first() else { return &[] };
    to.offset.set(writer.offset_of(first));
    to.len.set(len as u64);
    words
}

/// Stores an array and makes `to` refer to it. The previous contents of `to` must have been released.
pub fn put(writer: &'static Writer, to: &Words, len: usize, values: impl IntoIterator<Item = u64>) {
    for (word, value) in reserve(writer, to, len).iter().zip(values) {
        word.set(value);
    }
}

/// Stores a name and makes `to` refer to it. The previous contents of `to` must have been released.
pub fn put_text(writer: &'static Writer, to: &Text, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let Some((_, words)) = take(writer, bytes.len().div_ceil(8)).and_then(<[W64]>::split_first) else {
        return;
    };
    for (word, piece) in words.iter().zip(bytes.chunks(8)) {
        let mut eight = [0; 8];
        eight.iter_mut().zip(piece).for_each(|(to, from)| *to = *from);
        word.set(u64::from_ne_bytes(eight));
    }
    let Some(first) = words.first() else { return };
    to.offset.set(writer.offset_of(first));
    to.len.set(bytes.len() as u64);
}

/// Returns the array that a record refers to.
pub fn get(writer: &'static Writer, words: &Words) -> &'static [W64] {
    let (offset, len) = (words.offset.get(), words.len.get() as usize);
    if offset == 0 { &[] } else { writer.words_at(offset, len).unwrap_or_default() }
}

/// Returns the bytes of a name.
pub fn text(writer: &'static Writer, text: &Text) -> Vec<u8> {
    let (offset, len) = (text.offset.get(), text.len.get() as usize);
    let words = if offset == 0 { &[] } else { writer.words_at(offset, len.div_ceil(8)).unwrap_or_default() };
    words.iter().flat_map(|word| word.get().to_ne_bytes()).take(len).collect()
}

/// Appends a word to an array that only this record refers to. Returns `None` when the image is full.
pub fn push(writer: &'static Writer, words: &Words, value: u64) -> Option<()> {
    let (offset, len) = (words.offset.get(), words.len.get() as usize);
    if offset == 0 {
        put(writer, words, 1, [value]);
        return (words.offset.get() != 0).then_some(());
    }
    let head = writer.words_at(offset.wrapping_sub(8), 1)?.first()?;
    let class = (head.get() & 0xff) as usize;
    // Any process of this user may have overwritten both: the array must not outgrow its block.
    let capacity = if class < CLASSES { (1usize << class) - 1 } else { 0 };
    if len > capacity {
        return None;
    }
    if len < capacity {
        writer.words_at(offset, len + 1)?.last()?.set(value);
        words.len.set(len as u64 + 1);
        return Some(());
    }
    let longer = Words::default();
    let old = get(writer, words).iter().map(W64::get);
    put(writer, &longer, len + 1, old.chain([value]));
    if longer.offset.get() == 0 {
        return None;
    }
    release_words(writer, words);
    words.len.set(longer.len.get());
    words.offset.set(longer.offset.get());
    Some(())
}

/// Removes the word at `place` from an array by replacing it with the last one.
pub fn swap_remove(writer: &'static Writer, words: &Words, place: usize) {
    let array = get(writer, words);
    if let (Some(gone), Some(last)) = (array.get(place), array.last()) {
        gone.set(last.get());
        words.len.set(array.len() as u64 - 1);
    }
}

/// Makes `to` refer to the same array as `from`.
pub fn share(writer: &'static Writer, from: &Words, to: &Words) {
    share_block(writer, (&from.offset, &from.len), (&to.offset, &to.len));
}

/// Makes `to` refer to the same bytes as `from`.
pub fn share_text(writer: &'static Writer, from: &Text, to: &Text) {
    share_block(writer, (&from.offset, &from.len), (&to.offset, &to.len));
}

fn share_block(writer: &'static Writer, from: (&W64, &W64), to: (&W64, &W64)) {
    let offset = from.0.get();
    if offset == 0 {
        return;
    }
    FREE.with(|_| {
        if let Some([head]) = writer.words_at(offset.wrapping_sub(8), 1) {
            head.set(head.get().wrapping_add(1 << 8));
            to.1.set(from.1.get());
            to.0.set(offset);
        }
    });
}

fn release(writer: &'static Writer, offset: &W64, len: &W64) {
    let at = offset.get();
    if at == 0 {
        return;
    }
    offset.set(0);
    len.set(0);
    FREE.with(|free| {
        let Some([head, next]) = writer.words_at(at.wrapping_sub(8), 2) else { return };
        head.set(head.get().wrapping_sub(1 << 8));
        if head.get() >> 8 == 0
            && let Some(returned) = free.returned.get_mut((head.get() & 0xff) as usize)
        {
            next.set(*returned);
            *returned = at.wrapping_sub(8);
        }
    });
}

/// Releases a record's reference to its array.
pub fn release_words(writer: &'static Writer, words: &Words) {
    release(writer, &words.offset, &words.len);
}

/// Releases a record's reference to its name.
pub fn release_text(writer: &'static Writer, text: &Text) {
    release(writer, &text.offset, &text.len);
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::record::objects::table::tests::image;

    fn values(writer: &'static Writer, words: &Words) -> Vec<u64> {
        get(writer, words).iter().map(W64::get).collect()
    }

    // One test: free blocks are kept for the whole process, and this image belongs to the test.
    #[test]
    fn arrays_and_names_are_stored_shared_and_extended_and_their_blocks_reused() {
        let writer = image();
        let (first, second) = (Words::default(), Words::default());
        put(writer, &first, 5, 10..15);
        share(writer, &first, &second);
        let place = first.offset.get();
        release_words(writer, &first);
        assert_eq!((first.offset.get(), first.len.get()), (0, 0));
        assert_eq!(values(writer, &second), [10, 11, 12, 13, 14], "somebody still has it");
        put(writer, &first, 7, 0..7);
        assert_ne!(first.offset.get(), place);
        release_words(writer, &second);
        put(writer, &second, 6, 20..26);
        assert_eq!(second.offset.get(), place, "the block that was given back");

        let list = Words::default();
        for n in 0..1000 {
            push(writer, &list, n);
        }
        assert!(values(writer, &list).into_iter().eq(0..1000));
        swap_remove(writer, &list, 10);
        assert_eq!((list.len.get(), values(writer, &list)[10]), (999, 999));
        swap_remove(writer, &list, 998);
        assert_eq!(list.len.get(), 998);

        let name = Text::default();
        for bytes in [&b"a"[..], b"exactly8", b"more than eight bytes"] {
            put_text(writer, &name, bytes);
            assert_eq!(text(writer, &name), bytes);
            release_text(writer, &name);
        }
        put_text(writer, &name, b"");
        assert_eq!(text(writer, &name), b"");
    }
}
