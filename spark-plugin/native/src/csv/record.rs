//! One record, byte by byte, whatever its quotes: the rules are those of the parser that Spark uses, univocity's.

use super::dialect::Dialect;

/// A value, as the file has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Token {
    /// Nothing between two delimiters.
    Nothing,
    /// Quotes with nothing in them, and the like.
    Empty,
    /// Bytes of [`Record::bytes`].
    Bytes(u32, u32),
}

/// What ends a line.
#[derive(Clone, Copy)]
pub struct LineEnd {
    pub first: u8,
    /// 0 where one byte ends a line.
    pub second: u8,
}

impl LineEnd {
    /// The first one of a whole text, or of as much of it as says what comes after.
    pub fn of(text: &[u8]) -> Self {
        match text.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            Some(at) if text[at..].starts_with(b"\r\n") => LineEnd {
                first: b'\r',
                second: b'\n',
            },
            // The parser takes no end for one that the whole text ends with, if it is none of its own.
            Some(at) if at + 1 < text.len() => LineEnd {
                first: text[at],
                second: 0,
            },
            _ => LineEnd {
                first: NEWLINE,
                second: 0,
            },
        }
    }
}

impl LineEnd {
    /// Where the next line begins.
    pub fn find(self, text: &[u8]) -> Option<usize> {
        let pair = [self.first, self.second];
        let pair = if self.second == 0 { &pair[..1] } else { &pair[..] };
        text.windows(pair.len())
            .position(|bytes| bytes == pair)
            .map(|at| at + pair.len())
    }
}

pub const NEWLINE: u8 = b'\n';

/// The text was over before the record was.
struct Over;

type Step<T = ()> = Result<T, Over>;

/// A record that is taken apart; its memory serves one after another.
pub struct Record<'a> {
    dialect: &'a Dialect,
    line_end: LineEnd,
    text: &'a [u8],
    /// Whether nothing comes after the text.
    whole: bool,
    next: usize,
    current: u8,
    previous: u8,
    unescaped: bool,
    trims: bool,
    /// Where the value begins in `bytes`.
    begin: usize,
    blanks: Vec<u8>,
    pub bytes: Vec<u8>,
    pub tokens: Vec<Token>,
}

impl<'a> Record<'a> {
    /// A record that begins where `text` does, or none where there is no text.
    ///
    /// Gives how many bytes it took, and whether it ended with them, and not just because the text was over.
    pub fn read(dialect: &'a Dialect, line_end: LineEnd, text: &'a [u8]) -> (Self, usize, bool) {
        Record::begin(dialect, line_end, text, true)
    }

    /// The same of a text of which there may be more to come.
    pub fn begin(
        dialect: &'a Dialect,
        line_end: LineEnd,
        text: &'a [u8],
        whole: bool,
    ) -> (Self, usize, bool) {
        let mut record = Record {
            dialect,
            line_end,
            text,
            whole,
            next: 0,
            current: 0,
            previous: 0,
            unescaped: false,
            trims: false,
            begin: 0,
            blanks: Vec::new(),
            bytes: Vec::new(),
            tokens: Vec::new(),
        };
        let ended = record.parse().is_ok();
        if !ended {
            record.end_of_text();
        }
        let taken = record.next;
        (record, taken, ended)
    }

    fn parse(&mut self) -> Step {
        self.current = self.advance()?;
        self.skip_leading()?;
        while self.current != NEWLINE {
            self.skip_leading()?;
            if self.current == self.dialect.delimiter || self.current == NEWLINE {
                self.tokens.push(Token::Nothing);
            } else {
                self.unescaped = false;
                self.previous = 0;
                if self.current == self.dialect.quote {
                    self.trims = false;
                    if self.simple() {
                        self.current = self.advance()?;
                    } else {
                        self.quoted()?;
                    }
                    self.value();
                } else {
                    self.plain()?;
                }
            }
            if self.current != NEWLINE {
                self.current = self.advance()?;
                if self.current == NEWLINE {
                    self.tokens.push(Token::Nothing);
                }
            }
        }
        Ok(())
    }

