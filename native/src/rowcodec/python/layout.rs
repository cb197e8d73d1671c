//! How CPython lays out the objects that rows are made of, and whether this CPython does.
//!
//! Reading objects where they lie is what makes encoding fast. An interpreter that lays them out otherwise, or has no
//! global lock, is asked by its C API instead: `Direct` and `Api` give the same answers.

use std::ffi::c_int;
use std::sync::OnceLock;

use pyo3::ffi::{self, PyObject};

/// What is read from objects. Each is given an object of exactly the type that it names.
pub trait Access {
    /// Whether objects are read where they lie.
    const DIRECT: bool;
    /// None where it has more than 64 bits.
    unsafe fn int(o: *mut PyObject) -> Option<i64>;
    unsafe fn float(o: *mut PyObject) -> f64;
    /// Its bytes, if it is ASCII.
    unsafe fn ascii<'a>(o: *mut PyObject) -> Option<&'a [u8]>;
    /// Append it as UTF-8; false, and nothing appended, where it has lone surrogates.
    unsafe fn utf8(o: *mut PyObject, out: &mut Vec<u8>) -> bool;
    unsafe fn tuple_len(o: *mut PyObject) -> usize;
    unsafe fn tuple_item(o: *mut PyObject, n: usize) -> *mut PyObject;
    unsafe fn list_len(o: *mut PyObject) -> usize;
    unsafe fn list_item(o: *mut PyObject, n: usize) -> *mut PyObject;
    /// Have the processor fetch what a tuple holds.
    unsafe fn prefetch(_o: *mut PyObject) {}
    unsafe fn prefetch_items(_o: *mut PyObject) {}
}

pub struct Api;

impl Access for Api {
    const DIRECT: bool = false;

    unsafe fn int(o: *mut PyObject) -> Option<i64> {
        let mut overflow: c_int = 0;
        let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(o, &mut overflow) };
        (overflow == 0).then_some(value)
    }

    unsafe fn float(o: *mut PyObject) -> f64 {
        unsafe { ffi::PyFloat_AsDouble(o) }
    }

    unsafe fn ascii<'a>(_: *mut PyObject) -> Option<&'a [u8]> {
        None
    }

    unsafe fn utf8(o: *mut PyObject, out: &mut Vec<u8>) -> bool {
        unsafe {
            let encoded = ffi::PyUnicode_AsUTF8String(o);
            if encoded.is_null() {
                ffi::PyErr_Clear();
                return false;
            }
            let (start, length) = (ffi::PyBytes_AsString(encoded), ffi::PyBytes_Size(encoded));
            out.extend_from_slice(std::slice::from_raw_parts(start.cast(), length as usize));
            ffi::Py_DECREF(encoded);
            true
        }
    }

    unsafe fn tuple_len(o: *mut PyObject) -> usize {
        unsafe { ffi::PyTuple_Size(o) as usize }
    }

    unsafe fn tuple_item(o: *mut PyObject, n: usize) -> *mut PyObject {
        unsafe { ffi::PyTuple_GetItem(o, n as isize) }
    }

    unsafe fn list_len(o: *mut PyObject) -> usize {
        unsafe { ffi::PyList_Size(o) as usize }
    }

    unsafe fn list_item(o: *mut PyObject, n: usize) -> *mut PyObject {
        unsafe { ffi::PyList_GetItem(o, n as isize) }
    }
}

pub struct Direct;

// Every object: a count of references, its type; then, where it has one, its size.
pub const AFTER_TYPE: usize = 16;
pub const AFTER_SIZE: usize = 24;
pub const DIGIT_BITS: u32 = 30;

// Texts: length, hash, state; the characters follow the structure.
pub const STATE: usize = 32;
const KIND_SHIFT: u32 = 2;
pub const COMPACT: u32 = 1 << 5;
pub const ASCII: u32 = 1 << 6;
pub const ASCII_DATA: usize = size_of::<ffi::PyASCIIObject>();
const WIDE_DATA: usize = size_of::<ffi::PyCompactUnicodeObject>();

unsafe fn at<T: Copy>(o: *mut PyObject, offset: usize) -> T {
    unsafe { o.cast::<u8>().add(offset).cast::<T>().read() }
}

#[inline(always)]
unsafe fn fetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

impl Direct {
    /// Where the items of a tuple are.
    #[inline(always)]
    pub unsafe fn items(o: *mut PyObject) -> *const *mut PyObject {
        unsafe { o.cast::<u8>().add(AFTER_SIZE).cast() }
    }

