//! IOzone's bytes, against checksums of files that IOzone 3.471 itself wrote (`iozone -i 0 -w`, and with `-t 2`).

use mileage_workload::{Content, IozoneBytes};

fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3))
}

/// The file that a child of IOzone writes.
fn file(content: Content, child: u32, record_bytes: u32, file_bytes: usize) -> Vec<u8> {
    let records = file_bytes as u64 / u64::from(record_bytes);
    let made = IozoneBytes::new(&content, 0, record_bytes, records).unwrap();
    let mut bytes = vec![0; file_bytes];
    (0..).zip(bytes.chunks_mut(record_bytes as usize)).for_each(|(record, out)| made.fill(child, record, out));
    bytes
}

const fn dedup(within_percent: u8, across_percent: u8, compress_percent: u8) -> Content {
    Content::IozoneDedup { within_percent, across_percent, compress_percent }
}

const K: usize = 1024;

#[test]
fn files_are_those_that_iozone_writes() {
    let files = [
        (Content::IozoneDefault, 0, 4 * K, 64 * K, 0x7983_b67b_5a1c_1b25),
        (Content::IozoneDefault, 1, 64 * K, 256 * K, 0x859c_dd7f_1c0a_0325),
        (Content::IozoneDefault, 0, K, 64 * K, 0x3782_6f37_fa4e_0325),
        (Content::IozoneDiagnostic, 0, 4 * K, 64 * K, 0x2d3b_550e_fbf5_6545),
        (Content::IozoneDiagnostic, 1, 64 * K, 256 * K, 0xc9a2_00d9_e1f9_94df),
        (dedup(98, 98, 98), 0, 4 * K, 64 * K, 0xcdb5_cb73_6841_609b),
        (dedup(98, 98, 98), 1, 4 * K, 64 * K, 0xfa3f_5b77_d3c2_c40e),
        (dedup(98, 98, 98), 0, K, 64 * K, 0x726a_7f13_ff41_8f69),
        (dedup(75, 75, 75), 1, 4 * K, 64 * K, 0x60a3_5d98_e000_98ad),
        (dedup(75, 75, 75), 0, 64 * K, 256 * K, 0x2e6e_440b_9dd5_3ab5),
        (dedup(50, 50, 50), 0, 64 * K, 256 * K, 0x48c1_5c31_4c88_41ed),
        (dedup(50, 50, 50), 1, 64 * K, 256 * K, 0x9efd_33d4_cb64_75ed),
        (dedup(25, 25, 25), 1, K, 64 * K, 0x6891_1e25_69c9_86c9),
        (dedup(2, 2, 2), 1, 64 * K, 256 * K, 0x88a3_87b9_46dd_e50f),
        (dedup(100, 30, 0), 1, 64 * K, 256 * K, 0xd1b2_5bd0_8877_c2e5),
        (dedup(0, 0, 0), 1, 64 * K, 256 * K, 0x7d92_0e51_c217_2f49),
        (dedup(37, 91, 13), 0, 4 * K, 64 * K, 0xa8c5_138e_9649_b98c),
        (dedup(37, 91, 13), 1, K, 64 * K, 0x524f_a750_3cb2_7f1e),
    ];
    for (content, child, record, bytes, expected) in files {
        let found = checksum(&file(content, child, record as u32, bytes));
        assert!(
            found == expected,
            "{content:?}, child {child}, records of {record}: {found:#x}, expected {expected:#x}"
        );
    }
}

/// What zlib-1 saves on pieces of `piece` bytes, in percent.
fn saved_percent(bytes: &[u8], piece: usize) -> f64 {
    let packed: usize = bytes.chunks(piece).map(crate::content::zlib).sum();
    100.0 * (1.0 - packed as f64 / bytes.len() as f64)
}

#[test]
fn levels_save_the_product_of_their_shares_and_not_what_they_say() {
    // Measured on IOzone's own files with zlib-1 and pieces of 64 KiB.
    for (level, measured) in [(98, 95.3), (75, 55.7), (50, 24.7), (25, 6.1), (2, 0.0)] {
        let content = dedup(level, level, level);
        let bytes = file(content, 0, 65_536, 4 << 20);
        let saved = saved_percent(&bytes, 65_536);
        assert!((saved - measured).abs() < 0.3, "{level}: {saved}");
        let stated = content.saved_percent(65_536);
        assert!((stated - saved).abs() < 1.0, "{level}: stated {stated}, saved {saved}");
    }
}

#[test]
fn the_diagnostic_level_saves_half_or_two_thirds() {
    for (piece, measured) in [(4096, 49.0), (65_536, 67.0)] {
        let saved = saved_percent(&file(Content::IozoneDiagnostic, 0, 65_536, 4 << 20), piece);
        assert!((saved - measured).abs() < 1.0, "{piece}: {saved}");
        assert!((Content::IozoneDiagnostic.saved_percent(piece) - saved).abs() < 1.5, "{piece}: {saved}");
    }
}
