//! The profile of an array: its members, how they share the data, and the controller in front of them.
//!
//! A member is a whole profile of its own, of any kind, also an array: `[[member]]` with `count`, `spare` and `profile`.

use crate::basics::Basics;
use crate::faults::Faults;
use crate::figure::{Figure, ProfileError, impossible, in_one_line, megabytes_per_s, profile_text, rated};
use serde::Deserialize;

/// The kind of these profiles.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Array,
}

/// How members share the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// One member behind the other.
    Jbod,
    /// Chunks over all members in turn, no redundancy.
    Raid0,
    /// Every member holds everything.
    Raid1,
    /// Chunks over pairs in turn; both of a pair hold the same.
    Raid10,
    /// Chunks over all members but one in turn, and their parity on that one, which changes from row to row (left-symmetric).
    Raid5,
    /// As RAID 5 with two parities, P and Q.
    Raid6,
}

impl Level {
    /// Each level with its name in profiles, in the order of their names.
    pub const ALL: [(&'static str, Self); 6] = [
        ("jbod", Self::Jbod),
        ("raid0", Self::Raid0),
        ("raid1", Self::Raid1),
        ("raid10", Self::Raid10),
        ("raid5", Self::Raid5),
        ("raid6", Self::Raid6),
    ];

    /// Parities of a row.
    #[inline]
    pub fn parities(self) -> usize {
        match self {
            Self::Raid5 => 1,
            Self::Raid6 => 2,
            _ => 0,
        }
    }

    /// Whether it has copies.
    #[inline]
    pub fn is_mirrored(self) -> bool {
        matches!(self, Self::Raid1 | Self::Raid10)
    }

    /// Fewest members.
    pub fn members_min(self) -> usize {
        match self {
            Self::Jbod | Self::Raid0 => 1,
            Self::Raid1 => 2,
            Self::Raid5 => 3,
            Self::Raid10 | Self::Raid6 => 4,
        }
    }
}

/// The protocol between controller and member, as far as a controller has a limit of its own for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// `link = "sata-N"`.
    Sata,
    /// `link = "sas-N"`.
    Sas,
    /// PCI Express, or not stated.
    Other,
}

/// What the controller does with a discard (TRIM).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discards {
    /// It is passed to the members.
    Honoured,
    /// It is done at once and changes nothing.
    Ignored,
    /// It is refused.
    Refused,
}

/// What a power cut does to the controller's write cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachePower {
    /// It loses what was not destaged.
    Volatile,
    /// A battery keeps it until the power is back.
    Battery,
}

/// The controller in front of the members. What is `None` does not limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Controller {
    /// Between host and controller, both directions together, in MB/s (10^6 bytes).
    pub host_mb_per_s: Option<f64>,
    /// Each member's link, in MB/s.
    pub member_mb_per_s: Option<f64>,
    /// All SATA members together, in MB/s.
    pub sata_mb_per_s: Option<f64>,
    /// All SAS members together, in MB/s.
    pub sas_mb_per_s: Option<f64>,
    /// The controller begins host commands at least so far apart, in ns.
    pub command_interval_ns: u64,
    /// What a host command takes in the controller, in ns; one at a time.
    pub command_ns: u64,
    /// Write-back cache; 0: writes go through.
    pub write_cache_bytes: u64,
    /// Read cache.
    pub read_cache_bytes: u64,
    /// What a power cut does to the write cache.
    pub cache_power: CachePower,
    /// Whether the members' own write caches are used; else every write to them has FUA.
    pub member_cache: bool,
    /// Whether flushes reach the members.
    pub passes_flushes: bool,
    /// Rows in which writes are in progress at a time, and in which waiting writes are joined; 0: each write for itself.
    pub stripe_cache_bytes: u64,
    /// A member that does not answer within this time is failed, in ns.
    pub member_timeout_ns: Option<u64>,
    /// Rate of a rebuild, in MB/s written to the new member.
    pub rebuild_mb_per_s: f64,
    /// The same while commands of the host are outstanding.
    pub rebuild_busy_mb_per_s: f64,
}

impl Controller {
    /// One that takes no time, limits nothing and has no caches; it rebuilds at 100 GB/s.
    pub const UNLIMITED: Self = Self {
        host_mb_per_s: None,
        member_mb_per_s: None,
        sata_mb_per_s: None,
        sas_mb_per_s: None,
        command_interval_ns: 0,
        command_ns: 0,
        write_cache_bytes: 0,
        read_cache_bytes: 0,
        cache_power: CachePower::Volatile,
        member_cache: true,
        passes_flushes: true,
        stripe_cache_bytes: 0,
        member_timeout_ns: None,
        rebuild_mb_per_s: 1e5,
        rebuild_busy_mb_per_s: 1e5,
    };
}

