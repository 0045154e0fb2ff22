//! Patterns of schemas. They are JavaScript's, and validators in other languages read some parts in their own way: what is
//! written here matches only what all of them match.

use regex_syntax::ast::{
    self, Ast, ClassPerl, ClassPerlKind, ClassSetItem, GroupKind, HexLiteralKind, Literal, LiteralKind, Span,
    SpecialLiteralKind,
};

use crate::regex;

/// Digits, word characters and spaces: the fewest and the most that anyone counts among them, as parts of a set.
const DIGITS: (&str, &str) = ("0-9", r"\p{Nd}");
const WORDS: (&str, &str) = ("0-9A-Za-z_", r"\p{Alphabetic}\p{M}\p{N}\p{Pc}\p{Join_Control}");
const SPACES: (&str, &str) = (r"\t\n\x0B\x0C\r\x20", r"\p{White_Space}\x1C-\x1F\x{FEFF}");

/// All that ends a line in one language or another.
const DOT: &str = r"[^\n\r\x{85}\x{2028}\x{2029}]";

/// The pattern in the engine's syntax; what is wrong with it, or read differently without a common part, is the error.
pub(super) fn translate(pattern: &str) -> Result<String, String> {
    let ast = regex::parse(pattern)?;
    let replaced = ast::visit(&ast, Translation::default())?;
    let mut out = String::with_capacity(pattern.len());
    let mut at = 0;
    for (span, text) in replaced {
        out.push_str(&pattern[at..span.start.offset]);
        out.push_str(&text);
        at = span.end.offset;
    }
    out.push_str(&pattern[at..]);
    Ok(out)
}

#[derive(Default)]
struct Translation {
    /// In the order of the text.
    replaced: Vec<(Span, String)>,
    /// Whether the set that is being visited is negated.
    negated: bool,
}

impl ast::Visitor for Translation {
    type Output = Vec<(Span, String)>;
    type Err = String;

    fn finish(self) -> Result<Self::Output, String> {
        Ok(self.replaced)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), String> {
        match ast {
            Ast::Empty(_)
            | Ast::Repetition(_)
            | Ast::Alternation(_)
            | Ast::Concat(_)
            | Ast::ClassUnicode(_) => {}
            Ast::Flags(flags) => return Err(refused(&flags.span, "flags")),
            Ast::Dot(span) => self.replaced.push((**span, DOT.to_owned())),
            Ast::Literal(literal) => check_literal(literal)?,
            Ast::Assertion(assertion) if regex::is_anchor(&assertion.kind) => {}
            Ast::Assertion(assertion) => {
                return Err(refused(&assertion.span, "an assertion other than ^ and $"));
            }
            Ast::Group(group) => match &group.kind {
                GroupKind::NonCapturing(flags) if !flags.items.is_empty() => {
                    return Err(refused(&group.span, "flags"));
                }
                _ => {}
            },
            Ast::ClassPerl(class) => {
                let (inside, negated) = members(class, false);
                let sign = if negated { "^" } else { "" };
                self.replaced.push((class.span, format!("[{sign}{inside}]")));
            }
            Ast::ClassBracketed(class) => self.negated = class.negated,
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), String> {
        match item {
            ClassSetItem::Empty(_) | ClassSetItem::Unicode(_) | ClassSetItem::Union(_) => {}
            ClassSetItem::Literal(literal) => check_member(literal)?,
            ClassSetItem::Range(range) => {
                check_member(&range.start)?;
                check_member(&range.end)?;
            }
            ClassSetItem::Ascii(class) => return Err(refused(&class.span, "a named class")),
            ClassSetItem::Bracketed(class) => return Err(refused(&class.span, "a set in a set")),
            ClassSetItem::Perl(class) => {
                let (inside, negated) = members(class, self.negated);
                let text = if negated { format!("[^{inside}]") } else { inside.to_owned() };
                self.replaced.push((class.span, text));
            }
        }
        Ok(())
    }

    fn visit_class_set_binary_op_pre(&mut self, op: &ast::ClassSetBinaryOp) -> Result<(), String> {
        Err(refused(&op.span, "an operation on sets"))
    }
}

/// The characters of a class, and whether it is all others. Few of them where more would match more, so many where the
/// class or the set around it is negated.
fn members(class: &ClassPerl, in_negated: bool) -> (&'static str, bool) {
    let (few, many) = match class.kind {
        ClassPerlKind::Digit => DIGITS,
        ClassPerlKind::Space => SPACES,
        ClassPerlKind::Word => WORDS,
    };
    (if class.negated == in_negated { few } else { many }, class.negated)
}

/// Escapes that mean something else elsewhere.
fn check_literal(literal: &Literal) -> Result<(), String> {
    match literal.kind {
        LiteralKind::Special(SpecialLiteralKind::Bell)
        | LiteralKind::HexFixed(HexLiteralKind::UnicodeLong)
        | LiteralKind::HexBrace(HexLiteralKind::X | HexLiteralKind::UnicodeLong) => {
            Err(refused(&literal.span, "an escape that JavaScript does not know"))
        }
        _ => Ok(()),
    }
}

/// In JavaScript `[]` is a set without members.
fn check_member(literal: &Literal) -> Result<(), String> {
    if literal.kind == LiteralKind::Verbatim && literal.c == ']' {
        return Err(refused(&literal.span, "a bracket in a set without a backslash"));
    }
    check_literal(literal)
}

fn refused(span: &Span, what: &str) -> String {
    format!("{what} at character {} of the pattern", span.start.column)
}
