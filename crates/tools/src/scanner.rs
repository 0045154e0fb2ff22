//! JSON, character by character: what may still become a value, and where its parts begin and end.

/// Levels of objects and lists.
const DEPTH: usize = 128;

/// What a character is to an object at the outermost level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing that concerns that level.
    Inside,
    /// The first character of one of its keys: the quotation mark.
    KeyBegin,
    /// The last character of one of its keys.
    KeyEnd,
    /// The first character of one of its values.
    ValueBegin,
    /// The last character of one of its values that is an object, a list or a text.
    ValueEnd,
    /// The last character of all.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Value,
    FirstItem,
    FirstKey,
    Key,
    Colon,
    After,
    Text { is_key: bool },
    Escape { is_key: bool },
    Hex { is_key: bool, left: u8 },
    Word(&'static str),
    Number(Number),
    Done,
}

/// What of a number was there last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Minus,
    Zero,
    Digits,
    Dot,
    Fraction,
    E,
    Sign,
    Exponent,
}

/// Reads one object.
#[derive(Debug, Clone)]
pub(crate) struct Scanner {
    state: State,
    /// For each level, whether it is an object.
    levels: Vec<bool>,
}

impl Scanner {
    /// Behind the brace that begins the object.
    pub(crate) fn new() -> Scanner {
        Scanner { state: State::FirstKey, levels: vec![true] }
    }

    /// Takes the next character; none if no JSON goes on with it, after which the scanner is of no use.
    pub(crate) fn step(&mut self, c: char) -> Option<Step> {
        if let State::Number(number) = self.state {
            if let Some(next) = after_in_number(number, c) {
                self.state = State::Number(next);
                return Some(Step::Inside);
            }
            if !matches!(number, Number::Zero | Number::Digits | Number::Fraction | Number::Exponent) {
                return None;
            }
            self.state = State::After;
        }
        let outermost = self.levels.len() == 1;
        let at = |step: Step| if outermost { step } else { Step::Inside };
        let is_space = matches!(c, ' ' | '\t' | '\n' | '\r');
        match (self.state, c) {
            (State::Text { is_key }, '"') => {
                self.state = if is_key { State::Colon } else { State::After };
                Some(at(if is_key { Step::KeyEnd } else { Step::ValueEnd }))
            }
            (State::Text { is_key }, '\\') => self.inside(State::Escape { is_key }),
            (State::Text { .. }, '\0'..='\x1f') => None,
            (State::Text { .. }, _) => Some(Step::Inside),
            (State::Escape { is_key }, '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't') => {
                self.inside(State::Text { is_key })
            }
            (State::Escape { is_key }, 'u') => self.inside(State::Hex { is_key, left: 4 }),
            (State::Hex { is_key, left }, _) if c.is_ascii_hexdigit() => self.inside(if left == 1 {
                State::Text { is_key }
            } else {
                State::Hex { is_key, left: left - 1 }
            }),
            (State::Word(rest), _) => {
                let rest = rest.strip_prefix(c)?;
                self.inside(if rest.is_empty() { State::After } else { State::Word(rest) })
            }
            (
                State::Value | State::FirstItem | State::FirstKey | State::Key | State::Colon | State::After,
                _,
            ) if is_space => Some(Step::Inside),
            (State::FirstKey | State::Key, '"') => {
                self.state = State::Text { is_key: true };
                Some(at(Step::KeyBegin))
            }
            (State::Colon, ':') => self.inside(State::Value),
            (State::FirstKey, '}') => self.close(true),
            (State::FirstItem, ']') => self.close(false),
            (State::After, '}' | ']') => self.close(c == '}'),
            (State::After, ',') => {
                let in_object = *self.levels.last().expect("a level that is not closed");
                self.inside(if in_object { State::Key } else { State::Value })
            }
            (State::Value | State::FirstItem, _) => {
                self.state = match c {
                    '"' => State::Text { is_key: false },
                    '{' | '[' if self.levels.len() < DEPTH => {
                        self.levels.push(c == '{');
                        if c == '{' { State::FirstKey } else { State::FirstItem }
                    }
                    't' => State::Word("rue"),
                    'f' => State::Word("alse"),
                    'n' => State::Word("ull"),
                    '-' => State::Number(Number::Minus),
                    '0' => State::Number(Number::Zero),
                    '1'..='9' => State::Number(Number::Digits),
                    _ => return None,
                };
                Some(at(Step::ValueBegin))
            }
            _ => None,
        }
    }

    fn inside(&mut self, state: State) -> Option<Step> {
        self.state = state;
        Some(Step::Inside)
    }

    fn close(&mut self, object: bool) -> Option<Step> {
        if self.levels.pop() != Some(object) {
            return None;
        }
        let (state, step) = match self.levels.len() {
            0 => (State::Done, Step::End),
            1 => (State::After, Step::ValueEnd),
            _ => (State::After, Step::Inside),
        };
        self.state = state;
        Some(step)
    }
}

fn after_in_number(number: Number, c: char) -> Option<Number> {
    use Number::{Digits, Dot, E, Exponent, Fraction, Minus, Sign, Zero};
    Some(match (number, c) {
        (Minus, '0') => Zero,
        (Minus | Digits, '0'..='9') => Digits,
        (Zero | Digits, '.') => Dot,
        (Dot | Fraction, '0'..='9') => Fraction,
        (Zero | Digits | Fraction, 'e' | 'E') => E,
        (E, '+' | '-') => Sign,
        (E | Sign | Exponent, '0'..='9') => Exponent,
        _ => return None,
    })
}
