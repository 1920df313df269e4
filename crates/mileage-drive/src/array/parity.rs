//! The arithmetic of parity: P is the exclusive or of the data chunks, Q their sum in GF(256) with the weights 2^i (H. P. Anvin,
//! "The mathematics of RAID-6", 2004; polynomial x^8 + x^4 + x^3 + x^2 + 1).

/// 2^i for i below 255, and the logarithm of each number but 0.
struct Tables {
    power: [u8; 255],
    log: [u8; 256],
}

const TABLES: Tables = tables();

const fn tables() -> Tables {
    let (mut power, mut log) = ([0; 255], [0; 256]);
    let (mut value, mut at) = (1_u16, 0);
    while at < 255 {
        power[at] = value as u8;
        log[value as usize] = at as u8;
        value <<= 1;
        if value > 255 {
            value ^= 0x11D;
        }
        at += 1;
    }
    Tables { power, log }
}

/// 2^`exponent`.
fn power(exponent: usize) -> u8 {
    TABLES.power[exponent % 255]
}

fn product(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 {
        return 0;
    }
    power(usize::from(TABLES.log[usize::from(a)]) + usize::from(TABLES.log[usize::from(b)]))
}

/// 1 / `a`; `a` is not 0.
fn inverse(a: u8) -> u8 {
    power(255 - usize::from(TABLES.log[usize::from(a)]))
}

/// `sum` plus `weight` times `data`.
fn add(sum: &mut [u8], weight: u8, data: &[u8]) {
    for (sum, byte) in sum.iter_mut().zip(data) {
        *sum ^= product(weight, *byte);
    }
}

/// A parity of data chunks of equal length: number 0 is P, 1 is Q. A missing chunk counts as zeros.
pub(crate) fn parity(number: usize, data: &[Option<Vec<u8>>], length: usize) -> Vec<u8> {
    let mut sum = vec![0; length];
    for (at, chunk) in data.iter().enumerate() {
        if let Some(chunk) = chunk {
            add(&mut sum, weight(number, at), chunk);
        }
    }
    sum
}

/// The weight of a data chunk in a parity.
pub(crate) fn weight(number: usize, data: usize) -> u8 {
    if number == 0 { 1 } else { power(data) }
}

/// Fill in the missing data chunks from those that are there and the parities; false: too much is missing.
pub(crate) fn recover(data: &mut [Option<Vec<u8>>], parities: &[Option<Vec<u8>>], length: usize) -> bool {
    let missing: Vec<usize> = (0..data.len()).filter(|at| data[*at].is_none()).collect();
    let known: Vec<usize> = (0..parities.len()).filter(|at| parities[*at].is_some()).collect();
    // What the missing chunks contribute to each parity.
    let rest = |number: usize, data: &[Option<Vec<u8>>]| {
        let mut sum = parity(number, data, length);
        add(&mut sum, 1, parities[number].as_deref().unwrap_or(&[]));
        sum
    };
    match (missing[..].first(), missing.get(1), known[..].first(), known.get(1)) {
        (None, ..) => true,
        (Some(x), None, Some(number), _) => {
            let mut chunk = vec![0; length];
            add(&mut chunk, inverse(weight(*number, *x)), &rest(*number, data));
            data[*x] = Some(chunk);
            true
        }
        (Some(x), Some(y), Some(_), Some(_)) if missing.len() == 2 => {
            let (p, q) = (rest(0, data), rest(1, data));
            // p = x + y, q = 2^x x + 2^y y
            let mut chunk = q;
            add(&mut chunk, power(*y), &p);
            let divisor = inverse(power(*x) ^ power(*y));
            let first: Vec<u8> = chunk.iter().map(|byte| product(divisor, *byte)).collect();
            let mut second = p;
            add(&mut second, 1, &first);
            (data[*x], data[*y]) = (Some(first), Some(second));
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splitmix::draw;

    #[test]
    fn every_pair_of_missing_chunks_is_recovered() {
        let chunk = |at: u64| Some((0..64).map(|byte| draw(at, byte) as u8).collect::<Vec<u8>>());
        for count in 2..8 {
            let data: Vec<_> = (0..count).map(chunk).collect();
            let parities = [Some(parity(0, &data, 64)), Some(parity(1, &data, 64))];
            for (x, y) in (0..data.len()).flat_map(|x| (x..data.len()).map(move |y| (x, y))) {
                let mut damaged = data.clone();
                (damaged[x], damaged[y]) = (None, None);
                let lost_p = [None, parities[1].clone()];
                if x == y {
                    let mut other = damaged.clone();
                    assert!(recover(&mut other, &lost_p, 64) && other == data);
                } else {
                    assert!(!recover(&mut damaged.clone(), &lost_p, 64));
                }
                assert!(recover(&mut damaged, &parities, 64) && damaged == data, "{x} and {y} of {count}");
            }
        }
    }

    #[test]
    fn numbers_have_inverses() {
        assert!((1..=255).all(|a| product(a, inverse(a)) == 1));
        // Of the paper: 2^8 = 0x1d, 0x80 * 2 = 0x1d.
        assert_eq!((power(8), product(0x80, 2)), (0x1D, 0x1D));
    }
}
