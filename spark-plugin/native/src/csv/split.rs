//! A text taken apart into rows.

use memchr::{memchr, memchr2};

use super::dialect::Dialect;
use super::marks;
use super::record::{LineEnd, NEWLINE, Record, Token};
use super::rows::{Field, Rows};
use super::text::Text;
use crate::error::Result;

/// Which values of a row are asked for.
#[derive(Clone)]
pub struct Asked {
    /// How many values a row has.
    pub columns: usize,
    /// By column that is asked for: its place in the row.
    pub places: Vec<usize>,
    /// Whether a row is wrong that has more values, or fewer.
    pub counted: bool,
}

/// Takes a text apart.
pub struct Splitter {
    dialect: Dialect,
    asked: Asked,
    text: Text,
    /// Whether the header is still to come.
    header: bool,
    /// Whether bytes stand for themselves in all values without quotes.
    verbatim: bool,
    /// What ends a record, where that may be no line.
    line_end: Option<LineEnd>,
    /// Where the text has bytes that give it its structure; none before it was looked through.
    marks: Option<Vec<u32>>,
    /// How many of the marks are done with.
    passed: usize,
}

/// A line, and where the next one begins.
struct Line {
    begin: usize,
    end: usize,
    next: usize,
    /// The marks of the line, of which the last is its end, and the first after it.
    marks: std::ops::Range<usize>,
    next_mark: usize,
}

impl Splitter {
    pub fn new(dialect: Dialect, asked: Asked, text: Text, header: bool) -> Self {
        Splitter {
            verbatim: !dialect.ignore_leading_white_space && !dialect.ignore_trailing_white_space,
            dialect,
            asked,
            text,
            header,
            line_end: None,
            marks: None,
            passed: 0,
        }
    }

    pub fn text(&self) -> &Text {
        &self.text
    }

    /// All values of the first of some rows, whatever was asked for; none for what is null.
    pub fn values(&self, rows: &Rows) -> Vec<Option<String>> {
        let line = rows.line(self.text.bytes(), 0);
        let line_end = self.line_end.unwrap_or(LineEnd::of(b""));
        let (record, ..) = Record::read(&self.dialect, line_end, line);
        let text = |token: &Token| match token {
            Token::Nothing => None,
            Token::Empty => Some(self.dialect.empty_value.clone()),
            Token::Bytes(begin, end) => {
                Some(String::from_utf8_lossy(&record.bytes[*begin as usize..*end as usize]).into_owned())
            }
        };
        record.tokens.iter().map(text).collect()
    }

    /// How many values a row has.
    pub fn columns(&self) -> usize {
        self.asked.columns
    }

    /// The next rows, so many at most; false after the last. Their values lie in the text as it is now.
    pub fn next(&mut self, most: usize, rows: &mut Rows) -> Result<bool> {
        rows.clear(self.asked.places.len());
        loop {
            let ended = if self.dialect.multi_line {
                self.records(most, rows)
            } else {
                self.lines(most, rows)
            };
            if rows.len() > 0 {
                return Ok(true);
            }
            if ended || !self.text.more()? {
                return Ok(false);
            }
            self.marks = None;
        }
    }

    /// Whole lines; true if those that are left are others' to read.
    fn lines(&mut self, most: usize, rows: &mut Rows) -> bool {
        let Dialect {
            delimiter,
            quote,
            comment,
            ..
        } = self.dialect;
        let (text, limit) = (self.text.bytes(), self.text.limit());
        let mut at = self.text.done();
        let marks = self.marks.take().unwrap_or_else(|| {
            self.passed = 0;
            let mut marks = Vec::new();
            marks::find(text, at, [delimiter, quote, b'\n', b'\r'], &mut marks);
            marks
        });
        let columns = self.asked.columns;
        let quick = self.verbatim && columns > 0;
        let ended = loop {
            if rows.len() == most {
                break false;
            }
            if at >= limit {
                break true;
            }
            if quick
                && !self.header
                && let Some(ends) = marks.get(self.passed..self.passed + columns)
                && let Some((last, others)) = ends.split_last()
                && text[*last as usize] == NEWLINE
                && text[at] > b' '
                && Some(text[at]) != comment
                && others.iter().all(|end| text[*end as usize] == delimiter)
            {
                for place in &self.asked.places {
                    let begin = if *place == 0 {
                        at as u32
                    } else {
                        ends[*place - 1] + 1
                    };
                    rows.push(begin, ends[*place]);
                }
                rows.end_row(at, *last as usize);
                at = *last as usize + 1;
                self.passed += columns;
                continue;
            }
            let Some(line) = self.line(text, at, &marks) else {
                break false;
            };
            if !self.dialect.skips(&text[line.begin..line.end]) {
                if self.header {
                    self.header = false;
                } else {
                    self.row(text, &line, &marks, rows);
                }
            }
            at = line.next;
            self.passed = line.next_mark;
        };
        self.text.pass(at);
        self.marks = Some(marks);
        ended
    }

