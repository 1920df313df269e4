//! Names, places and order of a metadata workload's files, against a plain reckoning; and what is refused.

use mileage_workload::{
    CreateCall, Directories, Items, Metadata, MetadataLayout, MetadataOp, MetadataOrder, MetadataPaths, MetadataVisits,
    Names, SetUp, Tree,
};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn plain() -> Metadata {
    Metadata { files: 100, ..Metadata::default() }
}

type Change = fn(&mut Metadata);

fn refusal(change: impl FnOnce(&mut Metadata)) -> String {
    let mut metadata = plain();
    change(&mut metadata);
    metadata.check().unwrap_err().to_string()
}

#[test]
fn a_field_without_effect_is_refused() {
    assert_eq!(plain().check(), Ok(()));
    assert_eq!(refusal(|m| m.files = 0), "files is 0: expected 1 to 4294967295");
    assert_eq!(refusal(|m| m.stride_workers = 1), "stride_workers is 1: expected 0 to 0");
    let cases: [(&str, Change); 12] = [
        ("on is directories", |m| m.on = Items::Directories),
        ("file_bytes is 0", |m| m.operation = MetadataOp::Read),
        ("file_bytes is 8", |m| (m.operation, m.file_bytes) = (MetadataOp::Mkdir, 8)),
        ("fsync is true", |m| (m.operation, m.fsync) = (MetadataOp::Stat, true)),
        ("passes is 2", |m| m.passes = 2),
        ("stride_workers is 1", |m| (m.threads, m.stride_workers) = (2, 1)),
        ("set_up is First", |m| m.set_up = SetUp::First),
        ("create_with is Truncating", |m| {
            (m.operation, m.create_with) = (MetadataOp::Rmdir, CreateCall::Truncating);
        }),
        ("place is fresh", |m| (m.operation, m.set_up) = (MetadataOp::Stat, SetUp::Existing)),
        ("keep is true", |m| m.keep = true),
        ("directories is 1001001001", |m| m.tree = Tree { depth: 3, fan_out: 1000, leaves_only: false }),
        ("threads is 0", |m| m.threads = 0),
    ];
    for (expected, change) in cases {
        let found = refusal(change);
        assert!(found.starts_with(expected), "{found}: expected {expected}");
    }
}

#[test]
fn trees_are_taken_whole_and_in_order() {
    let valid = |m: &mut Metadata| {
        (m.operation, m.on, m.directories) = (MetadataOp::Mkdir, Items::Tree, Directories::PerWorker);
        (m.tree, m.threads, m.files) = (Tree { depth: 2, fan_out: 3, leaves_only: false }, 2, 26);
    };
    let mut tree = plain();
    valid(&mut tree);
    assert_eq!(tree.check(), Ok(()));
    let cases: [(&str, Change); 6] = [
        ("on is tree", |m| m.operation = MetadataOp::Stat),
        ("directories is shared", |m| m.directories = Directories::Shared),
        ("files is 25", |m| m.files = 25),
        ("tree.leaves_only is true", |m| m.tree.leaves_only = true),
        ("order is shuffled", |m| m.order = MetadataOrder::Shuffled),
        ("stride_workers is 1", |m| m.stride_workers = 1),
    ];
    for (expected, change) in cases {
        let found = refusal(|m| (valid(m), change(m)).1);
        assert!(found.starts_with(expected), "{found}: expected {expected}");
    }
    assert_eq!(MetadataLayout::new(&tree).unwrap().to_make().count(), 0, "the run itself makes them");
    let made = paths(&tree, 1);
    assert_eq!((made.len(), made[0].as_str(), made[12].as_str()), (13, "base/w1", "base/w1/d3/d12"));
    let visited = |metadata: &Metadata| {
        let mut visits = MetadataVisits::new(metadata, &MetadataLayout::new(metadata).unwrap(), 1).unwrap();
        std::iter::from_fn(|| visits.next()).collect::<Vec<_>>()
    };
    assert_eq!(visited(&tree), (0..13).collect::<Vec<_>>(), "each before those in it");
    let removed = Metadata { operation: MetadataOp::Rmdir, ..tree };
    assert_eq!(visited(&removed), (0..13).rev().collect::<Vec<_>>(), "those in it before each");
}

