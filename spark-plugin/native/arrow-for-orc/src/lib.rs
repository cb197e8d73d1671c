//! The names of the crate `arrow` that `orc-rust` uses, which asks for 59: they are those of the Arrow that we have.

pub mod array {
    pub use arrow_array::builder::*;
    pub use arrow_array::cast::*;
    pub use arrow_array::*;
    pub use arrow_buffer::BooleanBufferBuilder;
}

pub mod buffer {
    pub use arrow_buffer::buffer::*;
}

pub mod compute {
    pub mod kernels {
        use arrow_array::cast::AsArray;
        use arrow_array::{Array, ArrayRef};
        use arrow_schema::{ArrowError, DataType};

        /// A column with a dictionary, as one of the dictionary's values.
        pub fn cast(array: &dyn Array, to: &DataType) -> Result<ArrayRef, ArrowError> {
            let coded = array
                .as_any_dictionary_opt()
                .filter(|coded| coded.values().data_type() == to);
            let coded = coded.ok_or_else(|| ArrowError::CastError(format!("{} to {to}", array.data_type())))?;
            arrow_select::take::take(coded.values(), coded.keys(), None)
        }
    }
}

pub mod datatypes {
    pub use arrow_array::ArrowPrimitiveType;
    pub use arrow_array::types::*;
    pub use arrow_buffer::{ArrowNativeType, ToByteSlice};
    pub use arrow_array::ArrowNativeTypeOp;
    pub use arrow_schema::*;
}

pub mod error {
    pub use arrow_schema::ArrowError;
}

pub mod record_batch {
    pub use arrow_array::{RecordBatch, RecordBatchOptions, RecordBatchReader};
}

pub mod temporal_conversions {
    pub use arrow_array::temporal_conversions::*;
}
