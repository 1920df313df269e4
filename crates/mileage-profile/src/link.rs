//! The link between host and drive: what it carries, and what its protocol allows.
//!
//! Payload rates before protocol, in MB/s (10^6 bytes): SATA 1, 2 and 3 carry 150, 300 and 600, SAS 1 to 3 carry 300, 600 and
//! 1200 (8 of 10 bits are payload in all of these); a PCI Express lane carries 250, 500 and 985 in generations 1 to 3 (8 of
//! 10 bits, then 128 of 130), 1969 in the fourth.

use crate::figure::{Figure, ProfileError, impossible, megabytes_per_s, whole};

/// Most commands that native command queueing of SATA numbers.
const NCQ_TAGS: u32 = 32;

/// A link by its standard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Payload in MB/s.
    pub payload_mb_per_s: f64,
    /// A flush waits for all commands before it and holds up all after it.
    pub flush_alone: bool,
    /// It carries data both ways at the same time.
    pub full_duplex: bool,
    /// Most outstanding commands.
    pub queue_depth_max: u32,
}

impl Link {
    /// The link of this name, such as `sata-2`, `sas-3`, `pcie-3-x4`.
    pub(crate) fn parse(figure: &Figure<String>) -> Result<Self, ProfileError> {
        let name = figure.value.as_str();
        let others =
            |payload_mb_per_s| Self { payload_mb_per_s, flush_alone: false, full_duplex: true, queue_depth_max: 65536 };
        let sata = |payload_mb_per_s| Self {
            payload_mb_per_s,
            flush_alone: true,
            full_duplex: false,
            queue_depth_max: NCQ_TAGS,
        };
        Ok(match name {
            "sata-1" => sata(150.0),
            "sata-2" => sata(300.0),
            "sata-3" => sata(600.0),
            "sas-1" => others(300.0),
            "sas-2" => others(600.0),
            "sas-3" => others(1200.0),
            _ => match pcie_mb_per_s(name) {
                Some(payload_mb_per_s) => others(payload_mb_per_s),
                None => {
                    return impossible("link", format!("{name:?}"), "sata-1..3, sas-1..3, or pcie-1-x1 .. pcie-4-x16");
                }
            },
        })
    }
}

fn pcie_mb_per_s(name: &str) -> Option<f64> {
    let (generation, lanes) = name.strip_prefix("pcie-")?.split_once("-x")?;
    let lane_mb_per_s = match generation {
        "1" => 250.0,
        "2" => 500.0,
        "3" => 985.0,
        "4" => 1969.0,
        _ => return None,
    };
    let lanes: u8 = lanes.parse().ok()?;
    [1, 2, 4, 8, 16].contains(&lanes).then(|| f64::from(lanes) * lane_mb_per_s)
}

/// The rate of the link: what its standard carries, unless the drive is slower.
pub(crate) fn link_rate(link: Option<&Link>, figure: Option<&Figure<f64>>) -> Result<f64, ProfileError> {
    match (link, figure) {
        (None, None) => impossible("link_mb_per_s", "missing", "a rate in MB/s, or a link by its name"),
        (Some(link), None) => Ok(link.payload_mb_per_s),
        (Some(link), Some(figure)) if figure.value > link.payload_mb_per_s => {
            let expected = format!("at most {} MB/s, what the link carries", link.payload_mb_per_s);
            impossible("link_mb_per_s", figure.value, expected)
        }
        (_, Some(figure)) => megabytes_per_s("link_mb_per_s", figure),
    }
}

/// The rate of writes over the link, where the profile states one: no more than its standard carries.
pub(crate) fn link_write_rate(
    link: Option<&Link>,
    figure: Option<&Figure<f64>>,
    read_mb_per_s: f64,
) -> Result<f64, ProfileError> {
    let Some(figure) = figure else { return Ok(read_mb_per_s) };
    if let Some(link) = link.filter(|link| figure.value > link.payload_mb_per_s) {
        let expected = format!("at most {} MB/s, what the link carries", link.payload_mb_per_s);
        return impossible("link_write_mb_per_s", figure.value, expected);
    }
    megabytes_per_s("link_write_mb_per_s", figure)
}

/// The most outstanding commands: no more than the link numbers.
pub(crate) fn queue_depth(link: Option<&Link>, figure: &Figure<u64>) -> Result<u32, ProfileError> {
    whole("queue_depth_max", figure, 1, link.map_or(65536, |link| u64::from(link.queue_depth_max)))
}
