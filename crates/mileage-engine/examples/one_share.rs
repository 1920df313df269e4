//! One process's share of a run: `one_share WORKLOAD_JSON OPTIONS_JSON SHARE_JSON` prints what it leaves behind as JSON,
//! to be merged with the other shares'. The tests start several.

use mileage_engine::{Options, Share, start_share};
use std::io::Write;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [workload, options, share] = arguments.as_slice() else {
        return Err("expected WORKLOAD_JSON OPTIONS_JSON SHARE_JSON".into());
    };
    let (options, share): (Options, Share) = (serde_json::from_str(options)?, serde_json::from_str(share)?);
    let handle = start_share(serde_json::from_str(workload)?, options, &share)?;
    loop {
        if let Some(finished) = handle.wait_share(Duration::from_millis(50)) {
            writeln!(std::io::stdout(), "{}", serde_json::to_string(&finished?)?)?;
            return Ok(());
        }
    }
}