    /// Have the processor fetch one of the objects that stand in a row.
    #[inline(always)]
    pub unsafe fn fetch_value(values: *const *mut PyObject, n: usize) {
        unsafe { fetch((*values.add(n)).cast()) };
    }

    /// Where a tuple or a list tells its size.
    pub unsafe fn size_at(o: *mut PyObject) -> *const usize {
        unsafe { o.cast::<u8>().add(AFTER_TYPE).cast() }
    }

    /// Where a list tells where its items are.
    pub unsafe fn list_items_at(o: *mut PyObject) -> *const *const *mut PyObject {
        unsafe { o.cast::<u8>().add(AFTER_SIZE).cast() }
    }

    /// Whether the characters of a text follow it: all but some of those that extensions make.
    pub unsafe fn is_compact(o: *mut PyObject) -> bool {
        unsafe { at::<u32>(o, STATE) & COMPACT != 0 }
    }
}

impl Access for Direct {
    const DIRECT: bool = true;

    #[inline(always)]
    unsafe fn int(o: *mut PyObject) -> Option<i64> {
        unsafe {
            #[cfg(Py_3_12)]
            let (sign, digits) = {
                let tag: usize = at(o, AFTER_TYPE);
                (1 - (tag & 3) as i64, tag >> 3)
            };
            #[cfg(not(Py_3_12))]
            let (sign, digits) = {
                let size: isize = at(o, AFTER_TYPE);
                (size.signum() as i64, size.unsigned_abs())
            };
            let low = i64::from(at::<u32>(o, AFTER_SIZE));
            match digits {
                0 => Some(0),
                1 => Some(sign * low),
                2 => Some(sign * (low | i64::from(at::<u32>(o, AFTER_SIZE + 4)) << DIGIT_BITS)),
                _ => Api::int(o),
            }
        }
    }

    #[inline(always)]
    unsafe fn float(o: *mut PyObject) -> f64 {
        unsafe { at(o, AFTER_TYPE) }
    }

    #[inline(always)]
    unsafe fn ascii<'a>(o: *mut PyObject) -> Option<&'a [u8]> {
        unsafe {
            let state: u32 = at(o, STATE);
            (state & (COMPACT | ASCII) == COMPACT | ASCII)
                .then(|| std::slice::from_raw_parts(o.cast::<u8>().add(ASCII_DATA), at(o, AFTER_TYPE)))
        }
    }

    unsafe fn utf8(o: *mut PyObject, out: &mut Vec<u8>) -> bool {
        unsafe {
            let state: u32 = at(o, STATE);
            if state & COMPACT == 0 {
                return Api::utf8(o, out);
            }
            let length: usize = at(o, AFTER_TYPE);
            if state & ASCII != 0 {
                out.extend_from_slice(std::slice::from_raw_parts(o.cast::<u8>().add(ASCII_DATA), length));
                return true;
            }
            let data = o.cast::<u8>().add(WIDE_DATA);
            match state >> KIND_SHIFT & 7 {
                1 => latin(std::slice::from_raw_parts(data, length), out),
                2 => return wide(std::slice::from_raw_parts(data.cast::<u16>(), length), out),
                4 => return wide(std::slice::from_raw_parts(data.cast::<u32>(), length), out),
                _ => return Api::utf8(o, out),
            }
            true
        }
    }

    #[inline(always)]
    unsafe fn tuple_len(o: *mut PyObject) -> usize {
        unsafe { at(o, AFTER_TYPE) }
    }

    #[inline(always)]
    unsafe fn tuple_item(o: *mut PyObject, n: usize) -> *mut PyObject {
        unsafe { *Self::items(o).add(n) }
    }

    #[inline(always)]
    unsafe fn list_len(o: *mut PyObject) -> usize {
        unsafe { at(o, AFTER_TYPE) }
    }

    #[inline(always)]
    unsafe fn list_item(o: *mut PyObject, n: usize) -> *mut PyObject {
        unsafe { *at::<*const *mut PyObject>(o, AFTER_SIZE).add(n) }
    }

    #[inline(always)]
    unsafe fn prefetch(o: *mut PyObject) {
        unsafe {
            fetch(o.cast());
            fetch(o.cast::<u8>().add(64));
        }
    }