    fn advance(&mut self) -> Step<u8> {
        let Some(&byte) = self.text.get(self.next) else {
            return Err(Over);
        };
        self.next += 1;
        if byte == self.line_end.first {
            if self.line_end.second == 0 {
                return Ok(NEWLINE);
            }
            if self.text.get(self.next) == Some(&self.line_end.second) {
                self.next += 1;
                return Ok(NEWLINE);
            }
        }
        Ok(byte)
    }

    fn skip_leading(&mut self) -> Step {
        let Dialect { delimiter, quote, .. } = *self.dialect;
        if self.dialect.ignore_leading_white_space {
            while self.current <= b' ' && ![delimiter, quote, NEWLINE].contains(&self.current) {
                self.current = self.advance()?;
            }
        }
        Ok(())
    }

    /// A value that begins with no quote: none in it counts.
    fn plain(&mut self) -> Step {
        self.trims = self.dialect.ignore_trailing_white_space;
        if self.line_end.first == NEWLINE || !self.within_text()? {
            self.current = self.until([self.dialect.delimiter, NEWLINE, NEWLINE])?;
        }
        if self.trims && self.bytes[self.begin..].iter().all(|byte| *byte <= b' ') {
            self.bytes.truncate(self.begin);
            self.tokens.push(Token::Nothing);
        } else {
            self.value();
        }
        Ok(())
    }

    /// Takes a value up to what ends it, if the text has that: bytes that would end lines elsewhere are the value's own.
    fn within_text(&mut self) -> Step<bool> {
        let begin = self.next - 1;
        let LineEnd { first, second } = self.line_end;
        let rest = &self.text[begin..];
        let ends = |at: &usize| {
            let next = rest.get(at + 1);
            rest[*at] == self.dialect.delimiter
                || rest[*at] == first && next.is_some_and(|next| second == 0 || *next == second)
        };
        match (0..rest.len()).find(ends) {
            Some(length) => {
                self.bytes.extend(&rest[..length]);
                self.next = begin + length;
                self.current = self.advance()?;
                Ok(true)
            }
            None if self.whole => Ok(false),
            None => Err(Over),
        }
    }

    /// Takes what is there, the current byte first, up to one of `stops`, which it gives.
    fn until(&mut self, stops: [u8; 3]) -> Step<u8> {
        let mut byte = self.current;
        while !stops.contains(&byte) {
            self.bytes.push(byte);
            byte = self.advance()?;
        }
        Ok(byte)
    }

    fn quoted(&mut self) -> Step {
        let Dialect {
            delimiter,
            quote,
            escape,
            ..
        } = *self.dialect;
        if self.previous != 0 {
            return self.raw();
        }
        self.current = self.advance()?;
        loop {
            let ends = self.current <= b' ' || self.current == delimiter || self.current == NEWLINE;
            if self.previous == quote && ends {
                break;
            }
            if self.current != quote && self.current != escape {
                if self.previous == quote {
                    // A quote that nothing escapes, in the middle of a value.
                    self.unescaped = true;
                    self.bytes.extend([quote, self.current]);
                    self.previous = self.current;
                    return self.raw();
                }
                if self.previous == escape && escape != 0 {
                    self.bytes.push(escape);
                }
                self.current = self.until([quote, escape, self.dialect.escape_of_escape()])?;
                self.previous = self.current;
                self.current = self.advance()?;
            } else {
                self.escaped()?;
                self.previous = self.current;
                self.current = self.advance()?;
                if self.unescaped && (self.current == delimiter || self.current == NEWLINE) {
                    return Ok(());
                }
            }
        }
        if self.current != delimiter && self.current != NEWLINE {
            self.blanks.clear();
            while self.current <= b' ' && self.current != delimiter {
                self.blanks.push(self.current);
                self.current = self.advance()?;
                if self.current == NEWLINE {
                    return Ok(());
                }
            }
            if self.current != delimiter {
                self.bytes.push(quote);
                self.bytes.append(&mut self.blanks);
                self.bytes.push(self.current);
                self.previous = self.current;
                return self.raw();
            }
        }
        Ok(())
    }

