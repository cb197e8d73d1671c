//! Code that is kept, and when it is made.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Code, Field, Key};

/// Kinds of rows that are known.
const MOST: usize = 128;
/// Bytes of their code.
const MOST_BYTES: usize = 1 << 20;
/// Rows of a kind that are taken before code is made for them: as many as repay what it takes to make it.
const SWITCH: usize = 6 << 14;
/// Of fewer rows no code is asked for.
const FEWEST: usize = 64;

/// What rows are taken by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// `push`, field by field.
    Program,
    /// Code that is made for them, where it can be.
    Machine,
    /// Code, once there were so many rows that it repays.
    Either,
}

impl Tier {
    /// Whether code may take so many rows.
    pub fn may_run(self, rows: usize) -> bool {
        match self {
            Tier::Program => false,
            Tier::Machine => true,
            Tier::Either => rows >= FEWEST,
        }
    }
}

struct Kept {
    used: u64,
    rows: usize,
    /// None within where none can be made.
    code: Option<Option<Arc<Code>>>,
}

#[derive(Default)]
pub struct Codes {
    kept: HashMap<Key, Kept>,
    clock: u64,
}

/// What to do with rows.
pub enum Advice {
    Push,
    Run(Arc<Code>),
    Make,
}

impl Codes {
    /// What to do with so many rows.
    pub fn advise(&mut self, key: &Key, rows: usize, tier: Tier) -> Advice {
        if !wanted(key, rows, tier) {
            return Advice::Push;
        }
        self.clock += 1;
        let used = self.clock;
        if !self.kept.contains_key(key) {
            let new = Kept {
                used,
                rows: 0,
                code: None,
            };
            self.kept.insert(key.clone(), new);
            self.make_room();
        }
        let Some(kept) = self.kept.get_mut(key) else {
            return Advice::Push;
        };
        kept.used = used;
        kept.rows = kept.rows.saturating_add(rows);
        match &kept.code {
            Some(Some(code)) => Advice::Run(code.clone()),
            Some(None) => Advice::Push,
            None if tier == Tier::Machine || kept.rows > SWITCH => Advice::Make,
            None => Advice::Push,
        }
    }

    /// Keep what was made.
    pub fn keep(&mut self, key: Key, code: Option<Arc<Code>>) {
        self.clock += 1;
        let kept = Kept {
            used: self.clock,
            rows: 0,
            code: Some(code),
        };
        self.kept.insert(key, kept);
        self.make_room();
    }

    /// Bytes of all code.
    pub fn size(&self) -> usize {
        let codes = self.kept.values().filter_map(|kept| kept.code.as_ref()?.as_ref());
        codes.map(|code| code.size()).sum()
    }

    /// Drop what was used longest ago: who runs it holds it.
    fn make_room(&mut self) {
        while self.kept.len() > MOST || self.kept.len() > 1 && self.size() > MOST_BYTES {
            let oldest = self.kept.iter().min_by_key(|(_, kept)| kept.used);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                return;
            };
            self.kept.remove(&oldest);
        }
    }
}

/// Whether code may pay. Where most fields are left to `push`, it does not.
fn wanted(key: &Key, rows: usize, tier: Tier) -> bool {
    let simple = key.fields.iter().filter(|field| **field != Field::Other).count();
    tier.may_run(rows) && (tier == Tier::Machine || 2 * simple > key.fields.len())
}
