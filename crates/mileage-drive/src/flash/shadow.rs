//! A shadow of the flash for tests: it obeys the rules of cells and knows what every page must hold. And small drives to
//! hold it against.

use super::cells::Cells;
use super::map::NOWHERE;
use crate::profile::FlashProfile;
use std::collections::HashMap;

/// Content of a page: a logical page and its version; `None`: erased.
type Content = Option<(u32, u64)>;

/// The flash as it must be. Panics when a rule of cells is broken.
#[derive(Clone, Debug)]
pub(crate) struct Shadow {
    pages_per_block: u32,
    pages: Vec<Content>,
    /// First page of every block that may be programmed.
    next: Vec<u32>,
    /// The version that the host wrote last, and whether it discarded it since.
    versions: Vec<(u64, bool)>,
    /// Number of pages that hold each content.
    held: HashMap<(u32, u64), u32>,
    pub programs: u64,
    pub copies: u64,
    pub erases: u64,
}

impl Shadow {
    pub(crate) fn new(blocks: u32, pages_per_block: u32, logical: u32) -> Self {
        Self {
            pages_per_block,
            pages: vec![None; (blocks * pages_per_block) as usize],
            next: vec![0; blocks as usize],
            versions: vec![(0, true); logical as usize],
            held: HashMap::new(),
            programs: 0,
            copies: 0,
            erases: 0,
        }
    }

    /// The host is about to write a page.
    pub(crate) fn host_writes(&mut self, page: u32) {
        let (version, _) = self.versions[page as usize];
        self.versions[page as usize] = (version + 1, false);
    }

    /// The host discards a page; whether it was there.
    pub(crate) fn discard(&mut self, page: u32) -> bool {
        !std::mem::replace(&mut self.versions[page as usize].1, true)
    }

    fn program(&mut self, page: u32, content: Content) {
        let block = page / self.pages_per_block;
        let offset = page % self.pages_per_block;
        assert!(offset >= self.next[block as usize], "page {page} programmed twice, or out of order, since an erase");
        self.next[block as usize] = offset + 1;
        self.pages[page as usize] = content;
        content.into_iter().for_each(|content| *self.held.entry(content).or_default() += 1);
    }

    /// Check that each mapped place holds the data written last, and that everything not discarded is mapped.
    pub(crate) fn compare(&self, places: &[u32]) {
        for (logical, (version, gone)) in self.versions.iter().enumerate() {
            let place = places[logical];
            assert_eq!(place == NOWHERE, *gone, "logical page {logical}: mapped or not");
            if place != NOWHERE {
                let found = self.pages[place as usize];
                assert_eq!(found, Some((logical as u32, *version)), "logical page {logical} read from {place}");
            }
        }
    }
}

impl Cells for Shadow {
    fn programmed(&mut self, page: u32, logical: u32) {
        self.programs += 1;
        let (version, _) = self.versions[logical as usize];
        self.program(page, Some((logical, version)));
    }

    fn copied(&mut self, from: u32, to: u32) {
        self.copies += 1;
        let content = self.pages[from as usize];
        assert!(content.is_some(), "page {from} was copied, but it is erased");
        self.program(to, content);
    }

    fn erased(&mut self, block: u32) {
        self.erases += 1;
        let first = (block * self.pages_per_block) as usize;
        for page in &mut self.pages[first..first + self.pages_per_block as usize] {
            if let Some(content) = page.take() {
                let copies = self.held.entry(content).or_default();
                *copies -= 1;
                let needed = self.versions[content.0 as usize] == (content.1, false);
                assert!(!needed || *copies > 0, "the only copy of logical page {} was erased", content.0);
            }
        }
        self.next[block as usize] = 0;
    }
}

/// A drive of `units` planes of blocks of `pages` pages, without a buffer; `more` are further figures as they stand in a
/// profile.
pub(crate) fn small_profile(
    (units, blocks, pages): (u32, u32, u32),
    page_bytes: u64,
    capacity_bytes: u64,
    more: &[(&str, String)],
) -> FlashProfile {
    let mut text = String::from("name = \"sketch\"\ntitle = \"Sketch\"\nkind = \"flash\"\n");
    let mut figure = |key: &str, value: &str| {
        text += &[key, " = { value = ", value, ", source = \"a test\", confidence = \"defined\" }\n"].concat();
    };
    for (key, value) in [
        ("capacity_bytes", capacity_bytes),
        ("page_bytes", page_bytes),
        ("pages_per_block", u64::from(pages)),
        ("blocks_per_plane", u64::from(blocks)),
        ("planes_per_die", 1),
        ("dies_per_channel", 1),
        ("channels", u64::from(units)),
        ("queue_depth_max", 32),
        ("write_buffer_pages", 0),
    ] {
        if more.iter().all(|(given, _)| *given != key) {
            figure(key, &value.to_string());
        }
    }
    for key in ["read_us", "program_us", "erase_us", "controller_us", "channel_mb_per_s", "link_mb_per_s"] {
        figure(key, "50.0");
    }
    more.iter().for_each(|(key, value)| figure(key, value));
    FlashProfile::parse(&text).unwrap()
}
