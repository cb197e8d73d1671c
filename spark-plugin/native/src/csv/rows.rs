//! Rows of a text, by where their values lie.

/// Rows that are taken apart before they are read column by column: they stay in the processor's caches meanwhile.
pub const ROWS: usize = 1024;

/// Where the bytes of a value lie.
#[derive(Clone, Copy)]
pub struct Field {
    begin: u32,
    end: u32,
}

impl Field {
    const NULL: Field = Field {
        begin: u32::MAX,
        end: 0,
    };
    /// Of `begin`: the bytes are not the file's own.
    const ASIDE: u32 = 1 << 31;

    pub fn of(begin: usize, end: usize) -> Self {
        Field {
            begin: begin as u32,
            end: end as u32,
        }
    }
}

/// Some rows.
#[derive(Default)]
pub struct Rows {
    /// How many values of a row are kept.
    width: usize,
    fields: Vec<Field>,
    /// Values that were written otherwise than they are meant.
    aside: Vec<u8>,
    /// Where each row lies.
    lines: Vec<Field>,
    /// Rows with too few values or too many.
    pub ragged: Vec<u32>,
}

impl Rows {
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// A value, of one of the columns asked for; none if it is null.
    #[inline(always)]
    pub fn value<'a>(&'a self, text: &'a [u8], row: usize, column: usize) -> Option<&'a [u8]> {
        let Field { begin, end } = self.fields[row * self.width + column];
        if begin < Field::ASIDE {
            return Some(&text[begin as usize..end as usize]);
        }
        (begin != Field::NULL.begin).then(|| &self.aside[(begin - Field::ASIDE) as usize..end as usize])
    }

    /// A row as it was written, without what ends its line.
    pub fn line<'a>(&self, text: &'a [u8], row: usize) -> &'a [u8] {
        let Field { begin, end } = self.lines[row];
        &text[begin as usize..end as usize]
    }

    /// How many bytes there are from the first row's first to the last row's last.
    pub fn span(&self) -> usize {
        let bounds = self.lines.first().zip(self.lines.last());
        bounds.map_or(0, |(first, last)| (last.end - first.begin) as usize)
    }

    /// Where a row begins.
    pub fn begin(&self, row: usize) -> usize {
        self.lines[row].begin as usize
    }

    /// A row without values as yet; gives which it is.
    pub fn begin_row(&mut self, begin: usize, end: usize) -> usize {
        self.lines.push(Field::of(begin, end));
        self.fields.resize(self.fields.len() + self.width, Field::NULL);
        self.lines.len() - 1
    }

    /// The next value of a row, of plain bytes of the text.
    #[inline(always)]
    pub fn push(&mut self, begin: u32, end: u32) {
        let begin = if begin == end { Field::NULL.begin } else { begin };
        self.fields.push(Field { begin, end });
    }

    /// A row whose values have been pushed.
    #[inline(always)]
    pub fn end_row(&mut self, begin: usize, end: usize) {
        self.lines.push(Field::of(begin, end));
    }

    pub fn set(&mut self, row: usize, column: Option<usize>, value: Field) {
        if let Some(column) = column {
            self.fields[row * self.width + column] = value;
        }
    }

    /// A value that is not written so in the text.
    pub fn add(&mut self, value: &[u8]) -> Field {
        let begin = self.aside.len();
        self.aside.extend_from_slice(value);
        Field {
            begin: begin as u32 | Field::ASIDE,
            end: self.aside.len() as u32,
        }
    }

    /// None as yet, of so many values each.
    pub fn clear(&mut self, width: usize) {
        self.width = width;
        self.fields.clear();
        self.aside.clear();
        self.lines.clear();
        self.ragged.clear();
    }
}
