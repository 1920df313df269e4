//! A controller that packs never loses a content: a second table has what every page must hold and is compared.

use super::{GONE, IncomingPage, PackedMap, Use};
use crate::flash::FlashDrive;
use crate::flash::layer::Layer;
use crate::profile::FlashProfile;
use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::HashMap;

fn drive(dedupe_contents: u32) -> FlashDrive {
    let mut text = String::from("name = \"packs\"\ntitle = \"Packs\"\nkind = \"flash\"\n");
    for (key, value) in [
        ("capacity_bytes", 100 * 4096),
        ("page_bytes", 4096),
        ("pages_per_block", 4),
        ("blocks_per_plane", 22),
        ("planes_per_die", 1),
        ("dies_per_channel", 1),
        ("channels", 2),
        ("read_us", 50),
        ("program_us", 200),
        ("erase_us", 1000),
        ("controller_us", 1),
        ("channel_mb_per_s", 200),
        ("link_mb_per_s", 200),
        ("queue_depth_max", 8),
        ("write_buffer_pages", 0),
        ("compression_unit_bytes", 64),
        ("dedupe_contents", dedupe_contents),
    ] {
        let value = value.to_string();
        text += &[key, " = { value = ", &value, ", source = \"a test\", confidence = \"defined\" }\n"].concat();
    }
    FlashDrive::new(FlashProfile::parse(&text).unwrap())
}

/// Every page has the content written last, in a place of its own in a block that is written.
fn compare(packed: &PackedMap, expected: &HashMap<u32, u64>) {
    let mut pages_of: HashMap<u32, u32> = HashMap::new();
    for (page, content) in (0..).zip(&packed.holds) {
        let print = packed.shared.get(*content as usize).map(|shared| shared.print);
        assert_eq!(print, expected.get(&page).copied(), "page {page}");
        if print.is_some() {
            *pages_of.entry(*content).or_default() += 1;
        }
    }
    assert_eq!(packed.mapped as usize, expected.len());
    let mut places = Vec::new();
    let mut valid: HashMap<u32, u32> = HashMap::new();
    for (content, stored) in (0..).zip(&packed.stored) {
        assert_eq!(*stored == GONE, !pages_of.contains_key(&content), "content {content} is there or nobody has it");
        if *stored != GONE {
            assert_eq!(packed.shared[content as usize].pages, pages_of[&content]);
            assert_ne!(packed.blocks[stored.block as usize].used, Use::Erased);
            assert!(packed.blocks[stored.block as usize].contents.contains(&(content, stored.offset_bytes)));
            places.push((stored.block, stored.offset_bytes, stored.bytes));
            *valid.entry(stored.block).or_default() += stored.bytes;
        }
    }
    places.sort_unstable();
    let apart = |pair: &[(u32, u32, u32)]| pair[0].0 != pair[1].0 || pair[0].1 + pair[0].2 <= pair[1].1;
    assert!(places.windows(2).all(apart), "two contents in one place");
    for (number, block) in (0..).zip(&packed.blocks) {
        assert_eq!(block.valid_bytes, valid.get(&number).copied().unwrap_or(0), "valid bytes of block {number}");
    }
    assert_eq!(packed.vacant.len() + pages_of.len(), packed.stored.len());
}

#[test]
fn every_page_has_the_content_that_was_written_last() {
    for seed in 0..40 {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut draw = |limit: u64| rng.next_u64() % limit;
        let mut drive = drive([1, 7, 1000][seed as usize % 3]);
        let mut expected: HashMap<u32, u64> = HashMap::new();
        let (most_bytes, contents) = (1 + draw(4096) as u32, 1 + draw(2000));
        for step in 0..3000 {
            let (page, print) = (draw(100) as u32, draw(contents));
            let FlashDrive { layer: Layer::Packed(packed), medium, .. } = &mut drive else { unreachable!() };
            match draw(200) {
                0 => {
                    packed.erase_all();
                    expected.clear();
                }
                1..=20 => assert_eq!(packed.forget(page), expected.remove(&page).is_some(), "seed {seed}"),
                _ => {
                    // Derive the length from the content, because a content always has the same length.
                    let bytes = (print.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32 % most_bytes;
                    packed.write(page, IncomingPage { print, bytes }, 0, medium);
                    expected.insert(page, print);
                }
            }
            if step % 50 == 0 {
                compare(packed, &expected);
            }
        }
    }
}