    #[inline(always)]
    unsafe fn prefetch_items(o: *mut PyObject) {
        unsafe {
            if (*o).ob_type != &raw mut ffi::PyTuple_Type {
                return;
            }
            for n in 0..Self::tuple_len(o).min(16) {
                fetch((*Self::items(o).add(n)).cast());
            }
        }
    }
}

fn latin(characters: &[u8], out: &mut Vec<u8>) {
    out.reserve(2 * characters.len());
    for &character in characters {
        if character < 0x80 {
            out.push(character);
        } else {
            out.extend([0xc0 | character >> 6, 0x80 | character & 0x3f]);
        }
    }
}

fn wide<T: Copy + Into<u32>>(characters: &[T], out: &mut Vec<u8>) -> bool {
    let before = out.len();
    let most = if size_of::<T>() == 2 { 3 } else { 4 };
    out.reserve(most * characters.len());
    let mut end = before;
    // Room for the longest form of each character is there.
    let start = out.as_mut_ptr();
    for &character in characters {
        let c: u32 = character.into();
        let mut put = |byte: u32| {
            unsafe { start.add(end).write(byte as u8) };
            end += 1;
        };
        match c {
            0..0x80 => put(c),
            0x80..0x800 => {
                put(0xc0 | c >> 6);
                put(0x80 | c & 0x3f);
            }
            0xd800..0xe000 => return false,
            0x800..0x10000 => {
                put(0xe0 | c >> 12);
                put(0x80 | c >> 6 & 0x3f);
                put(0x80 | c & 0x3f);
            }
            _ => {
                put(0xf0 | c >> 18);
                put(0x80 | c >> 12 & 0x3f);
                put(0x80 | c >> 6 & 0x3f);
                put(0x80 | c & 0x3f);
            }
        }
    }
    unsafe { out.set_len(end) };
    true
}

/// Whether objects lie as `Direct` expects, by a look at some of each kind; found out once.
pub fn as_expected() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| !cfg!(Py_GIL_DISABLED) && unsafe { ints() && floats() && texts() && sequences() })
}

unsafe fn ints() -> bool {
    let edges = [
        0,
        1,
        5,
        255,
        (1 << 30) - 1,
        1 << 30,
        (1 << 60) - 1,
        1 << 60,
        i64::MAX,
        i64::MIN,
    ];
    edges
        .into_iter()
        .flat_map(|edge: i64| [edge, edge.wrapping_neg()])
        .all(|value| unsafe {
            let object = ffi::PyLong_FromLongLong(value);
            let sound = size_of::<PyObject>() == AFTER_TYPE && Direct::int(object) == Some(value);
            ffi::Py_DECREF(object);
            sound
        })
}

unsafe fn floats() -> bool {
    [0.0, -1.5, f64::MAX].into_iter().all(|value| unsafe {
        let object = ffi::PyFloat_FromDouble(value);
        let sound = Direct::float(object).to_bits() == value.to_bits();
        ffi::Py_DECREF(object);
        sound
    })
}

unsafe fn texts() -> bool {
    let samples = [
        "",
        "a",
        "plain ascii text of some length",
        "caf\u{e9}",
        "\u{65e5}\u{672c}",
        "x\u{1f600}y",
    ];
    samples.into_iter().all(|text| unsafe {
        let object = ffi::PyUnicode_FromStringAndSize(text.as_ptr().cast(), text.len() as isize);
        let mut found = Vec::new();
        let sound = Direct::utf8(object, &mut found)
            && found == text.as_bytes()
            && Direct::ascii(object) == text.is_ascii().then_some(text.as_bytes());
        ffi::Py_DECREF(object);
        sound
    })
}

unsafe fn sequences() -> bool {
    unsafe {
        let (tuple, list) = (ffi::PyTuple_New(3), ffi::PyList_New(0));
        for n in 0..3 {
            let item = ffi::PyLong_FromLong(1000 + n);
            ffi::PyList_Append(list, item);
            ffi::PyTuple_SetItem(tuple, n as isize, item);
        }
        let sound = Direct::tuple_len(tuple) == 3
            && Direct::list_len(list) == 3
            && (0..3).all(|n| {
                let item = ffi::PyTuple_GetItem(tuple, n as isize);
                Direct::tuple_item(tuple, n) == item && Direct::list_item(list, n) == item
            });
        ffi::Py_DECREF(tuple);
        ffi::Py_DECREF(list);
        sound
    }
}
