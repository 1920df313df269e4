//! The profiles that ship with Mileage.

use mileage_host::HostProfile;
use std::path::{Path, PathBuf};

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles")
}

/// A host that ships with Mileage, with keys changed: `("barrier", "false")`.
pub fn host(name: &str, changes: &[(&str, &str)]) -> HostProfile {
    let text = std::fs::read_to_string(folder().join("hosts").join(format!("{name}.toml"))).expect("a host profile");
    HostProfile::parse(&changed(&text, changes)).expect("a host profile")
}

/// A profile with the values of figures changed.
fn changed(text: &str, changes: &[(&str, &str)]) -> String {
    let mut table: toml::Table = text.parse().expect("TOML");
    for (key, value) in changes {
        let figure = table.get_mut(*key).and_then(toml::Value::as_table_mut).expect("a figure of the profile");
        let value: toml::Table = format!("value = {value}").parse().expect("a value of TOML");
        figure.insert("value".to_owned(), value["value"].clone());
    }
    table.to_string()
}

/// A drive that ships with Mileage.
pub fn drive(name: &str) -> mileage_drive::Profile {
    drive_with(name, &[])
}

/// A drive that ships with Mileage, with keys changed.
pub fn drive_with(name: &str, changes: &[(&str, &str)]) -> mileage_drive::Profile {
    let text = std::fs::read_to_string(folder().join("drives").join(format!("{name}.toml"))).expect("a drive profile");
    mileage_drive::Profile::parse(&changed(&text, changes)).expect("a drive profile")
}

#[test]
fn every_host_that_ships_is_valid() {
    let entries = std::fs::read_dir(folder().join("hosts")).expect("the folder of hosts");
    let names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
    assert!(names.len() >= 3, "{names:?}");
    for name in names {
        let profile = host(name.trim_end_matches(".toml"), &[]);
        assert_eq!(format!("{}.toml", profile.name), name);
        assert!(profile.figures.iter().all(|(_, _, source, _)| !source.is_empty()));
    }
}

#[test]
fn unknown_keys_and_impossible_values_are_refused_by_name() {
    let text = std::fs::read_to_string(folder().join("hosts/server-2025.toml")).expect("a host profile");
    let with = |line: &str| HostProfile::parse(&format!("{text}\n{line}\n")).expect_err("must be refused").to_string();
    let unknown = with("[turbo]\nvalue = 1\nsource = \"s\"\nconfidence = \"assumed\"");
    assert!(unknown.contains("turbo"), "{unknown}");
    let changed =
        text.replace("value = \"mq-deadline\"", "value = \"cfq\"").replace("value = \"none\"", "value = \"cfq\"");
    let scheduler = HostProfile::parse(&changed).expect_err("must be refused").to_string();
    assert!(scheduler.contains("cfq") && scheduler.contains("mq-deadline"), "{scheduler}");
}
