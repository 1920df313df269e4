//! The queue of waiting requests, compared with one that looks at each of them.

use mileage_host::block_request::{BlockRequest, Kind};
use mileage_host::request_queue::RequestQueue;
use proptest::prelude::*;

/// The same queue as a list: each request is looked at.
#[derive(Default)]
struct List(Vec<(u64, BlockRequest)>);

impl List {
    fn merge(&mut self, piece: &BlockRequest, most: u64, reach: usize) -> bool {
        let found = self.0.iter_mut().rev().take(reach).find(|(_, it)| {
            (it.kind, it.fua, it.separate) == (piece.kind, piece.fua, piece.separate)
                && it.length + piece.length <= most
                && (it.offset + it.length == piece.offset || piece.offset + piece.length == it.offset)
        });
        let Some((_, found)) = found else { return false };
        found.offset = found.offset.min(piece.offset);
        found.length += piece.length;
        true
    }

    fn first(&self, is_asked: impl Fn(&BlockRequest) -> bool) -> Option<u64> {
        self.0.iter().find(|(_, it)| is_asked(it)).map(|(at, _)| *at)
    }

    fn lowest_from(&self, writing: bool, byte: u64) -> Option<u64> {
        let these = self.0.iter().filter(|(_, it)| (it.kind != Kind::Read) == writing && it.offset >= byte);
        these.min_by_key(|(_, it)| it.offset).map(|(at, _)| *at)
    }
}

/// What is done to both: a piece comes (merged or not), or one of four ways to choose takes a request out.
#[derive(Clone, Debug)]
enum Step {
    Come { kind: Kind, place: u64, pages: u64, fua: bool, most_pages: u64, reach: usize },
    TakeFirst,
    TakeFlush,
    TakeFirstOf(bool),
    TakeLowest(bool, u64),
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![
        4 => Just(Kind::Write), 4 => Just(Kind::Read), 1 => Just(Kind::Discard), 1 => Just(Kind::Flush)
    ];
    let reach = prop_oneof![Just(usize::MAX), Just(8), Just(2)];
    let come = (kind, 0..24_u64, 1..4_u64, prop::bool::weighted(0.1), 2..9_u64, reach);
    prop_oneof![
        6 => come.prop_map(|(kind, place, pages, fua, most_pages, reach)| {
            let pages = if kind == Kind::Flush { 0 } else { pages };
            Step::Come { kind, place, pages, fua, most_pages, reach }
        }),
        1 => Just(Step::TakeFirst),
        1 => Just(Step::TakeFlush),
        1 => any::<bool>().prop_map(Step::TakeFirstOf),
        2 => (any::<bool>(), 0..28_u64).prop_map(|(writing, place)| Step::TakeLowest(writing, place)),
    ]
}

proptest! {
    #[test]
    fn requests_found_by_address_are_those_that_a_search_of_all_finds(
        steps in prop::collection::vec(step(), 1..120)
    ) {
        let (mut queue, mut list, mut arrivals) = (RequestQueue::default(), List::default(), 0);
        for (number, step) in steps.into_iter().enumerate() {
            let (found, expected) = match step {
                Step::Come { kind, place, pages, fua, most_pages, reach } => {
                    let piece = BlockRequest::new(kind, place * 4096, pages * 4096, fua, number as u64);
                    let is_merged = matches!(kind, Kind::Read | Kind::Write)
                        && list.merge(&piece, most_pages * 4096, reach);
                    if matches!(kind, Kind::Read | Kind::Write) {
                        let merged = queue.merge(&piece, number as u64, most_pages * 4096, reach);
                        prop_assert_eq!(merged.is_some(), is_merged);
                    }
                    if !is_merged {
                        list.0.push((arrivals, piece.clone()));
                        queue.push(piece);
                        arrivals += 1;
                    }
                    continue;
                }
                Step::TakeFirst => (queue.first(), list.first(|_| true)),
                Step::TakeFlush => (queue.first_flush(), list.first(|it| it.kind == Kind::Flush)),
                Step::TakeFirstOf(writing) => (
                    queue.first_of(writing).map(|(at, _)| at),
                    list.first(|it| (it.kind != Kind::Read) == writing),
                ),
                Step::TakeLowest(writing, place) => {
                    (queue.lowest_from(writing, place * 4096), list.lowest_from(writing, place * 4096))
                }
            };
            prop_assert_eq!(found, expected);
            if let Some(at) = found {
                let place = list.0.iter().position(|(it, _)| *it == at).expect("it is in the list");
                let (taken, listed) = (queue.remove(at).expect("it waits"), list.0.remove(place).1);
                prop_assert_eq!((taken.offset, taken.length), (listed.offset, listed.length));
            }
            prop_assert_eq!(queue.len(), list.0.len());
        }
        let left: Vec<_> = Vec::from(queue).into_iter().map(|it| (it.kind, it.offset, it.length)).collect();
        let listed: Vec<_> = list.0.into_iter().map(|(_, it)| (it.kind, it.offset, it.length)).collect();
        prop_assert_eq!(left, listed);
    }
}
