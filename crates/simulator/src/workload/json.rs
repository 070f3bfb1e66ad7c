// SPDX-License-Identifier: MIT OR Apache-2.0
//! JSON as rt-app files write it: a tree with places, in which objects keep every key in order, even repeated ones.
//!
//! Beyond JSON it reads what json-c reads (comments, trailing commas, single quotes) and what workgen adds: repeated
//! keys and omitted values (`"suspend",`). The tokens come from `jsonc-parser`; its own tree cannot omit a value.

use jsonc_parser::tokens::Token;
use jsonc_parser::{Scanner, ScannerOptions};

/// Deepest nesting that is read; rt-app's own grammar needs five levels.
const MAX_DEPTH: usize = 64;

/// A value and the byte offset at which it starts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Value {
    pub offset: usize,
    pub kind: Kind,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// `null`, or no value at all.
    Null,
    Bool(bool),
    /// A number, as it is written.
    Number(String),
    String(String),
    Array(Vec<Value>),
    Object(Vec<Member>),
}

/// One `"key" : value` of an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    pub key: String,
    /// Byte offset at which the key starts.
    pub offset: usize,
    pub value: Value,
}

/// Why a text is not JSON, and the byte offset of the reason.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub offset: usize,
    pub message: String,
}

impl Value {
    /// What the value is, for "not a …".
    pub fn describe(&self) -> &'static str {
        match self.kind {
            Kind::Null => "nothing",
            Kind::Bool(_) => "a boolean",
            Kind::Number(_) => "a number",
            Kind::String(_) => "a string",
            Kind::Array(_) => "an array",
            Kind::Object(_) => "an object",
        }
    }
}

/// Reads the one value that `text` holds.
pub(super) fn parse(text: &str) -> Result<Value, SyntaxError> {
    let mut parser = Parser::new(text)?;
    let value = parser.value(0)?;
    match parser.token {
        None => Ok(value),
        Some(_) => Err(parser.unexpected("the end of the file")),
    }
}

struct Parser<'a> {
    scanner: Scanner<'a>,
    /// The token that comes next, comments left out.
    token: Option<Token<'a>>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self, SyntaxError> {
        let options = ScannerOptions {
            allow_single_quoted_strings: true,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let mut parser = Self { scanner: Scanner::new(text, &options), token: None };
        parser.advance()?;
        Ok(parser)
    }

    fn advance(&mut self) -> Result<(), SyntaxError> {
        loop {
            self.token = self.scanner.scan().map_err(|error| SyntaxError {
                offset: error.range().start,
                message: format!("not JSON: {}", lower_first(&error.kind().to_string())),
            })?;
            if !matches!(self.token, Some(Token::CommentLine(_) | Token::CommentBlock(_))) {
                return Ok(());
            }
        }
    }

    fn unexpected(&self, expected: &str) -> SyntaxError {
        let found = match &self.token {
            None => "the end of the file".to_owned(),
            Some(token) => format!("`{}`", token.as_str()),
        };
        SyntaxError { offset: self.scanner.token_start(), message: format!("expected {expected}, found {found}") }
    }

    fn value(&mut self, depth: usize) -> Result<Value, SyntaxError> {
        let offset = self.scanner.token_start();
        if depth > MAX_DEPTH {
            return Err(SyntaxError { offset, message: format!("nested deeper than {MAX_DEPTH} levels") });
        }
        let kind = match &self.token {
            Some(Token::OpenBrace) => return self.object(depth, offset),
            Some(Token::OpenBracket) => return self.array(depth, offset),
            Some(Token::Null) => Kind::Null,
            Some(Token::Boolean(value)) => Kind::Bool(*value),
            Some(Token::Number(digits)) => Kind::Number((*digits).to_owned()),
            Some(Token::String(text)) => Kind::String(text.to_string()),
            Some(Token::Word(word)) => match word.to_ascii_lowercase().as_str() {
                "true" => Kind::Bool(true),
                "false" => Kind::Bool(false),
                "null" => Kind::Null,
                _ => return Err(self.unexpected("a value")),
            },
            _ => return Err(self.unexpected("a value")),
        };
        self.advance()?;
        Ok(Value { offset, kind })
    }

    fn array(&mut self, depth: usize, offset: usize) -> Result<Value, SyntaxError> {
        self.advance()?;
        let mut items = Vec::new();
        while self.token != Some(Token::CloseBracket) {
            items.push(self.value(depth + 1)?);
            self.separator(&Token::CloseBracket)?;
        }
        self.advance()?;
        Ok(Value { offset, kind: Kind::Array(items) })
    }

    fn object(&mut self, depth: usize, offset: usize) -> Result<Value, SyntaxError> {
        self.advance()?;
        let mut members = Vec::new();
        while self.token != Some(Token::CloseBrace) {
            members.push(self.member(depth)?);
            self.separator(&Token::CloseBrace)?;
        }
        self.advance()?;
        Ok(Value { offset, kind: Kind::Object(members) })
    }

    fn member(&mut self, depth: usize) -> Result<Member, SyntaxError> {
        let offset = self.scanner.token_start();
        let Some(Token::String(key)) = &self.token else {
            return Err(self.unexpected("a key in quotes or `}`"));
        };
        let key = key.to_string();
        self.advance()?;
        let value = match self.token {
            Some(Token::Colon) => {
                self.advance()?;
                self.value(depth + 1)?
            }
            Some(Token::Comma | Token::CloseBrace) => Value { offset, kind: Kind::Null },
            _ => return Err(self.unexpected("`:`")),
        };
        Ok(Member { key, offset, value })
    }

    /// Reads the comma between two elements; the last element may have one too.
    fn separator(&mut self, close: &Token) -> Result<(), SyntaxError> {
        match &self.token {
            Some(Token::Comma) => self.advance(),
            Some(token) if token == close => Ok(()),
            _ => Err(self.unexpected(&format!("`,` or `{}`", close.as_str()))),
        }
    }
}

