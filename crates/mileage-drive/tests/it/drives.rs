//! The drives that the tests use, and short ways to work with them.

use mileage_drive::{Completion, FlashDrive, FlashProfile, Immediate, Request, RequestKind, Status, conformance, run};
use mileage_measure::RunRecord;
use mileage_workload::{Content, NoObserver, PatternKind, Stop, Sync, Workload};

pub const PLAIN: &str = include_str!("../../../../profiles/drives/plain-64gib.toml");
pub const SANDFORCE: &str = include_str!("../../../../profiles/drives/sandforce-1222-64gb.toml");
pub const BX200: &str = include_str!("../../../../profiles/drives/crucial-bx200-240gb.toml");
pub const INTEL_600P: &str = include_str!("../../../../profiles/drives/intel-600p-512gb.toml");
pub const X25E: &str = include_str!("../../../../profiles/drives/intel-x25e-64gb.toml");

/// How many of `full` random cases are tested: a third, or all with `MILEAGE_TEST_PROFILE=thorough`.
pub fn cases(full: u64) -> u64 {
    if is_thorough() { full } else { full / 3 }
}

/// Whether tests search longer than in `make test`.
pub fn is_thorough() -> bool {
    std::env::var_os("MILEAGE_TEST_PROFILE").is_some_and(|profile| profile == "thorough")
}

/// A profile under construction: round figures, so that times can be added by hand.
#[derive(Clone, Debug)]
pub struct Sketch {
    pub channels: u32,
    pub dies: u32,
    pub blocks: u32,
    pub pages: u32,
    pub page_bytes: u32,
    pub capacity_bytes: u64,
    pub read_us: f64,
    pub program_us: f64,
    pub erase_us: f64,
    pub controller_us: f64,
    pub channel_mb_per_s: f64,
    pub link_mb_per_s: f64,
    pub queue: u32,
    pub buffer: u32,
    pub planes: u32,
    /// Further figures, as they stand in a profile.
    pub more: Vec<(&'static str, &'static str)>,
}

impl Sketch {
    /// Two channels of two dies, eight blocks of four pages each, half of it spare. A page takes 20 us on the
    /// channel (4096 bytes at 204.8 MB/s), 10 us on the link; 50 us to read, 200 to program, 1000 to erase; 1 us
    /// of the controller.
    pub fn tiny() -> Self {
        Self {
            channels: 2,
            dies: 2,
            blocks: 8,
            pages: 4,
            page_bytes: 4096,
            capacity_bytes: 64 * 4096,
            read_us: 50.0,
            program_us: 200.0,
            erase_us: 1000.0,
            controller_us: 1.0,
            channel_mb_per_s: 204.8,
            link_mb_per_s: 409.6,
            queue: 32,
            buffer: 0,
            planes: 1,
            more: Vec::new(),
        }
    }

    /// All over-provisioning in one figure: the capacity is what of the raw pages remains.
    pub fn with_spare(mut self, over_provisioning: f64) -> Self {
        let units = u64::from(self.channels) * u64::from(self.dies) * u64::from(self.planes);
        let pages = units * u64::from(self.blocks) * u64::from(self.pages);
        self.capacity_bytes = (pages as f64 / (1.0 + over_provisioning)) as u64 * u64::from(self.page_bytes);
        self
    }

    /// The same with these figures added.
    pub fn with(mut self, more: &[(&'static str, &'static str)]) -> Self {
        self.more.extend_from_slice(more);
        self
    }

