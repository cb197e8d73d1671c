//! Columns of Arrow's C data interface, read where they are.

use std::borrow::Cow;
use std::ffi::c_void;

use super::column::{Buffer, Column, Data, offset};
use super::damage::{Damage, Result};
use super::schema::{Field, Type};

/// As the specification lays it out.
#[repr(C)]
pub struct ForeignArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *const *const u8,
    children: *const *const ForeignArray,
    dictionary: *const ForeignArray,
    release: Option<unsafe extern "C" fn(*mut ForeignArray)>,
    private_data: *mut c_void,
}

/// The columns of a struct array, and how many rows it has.
///
/// # Safety
/// The array is not released, keeps to the specification and to the fields, and outlives the columns. Its
/// producer has checked offsets and indices.
pub unsafe fn columns<'a>(array: *const ForeignArray, fields: &[Field]) -> Result<(Vec<Column<'a>>, usize)> {
    let array = unsafe { &*array };
    if array.release.is_none() || array.n_children as usize != fields.len() {
        return Err(Damage::new(0, "an array has other columns than its schema"));
    }
    let (start, rows) = (array.offset as usize, array.length as usize);
    let found = fields
        .iter()
        .enumerate()
        .map(|(n, field)| unsafe { column(&**array.children.add(n), field, start, rows) })
        .collect::<Result<_>>()?;
    Ok((found, rows))
}

/// The values of each dictionary, by its id.
///
/// # Safety
/// As of `columns`.
pub unsafe fn dictionaries<'a>(
    array: *const ForeignArray,
    fields: &'a [Field],
    found: &mut Vec<(&'a Field, Column<'a>)>,
) -> Result<()> {
    for (n, field) in fields.iter().enumerate() {
        unsafe {
            let child = *(*array).children.add(n);
            if field.dictionary.is_some() {
                let values = Field {
                    dictionary: None,
                    ..field.clone()
                };
                let dictionary = (*child).dictionary;
                found.push((
                    field,
                    column(&*dictionary, &values, 0, (*dictionary).length as usize)?,
                ));
            } else {
                dictionaries(child, &field.children, found)?;
            }
        }
    }
    Ok(())
}

/// Args: `from` and `len` are of the values that count, within those of the array.
unsafe fn column<'a>(array: &ForeignArray, field: &Field, from: usize, len: usize) -> Result<Column<'a>> {
    let start = array.offset as usize + from;
    let at = |n: usize| unsafe { *array.buffers.add(n) };
    let bytes = |n: usize, width: usize| -> Buffer<'a> {
        if len * width == 0 || at(n).is_null() {
            return Cow::Borrowed(&[]);
        }
        Cow::Borrowed(unsafe { std::slice::from_raw_parts(at(n).add(start * width), len * width) })
    };
    if field.ty == Type::Null && field.dictionary.is_none() {
        return Ok(Column {
            len,
            validity: None,
            data: Data::Null,
        });
    }
    let validity = (array.null_count != 0 && !at(0).is_null()).then(|| unsafe { bits(at(0), start, len) });
    if let Some(dictionary) = &field.dictionary {
        let width = usize::from(dictionary.bits / 8);
        return Ok(Column {
            len,
            validity,
            data: Data::Indices {
                width,
                bytes: bytes(1, width),
            },
        });
    }
    let fixed = |width: usize| Data::Fixed {
        width,
        bytes: bytes(1, width),
    };
    let child = |n: usize| unsafe { &**array.children.add(n) };
    let data = match &field.ty {
        Type::Null => Data::Null,
        Type::Bool => Data::Bits(unsafe { bits(at(1), start, len) }),
        Type::Int { bits, .. } | Type::Float { bits } => fixed(usize::from(bits / 8)),
        Type::Date => fixed(4),
        Type::Timestamp { .. } | Type::Duration { .. } => fixed(8),
        Type::Decimal { .. } => fixed(16),
        Type::FixedBinary(width) => fixed(*width as usize),
        Type::Utf8 | Type::Binary | Type::LargeUtf8 | Type::LargeBinary => {
            let large = matches!(field.ty, Type::LargeUtf8 | Type::LargeBinary);
            let offsets = unsafe { offsets(at(1), start, len, large) }?;
            let end = offset(&offsets, len);
            let bytes = match end {
                0 => &[][..],
                end => unsafe { std::slice::from_raw_parts(at(2), end) },
            };
            Data::Bytes {
                offsets,
                bytes: Cow::Borrowed(bytes),
            }
        }
        Type::List | Type::LargeList | Type::Map => {
            let offsets = unsafe { offsets(at(1), start, len, field.ty == Type::LargeList) }?;
            let end = offset(&offsets, len);
            let child = Box::new(unsafe { column(child(0), &field.children[0], 0, end) }?);
            Data::List { offsets, child }
        }
        Type::FixedList(size) => {
            let size = *size as usize;
            let child = Box::new(unsafe { column(child(0), &field.children[0], start * size, len * size) }?);
            Data::FixedList { size, child }
        }
        Type::Struct => {
            let children = field.children.iter().enumerate();
            let children = children.map(|(n, field)| unsafe { column(child(n), field, start, len) });
            Data::Struct(children.collect::<Result<_>>()?)
        }
    };
    Ok(Column { len, validity, data })
}

/// Bits from the n-th on; they are moved where they do not begin a byte.
unsafe fn bits<'a>(address: *const u8, from: usize, len: usize) -> Buffer<'a> {
    if len == 0 {
        return Cow::Borrowed(&[]);
    }
    if from.is_multiple_of(8) {
        return Cow::Borrowed(unsafe { std::slice::from_raw_parts(address.add(from / 8), len.div_ceil(8)) });
    }
    let bit = |n: usize| unsafe { *address.add(n / 8) >> (n % 8) & 1 };
    let mut moved = vec![0; len.div_ceil(8)];
    for n in 0..len {
        moved[n / 8] |= bit(from + n) << (n % 8);
    }
    Cow::Owned(moved)
}

unsafe fn offsets<'a>(address: *const u8, from: usize, len: usize, large: bool) -> Result<Buffer<'a>> {
    if address.is_null() {
        return Ok(Cow::Borrowed(&[0; 4]));
    }
    if !large {
        let bytes = unsafe { std::slice::from_raw_parts(address.add(4 * from), 4 * (len + 1)) };
        return Ok(Cow::Borrowed(bytes));
    }
    let wide = unsafe { std::slice::from_raw_parts(address.add(8 * from), 8 * (len + 1)) };
    let mut narrow = Vec::with_capacity(4 * (len + 1));
    for eight in wide.chunks_exact(8) {
        let end = i32::try_from(i64::from_le_bytes(eight.try_into().unwrap()));
        let end = end.map_err(|_| Damage::unsupported(0, "a column has more than 2 GiB"))?;
        narrow.extend(end.to_le_bytes());
    }
    Ok(Cow::Owned(narrow))
}
