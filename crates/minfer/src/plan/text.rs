//! Bytes as people read them.

/// `823 B`, `5.70 MiB`, `12.1 GiB`: three digits and a binary unit.
pub fn human_bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    // What would be printed as 1000 or more is said in the next unit.
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_unit() {
        let said = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (10 * 1024 - 1, "10.0 KiB"),
            (1_023_999, "0.98 MiB"),
            (5_976_884, "5.70 MiB"),
            (104_857_600, "100 MiB"),
            (12_100_000_000, "11.3 GiB"),
            (u64::MAX, "16384 PiB"),
        ];
        for (bytes, text) in said {
            assert_eq!(human_bytes(bytes), text);
        }
    }
}
