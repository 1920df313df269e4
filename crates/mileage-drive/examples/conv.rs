use mileage_drive::{FlashDrive, Profile, run};
use mileage_workload::{Content, PatternKind, Stop, Sync, Unobserved, Workload};
#[path = "../tests/it/theory.rs"]
mod theory;
const PLAIN: &str = include_str!("../../../drives/plain-64gib.toml");
fn main() {
    for (ch, dies, bl) in [(1, 1, 2048), (1,1,1024), (8, 4, 64), (8, 4, 128), (8,4,2048)] {
        for op in [0.07, 0.28] {
            let raw = (ch * dies * bl) as f64 * 1048576.0;
            let cap = (raw / (1.0 + op)) as u64 / 4096 * 4096;
            let text = PLAIN
                .replace("59_756_064_768", &cap.to_string())
                .replace("value = 2048", &format!("value = {bl}"))
                .replace("dies_per_channel = { value = 4", &format!("dies_per_channel = {{ value = {dies}"))
                .replace("channels = { value = 8", &format!("channels = {{ value = {ch}"));
            let p = Profile::parse(&text).unwrap();
            let th = theory::of_drive(&p);
            let mut d = FlashDrive::new(p);
            let w = |pattern, seed| Workload { pattern, read_percent: 0, record_bytes: 4096, span_start_bytes: 0, span_bytes: cap, depth: 32, threads: 1, stop: Stop { bytes: Some(cap), ..Stop::default() }, seed, content: Content::Zeros, sync: Sync::None, sync_timed: false };
            run(&mut d, &w(PatternKind::Sequential, 1), &mut Unobserved, &mut |_, _| false).unwrap();
            let mut v = vec![];
            for i in 0..8 {
                let r = run(&mut d, &w(PatternKind::Random, i), &mut Unobserved, &mut |_, _| false).unwrap();
                v.push(format!("{:.4}", r.counters["flash_pages_programmed"] as f64 / r.counters["host_pages_written"] as f64));
            }
            println!("{ch}x{dies}x{bl} op {op} theory {th:.4} {}", v.join(" "));
        }
    }
}
