//! Texts of a column that repeat: each is kept once, and told by its place.

use crate::rowcodec::wire::BatchWriter;

/// More texts than these are no dictionary; indices have 16 bits.
const MOST: usize = 1 << 15;
/// Places for texts' hashes at first.
const SLOTS: usize = 256;
/// After so many texts it is looked at whether they repeat.
const TRIAL: usize = 128;
/// Fewer values than these are not worth a message of their own.
pub const FEWEST: usize = 64;

#[derive(Clone)]
pub struct Coded {
    pub codes: Vec<u16>,
    /// Place in `ends` plus one, by the text's hash; zero where there is none.
    slots: Vec<u32>,
    hashes: Vec<u64>,
    /// Where each text ends in `bytes`.
    ends: Vec<u32>,
    bytes: Vec<u8>,
    /// How many texts the stream has been told; None before the first time.
    pub sent: Option<usize>,
    /// In the stream.
    pub id: i64,
    /// Values of earlier batches.
    before: usize,
    /// Values whose texts are in `plain`.
    counted: usize,
    plain: usize,
    /// More texts than these do not pay.
    most: usize,
}

impl Default for Coded {
    fn default() -> Self {
        Self {
            codes: Vec::new(),
            slots: Vec::new(),
            hashes: Vec::new(),
            ends: Vec::new(),
            bytes: Vec::new(),
            sent: None,
            id: 0,
            before: 0,
            counted: 0,
            plain: 0,
            most: MOST,
        }
    }
}

impl Coded {
    /// Have it be given up as soon as it cannot pay any more, of so many values in all.
    pub fn expect(&mut self, values: usize) {
        self.most = MOST.min(values / 2);
    }

    /// Bytes that are kept for texts to come.
    pub fn capacity(&self) -> usize {
        let words = self.slots.capacity() + self.ends.capacity() + 2 * self.hashes.capacity();
        self.codes.capacity() * 2 + words * 4 + self.bytes.capacity()
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of its texts as an array.
    pub fn size(&self) -> usize {
        self.bytes.len() + self.ends.len() * 4
    }

    pub fn text(&self, code: u16) -> &[u8] {
        let n = usize::from(code);
        let start = if n == 0 { 0 } else { self.ends[n - 1] as usize };
        &self.bytes[start..self.ends[n] as usize]
    }

    /// Hand the texts from the n-th on to a batch, as an array.
    pub fn texts<'a>(&'a self, n: usize, batch: &mut BatchWriter<'a>) {
        let start = if n == 0 { 0 } else { self.ends[n - 1] };
        let ends = self.ends[n..].iter().map(|end| end - start);
        batch.node(ends.len(), 0);
        batch.buffer(&[]);
        batch.made(|out| out.extend(std::iter::once(0).chain(ends).flat_map(u32::to_le_bytes)));
        batch.buffer(&self.bytes[start as usize..]);
    }

    /// Add a text; false where there are too many different ones.
    #[inline]
    pub fn push(&mut self, text: &[u8]) -> bool {
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, 0);
        }
        let hash = hash(text);
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                0 => return self.add(text, hash, slot),
                found => {
                    let code = (found - 1) as u16;
                    if self.hashes[usize::from(code)] == hash && same(self.text(code), text) {
                        self.codes.push(code);
                        return true;
                    }
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    #[cold]
    fn add(&mut self, text: &[u8], hash: u64, slot: usize) -> bool {
        let code = self.ends.len();
        let all_new = code >= TRIAL && code * 2 > self.before + self.codes.len();
        if code == self.most || all_new || self.bytes.len() + text.len() > 1 << 24 {
            return false;
        }
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len() as u32);
        self.hashes.push(hash);
        self.slots[slot] = code as u32 + 1;
        self.codes.push(code as u16);
        if self.ends.len() * 2 > self.slots.len() {
            self.slots = vec![0; self.slots.len() * 4];
            let mask = self.slots.len() - 1;
            for (n, hash) in self.hashes.iter().enumerate() {
                let mut slot = *hash as usize & mask;
                while self.slots[slot] != 0 {
                    slot = (slot + 1) & mask;
                }
                self.slots[slot] = n as u32 + 1;
            }
        }
        true
    }

    /// Whether the values so far are told in less by it.
    pub fn pays(&self, nulls: usize) -> bool {
        let texts = self.codes.len() - nulls;
        self.sent.is_some() || self.codes.len() >= FEWEST && self.len() * 2 <= texts
    }

    pub fn index_width(&self) -> u8 {
        if self.len() <= 128 { 1 } else { 2 }
    }

    /// Bytes that the values would take as texts.
    ///
    /// * `valid`: the bits of those that are none; of those without a bit all are.
    pub fn plain(&mut self, valid: &[u8]) -> usize {
        for n in self.counted..self.codes.len() {
            if valid.get(n / 8).is_none_or(|bits| bits >> (n % 8) & 1 == 1) {
                self.plain += self.text(self.codes[n]).len();
            }
        }
        self.counted = self.codes.len();
        self.plain
    }

    pub fn truncate(&mut self, n: usize) {
        self.codes.truncate(n);
        if n < self.counted {
            (self.counted, self.plain) = (0, 0);
        }
    }

    /// A batch is done.
    pub fn next_batch(&mut self) {
        self.before += self.codes.len();
        self.codes.clear();
        (self.counted, self.plain) = (0, 0);
    }

    pub fn reset(&mut self) {
        self.before = 0;
        self.most = MOST;
        self.codes.clear();
        (self.counted, self.plain) = (0, 0);
        self.slots.clear();
        self.hashes.clear();
        self.ends.clear();
        self.bytes.clear();
        self.sent = None;
    }
}

/// Short texts are compared here, without a call.
#[inline(always)]
fn same(a: &[u8], b: &[u8]) -> bool {
    let length = a.len();
    if length != b.len() || !(4..=64).contains(&length) {
        return a == b;
    }
    // The last words overlap those before.
    let (a, b) = (a.as_ptr(), b.as_ptr());
    let four =
        |at: usize| unsafe { a.add(at).cast::<[u8; 4]>().read() == b.add(at).cast::<[u8; 4]>().read() };
    let eight =
        |at: usize| unsafe { a.add(at).cast::<[u8; 8]>().read() == b.add(at).cast::<[u8; 8]>().read() };
    if length < 8 {
        return four(0) & four(length - 4);
    }
    let mut at = 0;
    while at + 8 < length {
        if !eight(at) {
            return false;
        }
        at += 8;
    }
    eight(length - 8)
}

/// A multiply and a fold for each eight bytes: fast, and good enough for texts of one column.
#[inline(always)]
fn hash(text: &[u8]) -> u64 {
    let mix = |hash: u64, word: u64| {
        let product = u128::from(hash ^ word) * u128::from(0x9e37_79b9_7f4a_7c15_u64);
        (product >> 64) as u64 ^ product as u64
    };
    let eight = |at: usize| u64::from_le_bytes(text[at..at + 8].try_into().unwrap());
    let mut hash = text.len() as u64 ^ 0xa076_1d64_78bd_642f;
    if text.len() >= 8 {
        for at in (0..text.len() - 7).step_by(8) {
            hash = mix(hash, eight(at));
        }
        return mix(hash, eight(text.len() - 8));
    }
    let mut last = [0; 8];
    last[..text.len()].copy_from_slice(text);
    mix(hash, u64::from_le_bytes(last))
}