    /// A value in quotes with nothing to make out in it, and a delimiter after it; false if it is another one.
    fn simple(&mut self) -> bool {
        let Dialect {
            delimiter,
            quote,
            escape,
            ..
        } = *self.dialect;
        let rest = &self.text[self.next..];
        let Some(close) = rest.iter().position(|byte| *byte == quote) else {
            return false;
        };
        let (inner, after) = (&rest[..close], rest.get(close + 1));
        let before = if close == 0 { quote } else { rest[close - 1] };
        let pairs = inner.windows(2);
        let escapes = pairs.filter(|pair| pair[0] == escape && pair[1] == self.dialect.escape_of_escape());
        if before == escape
            || inner.contains(&self.line_end.first)
            || !after.is_some_and(|byte| *byte == delimiter || *byte == NEWLINE)
            || escapes.count() > 0
        {
            return false;
        }
        self.bytes.extend_from_slice(inner);
        self.next += close + 1;
        true
    }

    /// The value is no quoted one after all: its quote belongs to it, and so does what comes up to the delimiter.
    fn raw(&mut self) -> Step {
        self.bytes.insert(self.begin, self.dialect.quote);
        self.current = self.advance()?;
        self.trims = self.dialect.ignore_trailing_white_space;
        self.current = self.until([self.dialect.delimiter, NEWLINE, NEWLINE])?;
        Ok(())
    }

    fn escaped(&mut self) -> Step {
        let Dialect { quote, escape, .. } = *self.dialect;
        let escape_of_escape = self.dialect.escape_of_escape();
        if self.current == escape && self.previous == escape_of_escape && escape_of_escape != 0 {
            self.bytes.push(escape);
            self.current = 0;
        } else if self.previous == escape {
            if self.current == quote {
                self.bytes.push(quote);
                self.current = 0;
            } else {
                self.bytes.push(self.previous);
            }
        } else if self.current == quote && self.previous == quote {
            self.bytes.push(quote);
        } else if self.previous == quote {
            self.unescaped_quote()?;
        }
        Ok(())
    }

    fn unescaped_quote(&mut self) -> Step {
        let Dialect {
            delimiter,
            quote,
            escape,
            ..
        } = *self.dialect;
        self.bytes.push(quote);
        self.previous = self.current;
        while self.current != delimiter && self.current != NEWLINE {
            if self.current != quote && self.current != escape {
                if self.previous == quote {
                    return self.unescaped_quote();
                }
                self.bytes.push(self.current);
            } else {
                self.escaped()?;
            }
            self.previous = self.current;
            self.current = self.advance()?;
        }
        Ok(())
    }

    /// The value ends.
    fn value(&mut self) {
        if self.trims {
            let kept = self.bytes[self.begin..].iter().rposition(|byte| *byte > b' ');
            self.bytes
                .truncate(kept.map_or(self.begin, |last| self.begin + last + 1));
        }
        let end = self.bytes.len();
        self.tokens.push(match end == self.begin {
            true => Token::Empty,
            false => Token::Bytes(self.begin as u32, end as u32),
        });
        self.begin = end;
    }

    fn end_of_text(&mut self) {
        let Dialect { delimiter, quote, .. } = *self.dialect;
        let closed = self.current == quote && self.previous == quote;
        if self.current == quote && !closed && !self.unescaped {
            self.bytes.push(quote);
        }
        let comment = self.dialect.comment.unwrap_or(b'#');
        let begun = closed || self.previous != 0 && ![delimiter, NEWLINE, comment].contains(&self.current);
        if self.bytes.len() > self.begin || begun {
            self.value();
        } else if !self.text.is_empty() {
            self.tokens.push(Token::Nothing);
        }
    }
}
