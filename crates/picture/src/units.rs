//! Sizes in words.

/// A size with three digits and a binary unit: `12.4 MiB`, `896 KiB`, `64 B`.
pub(crate) fn size(bytes: u64) -> String {
    let mut unit = 0;
    let mut shown = bytes as f64;
    // 1000 and not 1024, so that no unit has four digits.
    while shown >= 999.5 && unit < UNITS.len() - 1 {
        shown /= 1024.0;
        unit += 1;
    }
    let digits = if unit == 0 || shown >= 99.95 {
        0
    } else if shown >= 9.995 {
        1
    } else {
        2
    };
    let text = format!("{shown:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {}", UNITS[unit])
}

const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// A whole number with its thousands apart: `12 345`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            // A thin space that no line is broken at.
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// Marks of an axis from 0 to `end`, about `count` of them and at most twice as many, a round number apart:
/// powers of two for bytes, which are round in binary units, and 1, 2 or 5 times a power of ten for what is counted.
pub(crate) fn ticks(end: u64, count: u64, counted: bool) -> Vec<u64> {
    let least = (end / count.max(1)).max(1);
    let mut gap = 1u64;
    if counted {
        let factors = [2.0, 2.5, 2.0];
        let mut i = 0;
        while gap < least && gap < 1 << 60 {
            gap = (gap as f64 * factors[i % 3]) as u64;
            i += 1;
        }
    } else {
        gap = least.checked_next_power_of_two().unwrap_or(1 << 63);
    }
    (0..=end / gap).map(|i| i * gap).collect()
}

#[cfg(test)]
mod tests {
    use super::{grouped, size, ticks};

    #[test]
    fn sizes_have_three_digits_and_the_fitting_unit() {
        let cases = [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "0.98 KiB"),
            (1024, "1 KiB"),
            (1536, "1.5 KiB"),
            (13_000_000, "12.4 MiB"),
            (1 << 40, "1 TiB"),
            (u64::MAX, "16 EiB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(size(bytes), text, "{bytes}");
        }
    }

    #[test]
    fn thousands_are_apart() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1_234_567), "1\u{202f}234\u{202f}567");
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(508, 10, true), [0, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500]);
        assert_eq!(ticks(5 << 20, 6, false), [0, 1, 2, 3, 4, 5].map(|t: u64| t << 20));
    }

    #[test]
    fn ticks_are_few_and_within_the_axis() {
        for end in [0, 1, 7, 4096, 1_000_000, u64::MAX] {
            for counted in [false, true] {
                let ticks = ticks(end, 6, counted);
                assert!(ticks.len() <= 13, "{end}: {ticks:?}");
                assert_eq!(ticks[0], 0);
                assert!(ticks.iter().all(|&tick| tick <= end));
            }
        }
    }
}