profile_text! {
    plain {
        name: String,
        title: String,
        #[serde(rename = "kind")]
        _kind: Kind,
        #[serde(rename = "member")]
        members: Vec<MemberText>,
    }
    required {
        level: String,
    }
    optional {
        chunk_bytes: u64, host_mb_per_s: f64, member_mb_per_s: f64, sata_mb_per_s: f64, sas_mb_per_s: f64,
        commands_per_s_max: f64, command_us: f64, cache_bytes: u64, write_policy: String, cache_power: String,
        read_cache_bytes: u64, member_write_cache: String, flushes: String, trim: String, stripe_cache_bytes: u64,
        member_timeout_s: f64, rebuild_mb_per_s: f64, rebuild_busy_mb_per_s: f64, member_afr_percent: f64,
        replace_hours: f64, rated_endurance_bytes: u64,
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MemberText {
    #[serde(default = "one")]
    count: usize,
    #[serde(default)]
    spare: bool,
    profile: toml::Table,
}

fn one() -> usize {
    1
}

/// A member, whatever its kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Member<P> {
    /// Its profile.
    pub profile: P,
    /// Its protocol.
    pub protocol: Protocol,
}

/// The profile of a member: of any kind, so that this file need not know the kinds.
pub trait MemberProfile: Sized + Clone {
    /// The profile that a TOML text describes; members at different places draw different faults.
    ///
    /// # Errors
    /// Those of the profile.
    fn member(text: &str, place: u64) -> Result<Self, ProfileError>;

    /// What profiles of every kind have.
    fn basics_of(&self) -> &Basics;
}

/// A valid profile of an array of drives.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayProfile<P> {
    /// What it shares with drives of other kinds.
    pub basics: Basics,
    /// How members share the data.
    pub level: Level,
    /// Bytes that follow each other on one member.
    pub chunk_bytes: u64,
    /// Members, in their order.
    pub members: Vec<Member<P>>,
    /// Hot spares: each replaces a failed member.
    pub spares: Vec<Member<P>>,
    /// The controller.
    pub controller: Controller,
    /// What becomes of discards.
    pub discards: Discards,
    /// Annual failure rate of a member, as a share; for the probability of data loss.
    pub member_afr: Option<f64>,
    /// Mean time until a failed member is replaced, without the rebuild, in hours; with a spare none.
    pub replace_hours: Option<f64>,
}

const CHUNK_BYTES: u64 = 64 << 10;
const MEMBERS_MAX: usize = 64;
/// What a rebuild is limited to where the profile does not say: nothing that a member reaches.
const REBUILD_MB_PER_S: f64 = 1e5;

impl<P: MemberProfile> ArrayProfile<P> {
    /// The profile that a TOML text describes.
    ///
    /// # Errors
    /// One line: which key, what was found, what is expected.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let raw: Text = toml::from_str(text).map_err(|error| in_one_line(text, &error))?;
        let level = choice("level", &raw.level, &Level::ALL)?;
        let (mut members, mut spares) = (Vec::new(), Vec::new());
        for entry in &raw.members {
            if entry.count == 0 {
                return impossible("count", 0, "at least 1 member");
            }
            for _ in 0..entry.count {
                let place = members.len() + spares.len();
                if place == MEMBERS_MAX {
                    return impossible("member", "more", format!("at most {MEMBERS_MAX} members and spares"));
                }
                let profile = P::member(&entry.profile.to_string(), place as u64)?;
                let member = Member { profile, protocol: protocol(&entry.profile) };
                if entry.spare { spares.push(member) } else { members.push(member) }
            }
        }
        let chunk_bytes = chunk(&raw, level)?;
        let discards = discards(&raw, level)?;
        members_fit(level, &members, &spares, chunk_bytes)?;
        let controller = controller(&raw, level, !spares.is_empty())?;
        let afr = raw.member_afr_percent.as_ref();
        if let Some(figure) = afr.filter(|figure| !(figure.value > 0.0 && figure.value < 100.0)) {
            return impossible("member_afr_percent", figure.value, "more than 0 and less than 100");
        }
        if let Some(figure) = raw.replace_hours.as_ref().filter(|figure| !(0.0..=1e6).contains(&figure.value)) {
            return impossible("replace_hours", figure.value, "hours from 0 to 1000000");
        }
        let layout_members: Vec<u64> = members.iter().map(|it| it.profile.basics_of().capacity_bytes).collect();
        let profile = Self {
            basics: Basics {
                capacity_bytes: capacity_bytes(level, chunk_bytes, &layout_members),
                rated_write_bytes: rated("rated_endurance_bytes", raw.rated_endurance_bytes.as_ref())?,
                faults: Faults::default(),
                figures: raw.figures(),
                rates: Vec::new(),
                name: raw.name,
                title: raw.title,
            },
            level,
            chunk_bytes,
            members,
            spares,
            controller,
            discards,
            member_afr: afr.map(|figure| figure.value / 100.0),
            replace_hours: raw.replace_hours.map(|figure| figure.value),
        };
        profile.basics.holds()?;
        Ok(profile)
    }
}

