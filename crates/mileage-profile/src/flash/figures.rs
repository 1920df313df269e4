//! The figures of a profile as lines of a data sheet, with the defaults of the policies that the profile does not state.

use super::array_order::scheduling;
use super::buffer::WriteBuffer;
use super::chip::Chip;
use super::choices::Duplex;
use super::factory::FactoryBad;
use super::packing::Packing;
use super::policies::{FREE_BLOCKS_MIN, Policies};
use super::slc::SlcCache;
use super::text::Text;
use crate::figure::{Confidence, Figure, ProfileError};
use crate::link::Link;

/// Source of a policy that a profile does not state.
const NOT_STATED: &str = "the profile does not state it";

fn by_default<T>(value: T) -> Figure<T> {
    Figure { value, source: NOT_STATED.to_owned(), confidence: Confidence::Default, alternatives: Vec::new() }
}

/// Default of a figure: the first choice of a policy, or zero.
fn first<T: Default>() -> T {
    T::default()
}

/// Both ways at a time where the link's standard carries data so.
fn duplex(text: &Text) -> Duplex {
    let link = text.link.as_ref().and_then(|figure| Link::parse(figure).ok());
    if link.is_some_and(|link| link.full_duplex) { Duplex::Full } else { Duplex::Half }
}

impl Text {
    /// The same figures with the default of every policy that is not stated. A default that would be refused together
    /// with stated policies has no effect and is omitted. Where choices exclude each other, those that are only
    /// assumed yield to the others, so that any of these can be varied.
    pub(super) fn with_defaults(self) -> Self {
        let mut text = self;
        macro_rules! fill {
            ($($key:ident: $default:expr),+,) => {
                let mut known = text.clone();
                $(known.$key.take_if(|figure| figure.confidence == Confidence::Assumed);)+
                if text.choices_hold().is_err() && known.choices_hold().is_ok() {
                    std::mem::swap(&mut text, &mut known);
                }
                $(
                    if text.$key.is_none() {
                        text.$key = Some(known.$key.unwrap_or_else(|| by_default($default)));
                        if text.choices_hold().is_err() {
                            text.$key = None;
                        }
                    }
                )+
            };
        }
        fill! {
            mapping: first(),
            gc_victim: first(),
            gc_pace: first(),
            gc_free_blocks_min: FREE_BLOCKS_MIN,
            gc_idle_free_blocks: first(),
            frontiers: first(),
            allocation: first(),
            plane_work: first(),
            plane_reads: first(),
            levelling: first(),
            end_of_life: first(),
            replacement_blocks: first(),
            pe_spread_percent: first(),
            factory_bad_blocks_per_die: first(),
            write_buffer_flush: first(),
            write_buffer_reads: first(),
            write_combining: first(),
            flush_us: first(),
            trim: first(),
            scheduling: first(),
            suspend: first(),
            link_duplex: duplex(&text),
            gc_copies: first(),
        }
        text
    }

    /// Check that the stated choices can be combined.
    fn choices_hold(&self) -> Result<(), ProfileError> {
        let policies = Policies::read(self)?;
        let packs = Packing::read(self, &policies)?.packs();
        SlcCache::read(self, &policies)?;
        WriteBuffer::read(self, &policies, packs)?;
        Chip::read(self, &policies, packs)?;
        scheduling(self, &policies, packs)?;
        FactoryBad::read(self)?;
        Ok(())
    }
}
