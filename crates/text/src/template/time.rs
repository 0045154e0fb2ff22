//! The date and time that a template may ask for.

use std::fmt::Write;

/// A date and time of day as a clock on the wall shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateTime {
    // Since 1970-01-01 00:00:00 of the same clock.
    seconds: i64,
}

const SECONDS_A_DAY: i64 = 86_400;
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

impl DateTime {
    /// From Unix time, and how many seconds local time is ahead of UTC. Years far outside of what a
    /// calendar shows are held at its ends.
    pub fn from_unix(seconds: i64, utc_offset_seconds: i32) -> DateTime {
        // Years 1 to 9999.
        let seconds = seconds.clamp(-62_135_596_800, 253_402_300_799);
        DateTime { seconds: seconds + i64::from(utc_offset_seconds) }
    }

    /// As C's `strftime` in English; fails with the first letter that is not known.
    pub(super) fn format(self, format: &str) -> Result<String, char> {
        let days = self.seconds.div_euclid(SECONDS_A_DAY);
        let second_of_day = self.seconds.rem_euclid(SECONDS_A_DAY);
        let (year, month, day) = civil_date(days);
        let weekday = DAYS[days.rem_euclid(7) as usize];
        let month_name = MONTHS[month - 1];
        let (hour, minute) = (second_of_day / 3600, second_of_day / 60 % 60);
        let hour12 = (hour + 11) % 12 + 1;

        let mut out = String::new();
        let mut chars = format.chars();
        while let Some(char) = chars.next() {
            if char != '%' {
                out.push(char);
                continue;
            }
            let mut letter = chars.next().unwrap_or('%');
            // `%-d` writes no leading zero.
            let width = if letter == '-' { 1 } else { 2 };
            if letter == '-' {
                letter = chars.next().unwrap_or('-');
            }
            let number = match letter {
                'd' => Some(day as i64),
                'm' => Some(month as i64),
                'y' => Some(year.rem_euclid(100)),
                'H' => Some(hour),
                'I' => Some(hour12),
                'M' => Some(minute),
                'S' => Some(second_of_day % 60),
                _ => None,
            };
            let result = match (number, letter) {
                (Some(number), _) => write!(out, "{number:0width$}"),
                (_, 'Y') => write!(out, "{year}"),
                (_, 'e') => write!(out, "{day:2}"),
                (_, 'j') => write!(out, "{:03}", days - first_day(year) + 1),
                (_, 'B') => write!(out, "{month_name}"),
                (_, 'b' | 'h') => write!(out, "{}", &month_name[..3]),
                (_, 'A') => write!(out, "{weekday}"),
                (_, 'a') => write!(out, "{}", &weekday[..3]),
                (_, 'p') => write!(out, "{}", if hour < 12 { "AM" } else { "PM" }),
                (_, 'F') => write!(out, "{year}-{month:02}-{day:02}"),
                (_, 'T') => write!(out, "{hour:02}:{minute:02}:{:02}", second_of_day % 60),
                (_, '%') => write!(out, "%"),
                (_, unknown) => return Err(unknown),
            };
            result.expect("a String takes everything");
        }
        Ok(out)
    }
}

/// Year, month from 1 and day from 1 of a count of days since 1970-01-01.
///
/// Counted in years that begin in March, so that the leap day is the last one, and in the 146,097
/// days after which the calendar repeats.
fn civil_date(days: i64) -> (i64, usize, usize) {
    // 0000-03-01 is 719,468 days before 1970-01-01.
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Five months from March on have 153 days, and so have the next five.
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month as usize, day as usize)
}

/// Days from 1970-01-01 to January 1 of a year.
fn first_day(year: i64) -> i64 {
    let before = year - 1;
    let leap_days = before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400);
    // Up to 1970 there were 1,969 whole years with 477 leap days.
    365 * (before - 1_969) + leap_days - 477
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(seconds: i64, format: &str, expected: &str) {
        assert_eq!(DateTime::from_unix(seconds, 0).format(format).as_deref(), Ok(expected));
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        check(0, "%Y-%m-%d %H:%M:%S %a %j", "1970-01-01 00:00:00 Thu 001");
        check(1_796_040_000, "%d %b %Y|%A, %B %-d|%I:%M %p", "30 Nov 2026|Monday, November 30|12:00 PM");
        // A leap day, the last second before it, and the end of a leap year.
        check(951_782_400, "%F %T %j", "2000-02-29 00:00:00 060");
        check(951_782_399, "%F %T %e", "2000-02-28 23:59:59 28");
        check(978_307_199, "%F %j %I%p %y%%", "2000-12-31 366 11PM 00%");
        check(-1, "%F %T", "1969-12-31 23:59:59");
    }

    #[test]
    fn local_time_is_utc_and_its_offset() {
        let local = DateTime::from_unix(0, -3600);
        assert_eq!(local.format("%F %H").as_deref(), Ok("1969-12-31 23"));
    }

    #[test]
    fn an_unknown_letter_is_named() {
        assert_eq!(DateTime::from_unix(0, 0).format("%d %Q"), Err('Q'));
    }

    #[test]
    fn any_time_can_be_formatted() {
        for seconds in [i64::MIN, i64::MAX] {
            assert!(DateTime::from_unix(seconds, i32::MAX).format("%F %j").is_ok());
        }
    }
}