/// What members of these capacities hold together, in bytes.
pub fn capacity_bytes(level: Level, chunk_bytes: u64, members: &[u64]) -> u64 {
    if level == Level::Jbod {
        return members.iter().sum();
    }
    let each = members.iter().min().map_or(0, |least| least / chunk_bytes * chunk_bytes);
    let data = match level {
        Level::Raid1 => 1,
        Level::Raid10 => members.len() / 2,
        _ => members.len() - level.parities(),
    };
    each * data as u64
}

fn choice<T: Copy>(key: &'static str, figure: &Figure<String>, words: &[(&'static str, T)]) -> Result<T, ProfileError> {
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == figure.value) {
        return Ok(*value);
    }
    let expected: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    impossible(key, format!("{:?}", figure.value), expected.join(" or "))
}

fn chosen<T: Copy>(
    key: &'static str,
    figure: Option<&Figure<String>>,
    words: &[(&'static str, T)],
) -> Result<Option<T>, ProfileError> {
    figure.map(|figure| choice(key, figure, words)).transpose()
}

fn chunk(raw: &Text, level: Level) -> Result<u64, ProfileError> {
    let Some(figure) = &raw.chunk_bytes else { return Ok(CHUNK_BYTES) };
    if matches!(level, Level::Jbod | Level::Raid1) {
        return impossible("chunk_bytes", figure.value, "no such key: jbod and raid1 have no chunks");
    }
    if !figure.value.is_power_of_two() || !(4096..=64 << 20).contains(&figure.value) {
        return impossible("chunk_bytes", figure.value, "a power of two from 4096 to 67108864");
    }
    Ok(figure.value)
}

fn discards(raw: &Text, level: Level) -> Result<Discards, ProfileError> {
    let words = [("honoured", Discards::Honoured), ("ignored", Discards::Ignored), ("refused", Discards::Refused)];
    let found = chosen("trim", raw.trim.as_ref(), &words)?;
    if found == Some(Discards::Honoured) && level.parities() > 0 {
        return impossible("trim", "honoured", "ignored or refused: a discard would leave wrong parity");
    }
    Ok(found.unwrap_or(if level.parities() > 0 { Discards::Ignored } else { Discards::Honoured }))
}

fn members_fit<P: MemberProfile>(
    level: Level,
    members: &[Member<P>],
    spares: &[Member<P>],
    chunk_bytes: u64,
) -> Result<(), ProfileError> {
    let count = members.len();
    if count < level.members_min() || (level == Level::Raid10 && !count.is_multiple_of(2)) {
        let even = if level == Level::Raid10 { ", an even number" } else { "" };
        return impossible("member", count, format!("at least {} members{even}", level.members_min()));
    }
    let bytes = |it: &Member<P>| it.profile.basics_of().capacity_bytes;
    let least = members.iter().map(bytes).min().unwrap_or(0);
    if least < chunk_bytes {
        return impossible("member", format!("one of {least} bytes"), "members of a chunk or more");
    }
    if spares.iter().any(|spare| bytes(spare) < least) {
        return impossible("spare", "true", format!("spares of {least} bytes or more, as the smallest member"));
    }
    if !spares.is_empty() && matches!(level, Level::Jbod | Level::Raid0) {
        return impossible("spare", "true", "no spares: jbod and raid0 have nothing to rebuild from");
    }
    Ok(())
}

fn protocol(profile: &toml::Table) -> Protocol {
    let link = profile.get("link").and_then(|link| link.get("value")).and_then(toml::Value::as_str).unwrap_or("");
    match link.split('-').next() {
        Some("sata") => Protocol::Sata,
        Some("sas") => Protocol::Sas,
        _ => Protocol::Other,
    }
}

fn controller(raw: &Text, level: Level, has_spares: bool) -> Result<Controller, ProfileError> {
    let rate = |key: &'static str, figure: &Option<Figure<f64>>| {
        figure.as_ref().map(|figure| megabytes_per_s(key, figure)).transpose()
    };
    let seconds = |key: &'static str, figure: &Figure<f64>, most: f64| match figure.value {
        value if (1e-9..=most).contains(&value) => Ok((value * 1e9).round() as u64),
        value => impossible(key, value, format!("from 0.000000001 to {most}")),
    };
    let policies = [("write-through", false), ("write-back", true)];
    let write_back = chosen("write_policy", raw.write_policy.as_ref(), &policies)?;
    let cache_bytes = raw.cache_bytes.as_ref().map_or(0, |figure| figure.value);
    if write_back == Some(true) && cache_bytes < 1 << 20 {
        return impossible("write_policy", "write-back", "cache_bytes of 1 MiB or more with it");
    }
    if write_back != Some(true) && cache_bytes > 0 {
        return impossible(
            "cache_bytes",
            cache_bytes,
            "write_policy = write-back with it; read_cache_bytes is for reads",
        );
    }
    let powers = [("volatile", CachePower::Volatile), ("battery", CachePower::Battery)];
    let cache_power = chosen("cache_power", raw.cache_power.as_ref(), &powers)?;
    if cache_power.is_none() == (cache_bytes > 0) {
        return impossible(
            "cache_power",
            "given or missing",
            "volatile or battery with a write-back cache, else no such key",
        );
    }
    let stripe_cache = raw.stripe_cache_bytes.as_ref();
    if let Some(figure) = stripe_cache.filter(|_| level.parities() == 0) {
        return impossible("stripe_cache_bytes", figure.value, "no such key: only raid5 and raid6 have parity");
    }
    let redundant = level.parities() > 0 || level.is_mirrored();
    let rebuilds = [&raw.rebuild_mb_per_s, &raw.rebuild_busy_mb_per_s];
    if rebuilds.iter().any(|figure| figure.is_some()) && !has_spares {
        return impossible("rebuild_mb_per_s", "given", "a spare with it; nothing is rebuilt without one");
    }
    let timeout = raw.member_timeout_s.as_ref();
    if let Some(figure) = timeout.filter(|_| !redundant && level == Level::Jbod) {
        return impossible("member_timeout_s", figure.value, "no such key: jbod fails no member");
    }
    let rebuild_mb_per_s = rate("rebuild_mb_per_s", &raw.rebuild_mb_per_s)?.unwrap_or(REBUILD_MB_PER_S);
    let ceiling = raw.commands_per_s_max.as_ref();
    if let Some(figure) = ceiling.filter(|figure| !(1.0..=1e9).contains(&figure.value)) {
        return impossible("commands_per_s_max", figure.value, "from 1 to 1000000000");
    }
    Ok(Controller {
        host_mb_per_s: rate("host_mb_per_s", &raw.host_mb_per_s)?,
        member_mb_per_s: rate("member_mb_per_s", &raw.member_mb_per_s)?,
        sata_mb_per_s: rate("sata_mb_per_s", &raw.sata_mb_per_s)?,
        sas_mb_per_s: rate("sas_mb_per_s", &raw.sas_mb_per_s)?,
        command_interval_ns: ceiling.map_or(0, |figure| (1e9 / figure.value).round() as u64),
        command_ns: raw
            .command_us
            .as_ref()
            .map_or(Ok(0), |figure| super::figure::microseconds("command_us", figure, 0.0))?,
        write_cache_bytes: cache_bytes,
        read_cache_bytes: raw.read_cache_bytes.as_ref().map_or(0, |figure| figure.value),
        cache_power: cache_power.unwrap_or(CachePower::Volatile),
        member_cache: chosen("member_write_cache", raw.member_write_cache.as_ref(), &[("on", true), ("off", false)])?
            .unwrap_or(true),
        passes_flushes: chosen("flushes", raw.flushes.as_ref(), &[("passed", true), ("ignored", false)])?
            .unwrap_or(true),
        stripe_cache_bytes: stripe_cache.map_or(0, |figure| figure.value),
        member_timeout_ns: timeout.map(|figure| seconds("member_timeout_s", figure, 1e6)).transpose()?,
        rebuild_mb_per_s,
        rebuild_busy_mb_per_s: rate("rebuild_busy_mb_per_s", &raw.rebuild_busy_mb_per_s)?.unwrap_or(rebuild_mb_per_s),
    })
}