    pub fn text(&self) -> String {
        let mut text = String::from("name = \"sketch\"\ntitle = \"Sketch\"\nkind = \"flash\"\n");
        let mut figure = |key: &str, value: String| {
            text += &[key, " = { value = ", &value, ", source = \"a test\", confidence = \"defined\" }\n"].concat();
        };
        figure("capacity_bytes", self.capacity_bytes.to_string());
        figure("page_bytes", self.page_bytes.to_string());
        figure("pages_per_block", self.pages.to_string());
        figure("blocks_per_plane", self.blocks.to_string());
        figure("planes_per_die", self.planes.to_string());
        figure("dies_per_channel", self.dies.to_string());
        figure("channels", self.channels.to_string());
        figure("read_us", format!("{:?}", self.read_us));
        figure("program_us", format!("{:?}", self.program_us));
        figure("erase_us", format!("{:?}", self.erase_us));
        figure("controller_us", format!("{:?}", self.controller_us));
        figure("channel_mb_per_s", format!("{:?}", self.channel_mb_per_s));
        figure("link_mb_per_s", format!("{:?}", self.link_mb_per_s));
        figure("queue_depth_max", self.queue.to_string());
        figure("write_buffer_pages", self.buffer.to_string());
        self.more.iter().for_each(|(key, value)| figure(key, (*value).to_owned()));
        text
    }

    pub fn profile(&self) -> FlashProfile {
        FlashProfile::parse(&self.text()).expect("a sketch of a test is a valid profile")
    }

    pub fn drive(&self) -> FlashDrive {
        FlashDrive::new(self.profile())
    }
}

pub fn request(kind: RequestKind, offset_bytes: u64, length_bytes: u64, submit_us: u64) -> Request {
    Request { kind, fua: false, offset_bytes, length_bytes, submit_ns: submit_us * 1000 }
}

/// Submit one request that must not be refused; its completion time in ns.
pub fn submit(drive: &mut FlashDrive, request: Request) -> u64 {
    let mut out: Vec<Completion> = Vec::new();
    drive.submit(&[request], &mut out);
    assert_eq!(out[0].status, Status::Done);
    out[0].complete_ns
}

pub fn counter(drive: &FlashDrive, name: &str) -> u64 {
    drive.named_counters().iter().find(|(known, _)| *known == name).expect("a counter's name").1
}

/// Records of 4 KiB over the first `span_bytes`, `passes` times its bytes, depth 32.
pub fn workload(pattern: PatternKind, read_percent: u8, span_bytes: u64, passes: f64, seed: u64) -> Workload {
    Workload {
        pattern,
        read_percent,
        record_bytes: 4096,
        span_start_bytes: 0,
        span_bytes,
        depth: 32,
        threads: 1,
        stop: Stop { bytes: Some((span_bytes as f64 * passes) as u64 / 4096 * 4096), ..Stop::default() },
        seed,
        content: Content::Incompressible,
        sync: Sync::None,
        sync_timed: false,
        ..Workload::default()
    }
}

pub fn do_workload(drive: &mut FlashDrive, workload: &Workload) -> RunRecord {
    run(drive, workload, &mut NoObserver, &mut |_, _| false).expect("a workload of a test fits its drive")
}

/// Programs of flash pages per page written by the host.
pub fn amplification(record: &RunRecord) -> f64 {
    record.counters["flash_pages_programmed"] as f64 / record.counters["host_pages_written"] as f64
}

/// Operations per second of virtual time.
pub fn ops_per_s(record: &RunRecord) -> f64 {
    (record.ops_read + record.ops_written) as f64 / record.elapsed_ns as f64 * 1e9
}

/// A saved state with bytes of its body changed and the checksum made right again: refused or taken, but never a panic,
/// and what was taken still works. `changes` returns, for a body's length, the bytes to change.
pub fn forge(sketch: &Sketch, seed: u64, changes: impl FnOnce(usize) -> Vec<(usize, u8)>) {
    let mut drive = sketch.drive();
    let mut requests = conformance::Requests::new(seed, &drive);
    conformance::completions(&mut drive, &requests.take(200));
    let mut state = drive.save();
    for (at, value) in changes(state.len() - 32) {
        state[32 + at] = value;
    }
    let checksum = conformance::state_checksum(&state[32..]);
    state[24..32].copy_from_slice(&checksum.to_le_bytes());
    if let Ok(mut forged) = FlashDrive::restored(sketch.profile(), &state) {
        let mut requests = conformance::Requests::new(seed, &forged);
        conformance::completions(&mut forged, &requests.take(50));
    }
}
