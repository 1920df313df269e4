//! What was acknowledged is there after a power cut, where barriers and write cache keep the contract; where they do not,
//! something is lost.

use crate::profiles::{drive, host};
use mileage_drive::{Device, Profile};
use mileage_host::{Call, Host, OpenHow};

fn with_cache(name: &str, changes: &[(&str, &str)]) -> Profile {
    let text = std::fs::read_to_string(crate::profiles::folder().join("drives").join(format!("{name}.toml")))
        .expect("a drive");
    let mut table: toml::Table = text.parse().expect("TOML");
    table.remove("rate");
    for (key, value) in changes {
        let value: toml::Table = format!("x = {value}").parse().expect("a value");
        let figure: toml::Table =
            [("value", value["x"].clone()), ("source", "the test".into()), ("confidence", "assumed".into())]
                .map(|(key, value)| (key.to_owned(), value))
                .into_iter()
                .collect();
        table.insert((*key).to_owned(), figure.into());
    }
    Profile::parse(&table.to_string()).unwrap_or_else(|error| panic!("{error}; {:?}", drive(name).basics().name))
}

/// Synced appends of 4 KiB, with a cut thought of after each: acknowledged, lost, and synced writes a second.
fn append(barrier: bool, drive: Profile, writes: u64) -> (u64, u64, f64) {
    let value = barrier.to_string();
    let changes = [("barrier", value.as_str()), ("native_fua", "false"), ("journal_bytes", "16777216")];
    let mut host = Host::new(host("server-2025", &changes), Device::new(drive));
    host.track_durability();
    let how = OpenHow { create: true, ..OpenHow::default() };
    host.call(Call::Open { path: "log".to_owned(), handle: 1, how }).expect("open");
    let began_ns = host.now_ns();
    let (mut acknowledged, mut lost) = (0, 0);
    for at in 0..writes {
        host.call(Call::Write { handle: 1, offset: at * 4096, length: 4096 }).expect("write");
        host.call(Call::Sync { handle: 1, data_only: false }).expect("fsync");
        let survival = host.survival(at).expect("a drive that says what a cut loses");
        acknowledged = survival.acknowledged;
        lost += u64::from(survival.lost > 0);
    }
    (acknowledged, lost, writes as f64 * 1e9 / (host.now_ns() - began_ns) as f64)
}

#[test]
fn acknowledged_writes_survive_where_barriers_or_protection_hold() {
    let disk = |cache: &str| with_cache("hpe-7k2-500gb", &[("write_cache_bytes", cache)]);
    for (barrier, cache, holds) in
        [(true, "33554432", true), (true, "0", true), (false, "33554432", false), (false, "0", true)]
    {
        let (acknowledged, lost, rate) = append(barrier, disk(cache), 40);
        println!(
            "barrier {barrier}, write cache {cache}: {acknowledged} acknowledged, cuts that lose {lost}, {rate:.0} a second"
        );
        assert_eq!(acknowledged, 40);
        assert_eq!(lost == 0, holds);
    }
}
