//! Numbers as Python writes and divides them.

use std::io::Write;

/// Append an integer in decimal.
pub fn push_integer(out: &mut Vec<u8>, value: i128) {
    write!(out, "{value}").expect("a vector takes every byte");
}

/// Append `repr(value)`: the shortest digits that give the value back, in the notation of Python. It must be finite.
pub fn push_float(out: &mut Vec<u8>, value: f64) {
    let mut text = [0_u8; 32];
    let mut rest = &mut text[..];
    write!(rest, "{value:e}").expect("17 digits, a point, signs and an exponent fit");
    let left = rest.len();
    let text = &text[..32 - left];
    let (text, negative) = match text.strip_prefix(b"-") {
        Some(text) => (text, true),
        None => (text, false),
    };
    if negative {
        out.push(b'-');
    }
    let at = text.iter().position(|each| *each == b'e').expect("this notation has an exponent");
    let exponent: i32 = str::from_utf8(&text[at + 1..]).ok().and_then(|text| text.parse().ok()).expect("an integer");
    let mut digits = [0_u8; 20];
    let mut count = 0;
    for digit in text[..at].iter().filter(|each| **each != b'.') {
        digits[count] = *digit;
        count += 1;
    }
    let point = exponent + 1;
    if digits[count - 1] & 1 == 1 && is_halfway(value.abs(), count, point) {
        digits[count - 1] = even_digit(value.abs(), count);
    }
    let digits = &digits[..count];
    if point <= -4 || point > 16 {
        out.push(digits[0]);
        if count > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        write!(out, "e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
            .expect("a vector takes every byte");
    } else if point <= 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + point.unsigned_abs() as usize, b'0');
        out.extend_from_slice(digits);
    } else {
        let whole = (point as usize).min(count);
        out.extend_from_slice(&digits[..whole]);
        out.resize(out.len() + (point as usize - whole), b'0');
        out.push(b'.');
        out.extend_from_slice(if whole < count { &digits[whole..] } else { b"0" });
    }
}

/// Whether a float, whose first digit stands `point` places before the decimal point, lies halfway between two numbers of
/// `count` digits. If both give it back, Rust writes the upper one and Python the one with the even digit.
fn is_halfway(value: f64, count: usize, point: i32) -> bool {
    const FEWEST: usize = 16; // two numbers of fewer digits never give back the same float
    let (bits, biased) = (value.to_bits() & ((1 << 52) - 1), (value.to_bits() >> 52) as i32);
    if count < FEWEST || biased == 0 {
        return false;
    }
    let places = 1075 - biased - (bits | 1 << 52).trailing_zeros() as i32; // after the point, in base two and in base ten
    match places {
        1.. => places + point == count as i32 + 1,
        _ => format!("{value:.0}")
            .as_bytes()
            .get(count..)
            .is_some_and(|rest| rest.first() == Some(&b'5') && rest[1..].iter().all(|digit| *digit == b'0')),
    }
}

/// The last of `count` digits of a float halfway between two numbers of so many digits: the even one.
fn even_digit(value: f64, count: usize) -> u8 {
    let exact = format!("{value:.count$e}");
    let lower = exact.bytes().filter(u8::is_ascii_digit).nth(count - 1).expect("one digit more is written");
    lower + (lower & 1)
}

/// A divisor that a float holds exactly, as powers of ten up to 10^22 are.
#[derive(Clone, Copy)]
pub struct Scale {
    integer: u64,
    float: f64,
}

impl Scale {
    /// None if a float does not hold `integer` exactly, or if it is zero.
    pub fn of(integer: u64) -> Option<Self> {
        let float = integer as f64;
        (integer != 0 && float < u64::MAX as f64 && float as u64 == integer).then_some(Self { integer, float })
    }

    /// Return `value / self`, correctly rounded.
    pub fn divide(self, value: u64) -> f64 {
        const EXACT: u64 = 1 << 53;
        if value <= EXACT {
            return value as f64 / self.float;
        }
        // At least 54 bits of the quotient, and whether anything follows them: enough to round to 53.
        let whole = u128::from(value) << 64;
        let (quotient, rest) = (whole / u128::from(self.integer), whole % u128::from(self.integer));
        let dropped = 128 - quotient.leading_zeros() - 53;
        let (kept, below) = (quotient >> dropped, quotient & ((1 << dropped) - 1));
        let half = 1_u128 << (dropped - 1);
        let up = below > half || (below == half && (rest != 0 || kept & 1 == 1));
        let power = dropped as i32 - 64;
        (kept + u128::from(up)) as f64 * f64::powi(2.0, power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: f64) -> String {
        let mut out = Vec::new();
        push_float(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn floats_are_written_as_python_writes_them() {
        let cases = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (1.25e-7, "1.25e-07"),
            (123456789.125, "123456789.125"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (9007199254740993.0, "9007199254740992.0"),
            (5e-324, "5e-324"),
            (1_700_904_561_168_169.0 / 8.0, "212613070146021.12"),
            (1_700_904_561_168_171.0 / 8.0, "212613070146021.38"),
            (1234567890123457.0, "1234567890123457.0"),
            (2.0_f64.powi(60) + 512.0, "1.1529215046068475e+18"),
        ];
        for (value, text) in cases {
            assert_eq!(shown(value), text);
        }
    }

    #[test]
    fn quotients_are_rounded_to_the_nearest() {
        let wad = Scale::of(10_u64.pow(18)).unwrap();
        assert_eq!(wad.divide(10_u64.pow(18)), 1.0);
        assert_eq!(wad.divide(1_500_000_000_000_000_001), 1.5);
        assert_eq!(wad.divide(u64::MAX), 1_844.674_407_370_955_2 / 100.0);
        assert_eq!(Scale::of(3).unwrap().divide(u64::MAX), 6148914691236517205.0);
        assert!(Scale::of(u64::MAX).is_none());
    }
}
