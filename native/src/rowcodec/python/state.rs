//! What is kept between calls: encoders with their columns, plans of schemas, classes, and counts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::decode::SharedPlan;
use super::encode::Encoder;
use super::machine::{Advice, Code, Codes, Key, Tier};
use super::record::Classes;
use super::shape::Shape;

/// Shapes, and schemas, that are kept: the one that was used longest ago makes room.
const MOST: usize = 128;
/// Bytes of the columns of all encoders that are kept.
const MOST_BYTES: usize = 64 << 20;

#[derive(Default, Clone, Copy)]
pub struct Counts {
    pub rows_written: u64,
    pub rows_read: u64,
    pub bytes_written: u64,
    pub bytes_read: u64,
    pub rest_rows: u64,
    /// Rows given at once that were not of those asked for.
    pub refused: u64,
    pub compiled: u64,
    pub reused: u64,
    pub machine_rows: u64,
    pub machine_made: u64,
}

#[derive(Default)]
struct Kept {
    classes: Classes,
    /// The encoder, and the plan, that were used last: most calls are like the one before.
    encoder: Option<Encoder>,
    plan: Option<(Vec<u8>, SharedPlan)>,
    encoders: HashMap<Shape, (u64, Encoder)>,
    plans: HashMap<Vec<u8>, (u64, SharedPlan)>,
    codes: Codes,
    counts: Counts,
    clock: u64,
}

/// Of the process. Nothing of Python is called while it is locked.
#[derive(Default)]
pub struct State(Mutex<Kept>);

impl State {
    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The classes, and the encoder that was used last: both are nobody else's until they are put back.
    pub fn begin(&self) -> (Classes, Option<Encoder>) {
        let mut kept = self.kept();
        let (mut classes, encoder) = (std::mem::take(&mut kept.classes), kept.encoder.take());
        drop(kept);
        classes.forget_records();
        (classes, encoder)
    }

    pub fn end(&self, classes: Classes, encoder: Option<Encoder>, add: impl FnOnce(&mut Counts)) {
        let mut kept = self.kept();
        add(&mut kept.counts);
        let before = std::mem::replace(&mut kept.classes, classes);
        let other = std::mem::replace(&mut kept.encoder, encoder);
        drop(kept);
        drop(before);
        if let Some(other) = other {
            self.put_encoder(other);
        }
    }

    /// An encoder for a shape.
    pub fn take_encoder(&self, shape: Shape, coding: bool) -> Encoder {
        let found = self.kept().encoders.remove(&shape);
        let found = found.and_then(|(_, encoder)| encoder.reset(coding));
        self.count(|counts| {
            *(if found.is_some() {
                &mut counts.reused
            } else {
                &mut counts.compiled
            }) += 1
        });
        found.unwrap_or_else(|| Encoder::new(shape, coding))
    }

    pub fn put_encoder(&self, encoder: Encoder) {
        if !encoder.can_be_kept() {
            return;
        }
        let shape = encoder.shape.clone();
        let mut kept = self.kept();
        kept.clock += 1;
        let now = kept.clock;
        let before = kept.encoders.insert(shape, (now, encoder));
        let mut gone = Vec::new();
        loop {
            let bytes: usize = kept
                .encoders
                .values()
                .map(|(_, encoder)| encoder.capacity())
                .sum();
            let most = if bytes > MOST_BYTES { 1 } else { MOST };
            match oldest(&kept.encoders, most, |(clock, _)| *clock) {
                Some(shape) => gone.push(kept.encoders.remove(&shape)),
                None => break,
            }
        }
        drop(kept);
        drop((before, gone));
    }

    pub fn plan(&self, schema: &[u8]) -> Option<SharedPlan> {
        let mut kept = self.kept();
        if let Some((_, plan)) = kept.plan.as_ref().filter(|(last, _)| last == schema) {
            let plan = plan.clone();
            kept.counts.reused += 1;
            return Some(plan);
        }
        kept.clock += 1;
        let now = kept.clock;
        let (clock, plan) = kept.plans.get_mut(schema)?;
        *clock = now;
        let plan = plan.clone();
        kept.counts.reused += 1;
        kept.plan = Some((schema.to_vec(), plan.clone()));
        Some(plan)
    }

    pub fn keep_plan(&self, schema: &[u8], plan: &SharedPlan) {
        let mut kept = self.kept();
        kept.clock += 1;
        kept.counts.compiled += 1;
        let now = kept.clock;
        let before = kept.plans.insert(schema.to_vec(), (now, plan.clone()));
        let oldest = oldest(&kept.plans, MOST, |(clock, _)| *clock);
        let gone = oldest.and_then(|schema| kept.plans.remove(&schema));
        drop(kept);
        drop((before, gone));
    }

    /// Code for so many rows, where there is some or it is time to make it.
    pub fn code(&self, key: Key, rows: usize, tier: Tier) -> Option<Arc<Code>> {
        let advice = self.kept().codes.advise(&key, rows, tier);
        match advice {
            Advice::Push => None,
            Advice::Run(code) => Some(code),
            Advice::Make => {
                let code = Code::of(&key).map(Arc::new);
                let mut kept = self.kept();
                kept.counts.machine_made += u64::from(code.is_some());
                kept.codes.keep(key, code.clone());
                code
            }
        }
    }

    /// Bytes of the machine code that is kept.
    pub fn code_bytes(&self) -> usize {
        self.kept().codes.size()
    }

    pub fn count(&self, add: impl FnOnce(&mut Counts)) {
        add(&mut self.kept().counts);
    }

    pub fn counts(&self) -> Counts {
        self.kept().counts
    }
}

/// The key that was used longest ago, where there are more than so many.
fn oldest<K: Clone + Eq + std::hash::Hash, V>(
    kept: &HashMap<K, V>,
    most: usize,
    clock: impl Fn(&V) -> u64,
) -> Option<K> {
    if kept.len() <= most {
        return None;
    }
    kept.iter()
        .min_by_key(|(_, value)| clock(value))
        .map(|(key, _)| key.clone())
}
