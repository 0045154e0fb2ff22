//! The source of a template with a filter behind every value that could make others deeper.

use std::iter::Peekable;

use minijinja::Error;
use minijinja::machinery::{Span, Token, tokenize};
use minijinja::syntax::SyntaxConfig;

use super::bounded::{BOUNDED_END, KEPT_END, KEPT_FILTER};

/// Tokens that an expression or a tag may have: they are parsed and compiled by recursion.
pub(super) const TOKENS_MAX: usize = 4096;
/// `elif`s that a template may have, since each is compiled within the one before.
pub(super) const ELIFS_MAX: usize = 1024;

/// A source that was added to.
pub(super) struct Checked {
    pub(super) text: String,
    /// Where something was added, in the new text, and how long it is.
    added: Vec<(usize, usize)>,
}

/// What a template has too much of: its offset and what it is.
pub(super) struct TooMuch {
    pub(super) offset: usize,
    pub(super) what: String,
}

impl Checked {
    /// Of a source that parses. The error is of one that does not, or has too much.
    pub(super) fn new(source: &str, syntax: &SyntaxConfig) -> Result<Result<Checked, TooMuch>, Error> {
        let mut pass = Pass::default();
        let mut tokens = tokenize(source, false, syntax.clone()).peekable();
        while let Some(next) = tokens.next() {
            let (token, span) = next?;
            if let Err(too_much) = pass.take(&token, span, &mut tokens) {
                return Ok(Err(too_much));
            }
        }
        Ok(Ok(pass.finish(source)))
    }

    /// The offset in the source of one in the text.
    pub(super) fn original(&self, offset: usize) -> usize {
        let mut original = offset;
        for (at, length) in self.added.iter().take_while(|(at, _)| *at < offset) {
            original -= (*length).min(offset - at);
        }
        original
    }
}

/// A bracket that is open.
struct Open {
    start: usize,
    /// Whether it may be a list, a map or a tuple, and not an index, a call or a target.
    may_be_value: bool,
    is_paren: bool,
    has_comma: bool,
    /// Whether something in it has a name: what has none is as written, and as deep.
    has_name: bool,
}

/// One way through the tokens.
#[derive(Default)]
struct Pass<'a> {
    add: Vec<(usize, &'static str)>,
    open: Vec<Open>,
    /// The first word of a tag; none in an expression.
    tag: Option<&'a str>,
    is_tag: bool,
    /// Tokens since the beginning of the expression or the tag.
    count: usize,
    elifs: usize,
    /// End of the token before, and whether a value ends with it, and whether it is a dot.
    end: usize,
    is_value: bool,
    is_dot: bool,
    /// Of `set`: whether its target is in a namespace, where its value begins, and whether that is several.
    is_dotted: bool,
    begin: Option<usize>,
    is_several: bool,
    has_filter: bool,
    /// Of `for`: whether `in` was there.
    is_in: bool,
}

impl<'a> Pass<'a> {
    fn take<T>(&mut self, token: &Token<'a>, span: Span, rest: &mut Peekable<T>) -> Result<(), TooMuch>
    where
        T: Iterator<Item = Result<(Token<'a>, Span), Error>>,
    {
        let (start, end) = (span.start_offset as usize, span.end_offset as usize);
        match token {
            Token::TemplateData(_) => return Ok(()),
            Token::BlockStart | Token::VariableStart => {
                let (add, elifs) = (std::mem::take(&mut self.add), self.elifs);
                *self = Pass { add, elifs, is_tag: matches!(token, Token::BlockStart), ..Pass::default() };
                return Ok(());
            }
            Token::BlockEnd | Token::VariableEnd => {
                self.end_of_set();
                return Ok(());
            }
            _ => {}
        }
        self.count += 1;
        if self.count > TOKENS_MAX {
            let what = format!("an expression of more than {TOKENS_MAX} parts");
            return Err(TooMuch { offset: start, what });
        }
        let (was_value, was_dot) = (self.is_value, self.is_dot);
        (self.is_value, self.is_dot) = (false, false);
        match token {
            Token::Ident(name) => self.word(name, was_dot, start)?,
            Token::Str(_) | Token::String(_) | Token::Int(_) | Token::Int128(_) | Token::Float(_) => {
                self.is_value = true;
            }
            Token::BracketOpen | Token::BraceOpen | Token::ParenOpen => {
                let is_target = match self.tag {
                    Some("for") => !self.is_in,
                    Some("set") => self.begin.is_none(),
                    Some("call") => self.count == 2,
                    _ => false,
                };
                self.open.push(Open {
                    start,
                    may_be_value: !was_value && !is_target,
                    is_paren: matches!(token, Token::ParenOpen),
                    has_comma: false,
                    has_name: false,
                });
            }
            Token::BracketClose | Token::BraceClose | Token::ParenClose => {
                self.is_value = true;
                if let Some(open) = self.open.pop() {
                    let is_target = matches!(rest.peek(), Some(Ok((Token::Assign, _))));
                    if open.may_be_value && open.has_name && !is_target && (open.has_comma || !open.is_paren)
                    {
                        self.add.extend([(open.start, "("), (end, BOUNDED_END)]);
                    }
                    if let Some(outer) = self.open.last_mut() {
                        outer.has_name |= open.has_name;
                    }
                }
            }
            Token::Comma => match self.open.last_mut() {
                Some(open) => open.has_comma = true,
                None => self.is_several |= self.begin.is_some(),
            },
            Token::Dot => {
                self.is_dot = true;
                self.is_dotted |= self.begin.is_none();
            }
            Token::Pipe => self.has_filter = true,
            Token::Assign if self.tag == Some("set") && self.open.is_empty() && self.begin.is_none() => {
                self.begin = Some(end);
            }
            _ => {}
        }
        self.end = end;
        Ok(())
    }

    fn word(&mut self, name: &'a str, is_attribute: bool, start: usize) -> Result<(), TooMuch> {
        if self.is_tag && self.count == 1 {
            self.tag = Some(name);
            self.elifs += usize::from(name == "elif");
            if self.elifs > ELIFS_MAX {
                return Err(TooMuch { offset: start, what: format!("more than {ELIFS_MAX} elif") });
            }
            return Ok(());
        }
        let is_operator = matches!(name, "in" | "not" | "and" | "or" | "if" | "else" | "is");
        if is_operator && !is_attribute {
            self.is_in |= name == "in";
            return Ok(());
        }
        self.is_value = true;
        if let Some(open) = self.open.last_mut() {
            open.has_name = true;
        }
        Ok(())
    }

    /// A tag or an expression ends.
    fn end_of_set(&mut self) {
        if self.tag != Some("set") {
            return;
        }
        match self.begin {
            Some(begin) if self.is_dotted => self.add.extend([(begin, "("), (self.end, KEPT_END)]),
            Some(begin) if self.is_several => self.add.extend([(begin, "("), (self.end, BOUNDED_END)]),
            None if self.is_dotted && self.has_filter => self.add.push((self.end, KEPT_FILTER)),
            _ => {}
        }
    }

    fn finish(mut self, source: &str) -> Checked {
        // Of several in one place the inner one was found first.
        self.add.sort_by_key(|(at, _)| *at);
        let (mut text, mut added, mut from) = (String::with_capacity(source.len()), Vec::new(), 0);
        for (at, more) in self.add {
            text.push_str(&source[from..at]);
            added.push((text.len(), more.len()));
            text.push_str(more);
            from = at;
        }
        text.push_str(&source[from..]);
        Checked { text, added }
    }
}