    /// The line that begins here, if its end has been read.
    fn line(&self, text: &[u8], begin: usize, marks: &[u32]) -> Option<Line> {
        let is_end = |mark: &u32| matches!(text[*mark as usize], b'\n' | b'\r');
        let last = self.passed + marks.get(self.passed..)?.iter().position(is_end)?;
        let end = marks[last] as usize;
        let pair = text[end..].starts_with(b"\r\n");
        if text[end] == b'\r' && end + 1 == text.len() {
            return None; // what comes next may belong to the line's end
        }
        Some(Line {
            begin,
            end,
            next: end + 1 + usize::from(pair),
            marks: self.passed..last + 1,
            next_mark: last + 1 + usize::from(pair),
        })
    }

    fn row(&self, text: &[u8], line: &Line, marks: &[u32], rows: &mut Rows) {
        let row = rows.begin_row(line.begin, line.end);
        if self.asked.places.is_empty() && !self.asked.counted {
            return;
        }
        let found = self.plain_row(text, line, &marks[line.marks.clone()], rows, row);
        let found = found.unwrap_or_else(|| {
            let line_end = LineEnd {
                first: NEWLINE,
                second: 0,
            };
            let (record, ..) = Record::read(&self.dialect, line_end, &text[line.begin..line.end]);
            self.take(&record, rows, row)
        });
        if self.asked.counted && found != self.asked.columns {
            rows.ragged.push(row as u32);
        }
    }

    /// A row in which nothing is escaped; gives how many values it has, or none if it is another one.
    fn plain_row(
        &self,
        text: &[u8],
        line: &Line,
        marks: &[u32],
        rows: &mut Rows,
        row: usize,
    ) -> Option<usize> {
        let Dialect {
            delimiter,
            quote,
            escape,
            ..
        } = self.dialect;
        if !self.verbatim {
            return None;
        }
        let mut begin = line.begin;
        let mut found = 0;
        let mut marks = marks.iter().map(|mark| *mark as usize);
        let mut mark = marks.next()?;
        loop {
            if text[mark] == quote && mark == begin && mark < line.end {
                let close = marks.find(|mark| text[*mark] == quote)?;
                let end = marks.next()?;
                let inner = &text[begin + 1..close];
                if inner.is_empty() && escape == 0
                    || end != close + 1
                    || escape != quote && memchr(escape, inner).is_some()
                {
                    return None;
                }
                if text[end] == quote && end < line.end {
                    return None;
                }
                let value = if inner.is_empty() {
                    rows.add(self.dialect.empty_value.as_bytes())
                } else {
                    Field::of(begin + 1, close)
                };
                rows.set(row, self.slot(found), value);
                mark = end;
            } else if text[mark] == delimiter || mark == line.end {
                if mark > begin {
                    rows.set(row, self.slot(found), Field::of(begin, mark));
                }
            } else {
                mark = marks.next()?;
                continue;
            }
            found += 1;
            if mark == line.end {
                return Some(found);
            }
            begin = mark + 1;
            mark = marks.next()?;
        }
    }

    /// Which of the columns asked for has this place.
    fn slot(&self, place: usize) -> Option<usize> {
        self.asked.places.iter().position(|asked| *asked == place)
    }

    /// The values of a record; gives how many it has.
    fn take(&self, record: &Record, rows: &mut Rows, row: usize) -> usize {
        for (slot, place) in self.asked.places.iter().enumerate() {
            let value = match record.tokens.get(*place) {
                None | Some(Token::Nothing) => continue,
                Some(Token::Empty) => rows.add(self.dialect.empty_value.as_bytes()),
                Some(Token::Bytes(begin, end)) => rows.add(&record.bytes[*begin as usize..*end as usize]),
            };
            rows.set(row, Some(slot), value);
        }
        record.tokens.len()
    }

    /// Whole records, which may have several lines; true after the last.
    fn records(&mut self, most: usize, rows: &mut Rows) -> bool {
        let text = self.text.bytes();
        let mut at = self.text.done();
        while rows.len() < most {
            let rest = &text[at..];
            let line_end = match self.line_end {
                Some(known) => known,
                // What comes after the first may belong to it.
                None if self.text.over()
                    || memchr2(b'\n', b'\r', rest).is_some_and(|at| at + 1 < rest.len()) =>
                {
                    *self.line_end.insert(LineEnd::of(rest))
                }
                None => break,
            };
            if self.dialect.comment.is_some() && rest.first() == self.dialect.comment.as_ref() {
                match line_end.find(rest) {
                    Some(next) => at += next,
                    None if self.text.over() => at = text.len(),
                    None => break,
                }
                continue;
            }
            let (record, taken, ended) = Record::begin(&self.dialect, line_end, rest, self.text.over());
            if !self.text.over() && (!ended || taken == rest.len()) || rest.is_empty() {
                break;
            }
            if !record.tokens.is_empty() {
                if self.header {
                    self.header = false;
                } else {
                    let line = self.without_line_end(&rest[..taken]).len();
                    let row = rows.begin_row(at, at + line);
                    let found = self.take(&record, rows, row);
                    if self.asked.counted && found != self.asked.columns {
                        rows.ragged.push(row as u32);
                    }
                }
            }
            at += taken;
        }
        self.text.pass(at);
        false
    }

    /// What is shown of a malformed record.
    fn without_line_end<'a>(&self, record: &'a [u8]) -> &'a [u8] {
        match record {
            [rest @ .., b'\r', b'\n'] | [rest @ .., b'\n'] => rest,
            [rest @ .., b'\r'] if self.dialect.strips_returns => rest,
            _ => record,
        }
    }
}
