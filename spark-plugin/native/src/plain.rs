//! Texts, bytes and lists, however Arrow lays them out, with the 32-bit offsets that Spark's vectors read.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryViewType, ByteArrayType, ByteViewType, StringViewType};
use arrow_array::{
    Array, ArrayRef, BinaryArray, GenericByteArray, GenericByteViewArray, OffsetSizeTrait, StringArray,
};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;

/// Texts or bytes; none if there are more of them than the offsets reach.
pub fn texts(found: &ArrayRef) -> Option<ArrayRef> {
    match found.data_type() {
        DataType::LargeUtf8 => {
            let (offsets, values) = narrow_texts(found.as_string::<i64>())?;
            // SAFETY: the values were texts under the offsets of the large array, and these are the same ones.
            Some(Arc::new(unsafe {
                StringArray::new_unchecked(offsets, values, found.nulls().cloned())
            }))
        }
        DataType::LargeBinary => {
            let (offsets, values) = narrow_texts(found.as_binary::<i64>())?;
            Some(Arc::new(BinaryArray::new(
                offsets,
                values,
                found.nulls().cloned(),
            )))
        }
        DataType::Utf8View => {
            let views = found.as_byte_view::<StringViewType>();
            fits(views).then(|| Arc::new(views.iter().collect::<StringArray>()) as ArrayRef)
        }
        DataType::BinaryView => {
            let views = found.as_byte_view::<BinaryViewType>();
            fits(views).then(|| Arc::new(views.iter().collect::<BinaryArray>()) as ArrayRef)
        }
        DataType::FixedSizeBinary(_) => {
            let values = found.as_fixed_size_binary();
            let bytes = values.len().checked_mul(values.value_length() as usize)?;
            i32::try_from(bytes).ok()?;
            Some(Arc::new(values.iter().collect::<BinaryArray>()))
        }
        _ => None,
    }
}

/// The offsets of lists, and the items that they point into; none if the offsets do not reach so far.
pub fn lists(found: &ArrayRef) -> Option<(OffsetBuffer<i32>, ArrayRef)> {
    match found.data_type() {
        DataType::List(_) => {
            let whole = found.as_list::<i32>();
            Some((whole.offsets().clone(), whole.values().clone()))
        }
        DataType::LargeList(_) => {
            let whole = found.as_list::<i64>();
            let (offsets, first, length) = narrow(whole.offsets())?;
            Some((offsets, whole.values().slice(first, length)))
        }
        DataType::FixedSizeList(_, size) => {
            let whole = found.as_fixed_size_list();
            i32::try_from(whole.values().len()).ok()?;
            Some((
                OffsetBuffer::from_repeated_length(*size as usize, whole.len()),
                whole.values().clone(),
            ))
        }
        _ => None,
    }
}

fn narrow_texts<T>(large: &GenericByteArray<T>) -> Option<(OffsetBuffer<i32>, arrow_buffer::Buffer)>
where
    T: ByteArrayType<Offset = i64>,
{
    let (offsets, first, length) = narrow(large.offsets())?;
    Some((offsets, large.values().slice_with_length(first, length)))
}

/// Offsets from 0 on, and where what they point into begins, and how long it is.
fn narrow<O: OffsetSizeTrait>(large: &OffsetBuffer<O>) -> Option<(OffsetBuffer<i32>, usize, usize)> {
    let first = large[0].as_usize();
    let length = large[large.len() - 1].as_usize() - first;
    i32::try_from(length).ok()?;
    let offsets: ScalarBuffer<i32> = large
        .iter()
        .map(|offset| (offset.as_usize() - first) as i32)
        .collect();
    Some((OffsetBuffer::new(offsets), first, length))
}

fn fits<T: ByteViewType + ?Sized>(views: &GenericByteViewArray<T>) -> bool {
    let bytes: u64 = views.lengths().map(u64::from).sum();
    i32::try_from(bytes).is_ok()
}