fn lower_first(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(text: &str) -> Vec<(String, Kind)> {
        match parse(text).unwrap().kind {
            Kind::Object(members) => members.into_iter().map(|m| (m.key, m.value.kind)).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn repeated_keys_stay_in_order() {
        let found = members(r#"{"run": 1, "sleep": 2, "run": 3}"#);
        let keys: Vec<_> = found.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["run", "sleep", "run"]);
        assert_eq!(found[2].1, Kind::Number("3".into()));
    }

    #[test]
    fn values_may_be_omitted_and_commas_may_trail() {
        let found = members("{ /* a */ \"suspend\", // b\n 'yield' : '', \"last\" }");
        assert_eq!(found[0], ("suspend".into(), Kind::Null));
        assert_eq!(found[1], ("yield".into(), Kind::String(String::new())));
        assert_eq!(members(r#"{"cpus": [1, 2,],}"#).len(), 1);
    }

    #[test]
    fn mistakes_have_a_place() {
        let table = [
            (r#"{"a" 1}"#, 5, "expected `:`, found `1`"),
            (r#"{"a": 1 "b": 2}"#, 8, "expected `,` or `}`, found `b`"),
            (r#"{a: 1}"#, 1, "expected a key in quotes or `}`, found `a`"),
            (r#"{"a": }"#, 6, "expected a value, found `}`"),
            (r#"{"a": 1"#, 7, "expected `,` or `}`, found the end of the file"),
            ("", 0, "expected a value, found the end of the file"),
            ("{} {}", 3, "expected the end of the file, found `{`"),
            (r#"{"a": 0x10}"#, 6, "not JSON: hexadecimal numbers are not allowed"),
        ];
        for (text, offset, message) in table {
            assert_eq!(parse(text), Err(SyntaxError { offset, message: message.into() }), "{text}");
        }
    }

    #[test]
    fn nesting_has_a_limit() {
        assert!(parse(&"[".repeat(100_000)).unwrap_err().message.contains("nested deeper"));
    }
}
