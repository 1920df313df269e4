//! Profiles: the shipped ones are valid and sourced, impossible ones are refused in one line that names the figure.

use crate::drives::{BX200, INTEL_600P, PLAIN, SANDFORCE, Sketch, X25E, do_workload, workload};
use mileage_drive::profile::Confidence;
use mileage_drive::{FlashDrive, FlashProfile, Profile};
use mileage_workload::PatternKind::Random;

#[test]
fn shipped_profiles_are_valid_and_every_figure_has_a_source() {
    for (text, name, capacity_bytes, raw_bytes) in [
        (X25E, "intel-x25e-64gb", 64_000_000_000, 80 << 30),
        (PLAIN, "plain-64gib", 59_756_064_768, 64 << 30),
        (SANDFORCE, "sandforce-1222-64gb", 64_000_000_000, 64 << 30),
        (INTEL_600P, "intel-600p-512gb", 512_000_000_000, 576 << 30),
        (BX200, "crucial-bx200-240gb", 240_000_008_192, 16 * 1365 * 768 * 16384),
    ] {
        let profile = FlashProfile::parse(text).unwrap();
        assert_eq!(
            (profile.basics.name.as_str(), profile.basics.capacity_bytes, profile.raw_bytes()),
            (name, capacity_bytes, raw_bytes)
        );
        for figure in &profile.basics.figures {
            assert!(figure.source.len() >= 5, "{name}: {}", figure.name);
        }
    }
    let x25e = FlashProfile::parse(X25E).unwrap();
    assert_eq!(x25e.basics.rated_write_bytes, Some(2_000_000_000_000_000));
    assert!((x25e.over_provisioning() - 0.342).abs() < 0.001);
    let channels = x25e.basics.figures.iter().find(|figure| figure.name == "channels").unwrap();
    assert_eq!((channels.value.as_str(), channels.confidence), ("10", Confidence::Source));
}