#[test]
fn names_that_cannot_be_are_refused() {
    let item = |text: &str| refusal(|m| m.names.item = text.to_owned());
    for text in ["", "..", "a/{item}", "f{items}", "f{item", "fixed", "{item}{item}", "f{item}{node}", &"x".repeat(300)]
    {
        assert!(item(text).starts_with("names.item is "), "{text}");
    }
    assert!(refusal(|m| (m.threads, m.names.item) = (2, "f{item}".to_owned())).contains("{worker}"));
    let own = |m: &mut Metadata| (m.threads, m.directories) = (2, Directories::PerWorker);
    assert!(refusal(|m| (own(m), m.names.directory = "same".to_owned()).0).starts_with("names.directory"));
    let deep = Tree { depth: 1, fan_out: 2, leaves_only: false };
    assert!(refusal(|m| (m.tree, m.names.node) = (deep, "f{node}".to_owned())).starts_with("names.node"));
    let leaves = Tree { leaves_only: true, ..deep };
    let leaves_only =
        Metadata { tree: leaves, names: Names { node: "f{node}".to_owned(), ..Names::default() }, ..plain() };
    assert_eq!(leaves_only.check(), Ok(()), "files and directories never meet when only leaves hold files");
}

#[test]
fn json_needs_only_what_differs_and_names_a_misspelt_key() {
    let short: Metadata = serde_json::from_str(r#"{"operation": "stat", "files": 7}"#).unwrap();
    assert_eq!(short, Metadata { operation: MetadataOp::Stat, files: 7, ..Metadata::default() });
    let text = serde_json::to_string(&short).unwrap();
    assert_eq!(serde_json::from_str::<Metadata>(&text).unwrap(), short);
    let message = serde_json::from_str::<Metadata>(r#"{"file": 7}"#).unwrap_err().to_string();
    assert!(message.starts_with("unknown field `file`"), "{message}");
}

fn paths(metadata: &Metadata, worker: u32) -> Vec<String> {
    let layout = MetadataLayout::new(metadata).unwrap();
    let mut paths = MetadataPaths::new(metadata, &layout, b"base/", worker).unwrap();
    (0..metadata.items_of(worker)).map(|item| paths.path_of(item).to_str().unwrap().to_owned()).collect()
}

#[test]
fn the_tools_own_names_can_be_said() {
    let metarates = Names { item: "n{worker}f{item}".to_owned(), directory: "{worker}".to_owned(), ..Names::default() };
    let shared = Metadata { names: metarates, threads: 2, files: 5, ..plain() };
    assert_eq!(paths(&shared, 1), ["base/n1f0", "base/n1f1"]);
    let own = Metadata { directories: Directories::PerWorker, ..shared };
    assert_eq!(paths(&own, 0), ["base/0/n0f0", "base/0/n0f1", "base/0/n0f2"]);
    let mdtest = Names {
        item: "file.mdtest.{worker}.{item}".to_owned(),
        node: "mdtest_tree.0.{node}".to_owned(),
        ..Names::default()
    };
    let tree = Tree { depth: 2, fan_out: 2, leaves_only: true };
    let metadata = Metadata { names: mdtest, tree, files: 4, ..plain() };
    assert_eq!(paths(&metadata, 0)[3], "base/mdtest_tree.0.2/mdtest_tree.0.6/file.mdtest.0.3");
}

#[test]
fn a_renamed_file_keeps_its_directory() {
    let layout = MetadataLayout::new(&plain()).unwrap();
    let mut paths = MetadataPaths::new(&plain(), &layout, b"", 0).unwrap();
    let (from, to) = paths.pair_of(12);
    assert_eq!((from, to), (c"f0.12", c"f0.12.renamed"));
    assert_eq!(paths.path_of(3), c"f0.3");
    assert_eq!(paths.directory(0), c".");
    assert_eq!(paths.path_of(3), c"f0.3", "after a directory's path the next file's is whole again");
}

fn any_metadata() -> impl Strategy<Value = Metadata> {
    let tree = (0_u32..4, 1_u32..4, any::<bool>());
    (1_u32..5, 5_u64..300, any::<bool>(), tree, any::<bool>(), 1_u32..4, any::<u64>()).prop_map(
        |(threads, files, own, (depth, fan_out, leaves_only), shuffled, passes, seed)| Metadata {
            operation: MetadataOp::Stat,
            threads,
            files,
            directories: if own { Directories::PerWorker } else { Directories::Shared },
            tree: Tree { depth, fan_out, leaves_only },
            order: if shuffled { MetadataOrder::Shuffled } else { MetadataOrder::InOrder },
            stride_workers: (seed % u64::from(threads)) as u32,
            passes,
            seed,
            ..Metadata::default()
        },
    )
}

proptest! {
    #[test]
    fn every_file_has_one_path_in_a_directory_that_is_made(metadata in any_metadata()) {
        let layout = MetadataLayout::new(&metadata).unwrap();
        let made: Vec<String> = layout.to_make().map(|path| format!("base/{path}")).collect();
        for (at, path) in made.iter().enumerate() {
            let (parent, _) = path.trim_end_matches('/').rsplit_once('/').unwrap();
            prop_assert!(parent == "base" || made[..at].contains(&format!("{parent}/")), "{} before its parent", path);
        }
        let all: Vec<String> = (0..metadata.threads).flat_map(|worker| paths(&metadata, worker)).collect();
        prop_assert_eq!(all.len() as u64, metadata.files);
        prop_assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        for path in &all {
            let (directory, _) = path.rsplit_once('/').unwrap();
            prop_assert!(directory == "base" || made.contains(&format!("{directory}/")), "{} lies nowhere", path);
            let levels = directory.matches('/').count() as u32;
            let own = u32::from(metadata.directories == Directories::PerWorker);
            prop_assert!(!metadata.tree.leaves_only || levels == metadata.tree.depth + own, "{} is no leaf", path);
        }
    }

    #[test]
    fn directories_hold_equal_numbers(metadata in any_metadata()) {
        let layout = MetadataLayout::new(&metadata).unwrap();
        for worker in 0..metadata.threads {
            let all = paths(&metadata, worker);
            let held = layout.holding(worker).iter().map(|directory| {
                let of = format!("base/{directory}");
                all.iter().filter(|path| path.rsplit_once('/').unwrap().0.len() + 1 == of.len() && path.starts_with(&of)).count()
            });
            let held: Vec<usize> = held.collect();
            prop_assert!(held.iter().max().unwrap() - held.iter().min().unwrap() <= 1, "{:?}", held);
        }
    }

    #[test]
    fn each_pass_visits_each_file_once(metadata in any_metadata()) {
        let layout = MetadataLayout::new(&metadata).unwrap();
        for worker in 0..metadata.threads {
            let mut visits = MetadataVisits::new(&metadata, &layout, worker).unwrap();
            let count = metadata.items_of(metadata.owner_for(worker));
            prop_assert_eq!(MetadataVisits::total_of(&metadata, &layout, worker), count * u64::from(metadata.passes));
            let all: Vec<u64> = std::iter::from_fn(|| visits.next()).collect();
            prop_assert_eq!(all.len() as u64, count * u64::from(metadata.passes));
            for pass in all.chunks(count as usize) {
                let mut sorted = pass.to_vec();
                sorted.sort_unstable();
                prop_assert_eq!(sorted, (0..count).collect::<Vec<_>>());
                prop_assert!(metadata.order == MetadataOrder::Shuffled || pass.is_sorted());
            }
        }
    }
}

#[test]
fn shuffles_differ_between_seeds_workers_and_passes() {
    let metadata = Metadata {
        operation: MetadataOp::Stat,
        files: 200,
        threads: 2,
        passes: 2,
        order: MetadataOrder::Shuffled,
        ..plain()
    };
    let order = |metadata: &Metadata, worker| {
        let layout = MetadataLayout::new(metadata).unwrap();
        let mut visits = MetadataVisits::new(metadata, &layout, worker).unwrap();
        std::iter::from_fn(|| visits.next()).collect::<Vec<u64>>()
    };
    let first = order(&metadata, 0);
    assert_eq!(first, order(&metadata, 0));
    assert_ne!(first[..100], first[100..], "a further pass has another order");
    assert_ne!(first, order(&metadata, 1));
    assert_ne!(first, order(&Metadata { seed: 1, ..metadata }, 0));
}
