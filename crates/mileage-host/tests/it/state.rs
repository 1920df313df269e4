//! Saved states: what is refused.

use crate::calls::small_host;
use crate::conservation::started;
use mileage_host::HostStateError;

#[test]
fn a_damaged_state_and_one_of_another_host_are_refused() {
    let mut host = started("ext4");
    let state = host.save();
    for at in [0, 9, 17, 30, 60, state.len() / 2, state.len() - 1] {
        let mut damaged = state.clone();
        damaged[at] ^= 0x40;
        host.restore(&damaged).expect_err("a damaged state");
    }
    host.restore(&state[..state.len() / 2]).expect_err("half a state");
    assert_eq!(host.save(), state, "a refused state changes nothing");
    let mut other = small_host(&[("commit_s", "7")]);
    assert!(matches!(other.restore(&state), Err(HostStateError::OtherProfile { .. })));
}