#[test]
fn what_no_drive_can_be_is_refused() {
    let tiny = Sketch::tiny();
    for (sketch, key, found) in [
        (Sketch { channels: 0, ..tiny.clone() }, "channels", "0"),
        (Sketch { dies: 0, ..tiny.clone() }, "dies_per_channel", "0"),
        (Sketch { pages: 0, ..tiny.clone() }, "pages_per_block", "0"),
        (Sketch { pages: 1, ..tiny.clone() }, "pages_per_block", "1"),
        (Sketch { pages: 9000, ..tiny.clone() }, "pages_per_block", "9000"),
        (Sketch { blocks: 2, ..tiny.clone() }, "blocks_per_plane", "2"),
        (Sketch { page_bytes: 3000, ..tiny.clone() }, "page_bytes", "3000"),
        (Sketch { page_bytes: 256, ..tiny.clone() }, "page_bytes", "256"),
        (Sketch { capacity_bytes: 0, ..tiny.clone() }, "capacity_bytes", "0"),
        (Sketch { capacity_bytes: 5000, ..tiny.clone() }, "capacity_bytes", "5000"),
        (Sketch { capacity_bytes: 97 * 4096, ..tiny.clone() }, "capacity_bytes", "397312"),
        (Sketch { blocks: 1 << 30, ..tiny.clone() }, "blocks_per_plane", "1073741824"),
        (Sketch { read_us: 0.0, ..tiny.clone() }, "read_us", "0"),
        (Sketch { program_us: f64::NAN, ..tiny.clone() }, "program_us", "NaN"),
        (Sketch { erase_us: -5.0, ..tiny.clone() }, "erase_us", "-5"),
        (Sketch { link_mb_per_s: 0.0, ..tiny.clone() }, "link_mb_per_s", "0"),
        (Sketch { channel_mb_per_s: f64::INFINITY, ..tiny.clone() }, "channel_mb_per_s", "inf"),
        (Sketch { queue: 0, ..tiny.clone() }, "queue_depth_max", "0"),
    ] {
        let text = sketch.text().replace("NaN", "nan");
        let error = FlashProfile::parse(&text).unwrap_err().to_string();
        assert!(error.contains(key) && error.contains(found) && error.contains("expected"), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
    // All that is allowed still has room to collect.
    assert!(FlashProfile::parse(&Sketch { capacity_bytes: 96 * 4096, ..tiny }.text()).is_ok());
}

#[test]
fn a_controller_that_packs_refuses_what_it_does_not_do() {
    let tiny = Sketch { capacity_bytes: 40 * 4096, ..Sketch::tiny() };
    let unit = ("compression_unit_bytes", "64");
    for (more, found) in [
        (vec![("compression_unit_bytes", "8")], "8: expected"),
        (vec![("compression_unit_bytes", "4096")], "4096: expected"),
        (vec![("compression_unit_bytes", "100")], "a power of two"),
        (vec![("dedupe_contents", "0")], "dedupe_contents is 0"),
        (vec![unit, ("mapping", "\"block\"")], "mapping page"),
        (vec![unit, ("gc_victim", "\"fifo\"")], "gc_victim greedy"),
        (vec![unit, ("gc_idle_free_blocks", "3")], "no gc_idle_free_blocks"),
        (vec![unit, ("frontiers", "\"hot-cold\"")], "frontiers shared"),
        (vec![("dedupe_contents", "5"), ("allocation", "\"by-address\"")], "other than by-address"),
        (vec![unit, ("levelling", "\"dynamic\"")], "levelling none"),
    ] {
        let error = FlashProfile::parse(&tiny.clone().with(&more).text()).unwrap_err().to_string();
        assert!(error.contains(found) && !error.contains('\n'), "{found}: {error}");
    }
    assert!(FlashProfile::parse(&tiny.with(&[unit, ("dedupe_contents", "5")]).text()).is_ok());
}

#[test]
fn mistakes_in_the_text_name_the_line() {
    let text = Sketch::tiny().text();
    for (from, to, expected) in [
        ("channels = {", "chanels = {", "chanels"),
        ("kind = \"flash\"", "kind = \"tape\"", "tape"),
        ("page_bytes = { value = 4096", "page_bytes = { value = \"4k\"", "page_bytes"),
        ("page_bytes = { value = 4096, source", "page_bytes = { value = 4096, sauce", "sauce"),
        ("confidence = \"defined\"", "confidence = \"certain\"", "certain"),
        ("queue_depth_max = { value = 32", "queue_depth_max = { value = -1", "queue_depth_max"),
        ("read_us = { value = 50.0, ", "read_us = { ", "missing field `value`"),
        ("read_us", "# read_us", "missing field `read_us`"),
        ("title = \"Sketch\"", "title = ", "title"),
        ("name = \"sketch\"", "name = \"Sk etch\"", "Sk etch"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = Profile::parse(&text.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
        assert!(!error.contains('\n') && error.starts_with("drive profile"), "{error}");
    }
}

#[test]
fn the_kind_is_flash_unless_the_profile_names_another_and_one_that_is_unknown_is_refused_with_the_list() {
    let text = Sketch::tiny().text();
    let silent = text.replace("kind = \"flash\"\n", "");
    assert_ne!(silent, text);
    assert_eq!(Profile::parse(&silent), Profile::parse(&text));
    let error = Profile::parse(&text.replace("\"flash\"", "\"tape\"")).unwrap_err().to_string();
    assert!(error.starts_with("drive profile, line 3 ("), "{error}");
    assert!(error.ends_with("kind is \"tape\": expected flash or disk or smr-disk or xpoint or array"), "{error}");
}

/// A policy that is not stated has its default in the list; one that is only assumed yields to a choice that excludes it.
#[test]
fn defaults_are_listed_and_assumptions_yield() {
    let confidence = |text: &str, name: &str| {
        let profile = FlashProfile::parse(text).unwrap();
        profile.basics.figures.iter().find(|figure| figure.name == name).map(|figure| figure.confidence)
    };
    let text = Sketch::tiny().text();
    assert_eq!(confidence(&text, "gc_pace"), Some(Confidence::Default));
    assert_eq!(confidence(&text, "write_combining"), None, "there is no buffer");
    let assumed = "gc_pace = { value = \"paced\", source = \"a test\", confidence = \"assumed\" }\n";
    let idle = "gc_idle_free_blocks = { value = 3, source = \"a test\", confidence = \"assumed\" }\n\
                gc_idle_after_us = { value = 9, source = \"a test\", confidence = \"defined\" }\n";
    let known = "mapping = { value = \"block\", source = \"a test\", confidence = \"defined\" }\n";
    assert_eq!(confidence(&(text.clone() + assumed + idle), "gc_pace"), Some(Confidence::Assumed));
    assert_eq!(confidence(&(text.clone() + assumed + known), "gc_pace"), None);
    let certain = assumed.replace("assumed", "defined");
    assert!(FlashProfile::parse(&(text + &certain + known)).unwrap_err().to_string().contains("gc_pace is given"));
}

/// No figure is decoration: changing it changes what a drive does.
#[test]
fn every_figure_has_an_effect() {
    let base = Sketch { channels: 2, dies: 2, blocks: 16, pages: 8, buffer: 2, queue: 16, ..Sketch::tiny() };
    let record = |text: &str| {
        let mut drive = FlashDrive::new(FlashProfile::parse(text).unwrap());
        do_workload(&mut drive, &workload(Random, 20, 64 * 4096, 60.0, 3)).latency
    };
    let text = base.text();
    let before = record(&text);
    for (from, to) in [
        ("pages_per_block = { value = 8", "pages_per_block = { value = 10"),
        ("blocks_per_plane = { value = 16", "blocks_per_plane = { value = 20"),
        ("planes_per_die = { value = 1", "planes_per_die = { value = 2"),
        ("dies_per_channel = { value = 2", "dies_per_channel = { value = 3"),
        ("channels = { value = 2", "channels = { value = 3"),
        ("read_us = { value = 50.0", "read_us = { value = 55.0"),
        ("program_us = { value = 200.0", "program_us = { value = 210.0"),
        ("erase_us = { value = 1000.0", "erase_us = { value = 1100.0"),
        ("controller_us = { value = 1.0", "controller_us = { value = 2.0"),
        ("channel_mb_per_s = { value = 204.8", "channel_mb_per_s = { value = 100.0"),
        ("link_mb_per_s = { value = 409.6", "link_mb_per_s = { value = 100.0"),
        ("queue_depth_max = { value = 16", "queue_depth_max = { value = 4"),
        ("write_buffer_pages = { value = 2", "write_buffer_pages = { value = 9"),
        ("page_bytes = { value = 4096", "page_bytes = { value = 8192"),
    ] {
        assert!(text.contains(from), "{from}");
        assert_ne!(record(&text.replacen(from, to, 1)), before, "{to}");
    }
}
