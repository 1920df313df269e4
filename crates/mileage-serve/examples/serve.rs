//! Serves the drive of a profile at a directory until it is unmounted, and prints how late answers were:
//! `serve PROFILE.toml DIR [SPEED [spin]]`.
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use mileage_drive::Profile;
use mileage_serve::{Server, ServerOptions, Speed};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().collect();
    let (Some(profile), Some(at)) = (words.get(1), words.get(2)) else {
        return Err("expected PROFILE.toml DIR [SPEED [spin]]".into());
    };
    let profile = Profile::parse(&std::fs::read_to_string(profile)?)?;
    let speed: Speed = words.get(3).map_or("real", String::as_str).parse()?;
    let spins = words.get(4).is_some_and(|word| word == "spin");
    let server = Server::new(profile, &ServerOptions { state: None, data: None, speed, spins })?;
    let mut mount = server.mount(Path::new(at), 4096)?;
    println!("{at}/drive");
    mount.join()?;
    let stats = server.stats();
    let answered: u64 = stats.requests.values().map(|row| row.requests).sum();
    println!("{answered} requests; lateness {:?}", stats.lateness);
    Ok(())
}
