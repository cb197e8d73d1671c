//! What the JVM calls: the native methods of `headrace.spark.NativeReader` and `ArrowBatch`.

use arrow_array::ffi::FFI_ArrowArray;
use arrow_array::{Array, RecordBatch, StructArray};
use jni::errors::{Error as JniError, ErrorPolicy};
use jni::objects::{JClass, JObject, JString};
use jni::strings::JNIString;
use jni::sys::{jboolean, jlong};
use jni::{Env, EnvUnowned};
use std::any::Any;

use crate::error::Error;
use crate::java_calendars::JavaCalendars;
use crate::java_source::JavaSource;
use crate::memory::{self, Counted};
use crate::read::{self, Batches, Groups, told};
use crate::request::{self, FileRequest, PartRequest, UntypedRequest};

/// A part that is being read.
struct Reader {
    batches: Batches,
    groups: Groups,
    _counted: Counted,
}

enum Failure {
    Ours(Error),
    Java(JniError),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Ours(error)
    }
}

impl From<JniError> for Failure {
    fn from(error: JniError) -> Self {
        Failure::Java(error)
    }
}

/// Errors become the exceptions that Spark knows what to do with; a panic ends a task, never the JVM.
struct Throw;

impl<T: Default> ErrorPolicy<T, Failure> for Throw {
    type Captures<'local: 'method, 'method> = ();

    fn on_error<'local: 'method, 'method>(
        env: &mut Env<'local>,
        _: &mut (),
        failure: Failure,
    ) -> jni::errors::Result<T> {
        let (class, text) = match &failure {
            Failure::Ours(error @ Error::Missing(_)) => (c"java/io/FileNotFoundException", error.to_string()),
            Failure::Ours(error @ Error::Unsupported(_)) => {
                (c"java/lang/UnsupportedOperationException", error.to_string())
            }
            Failure::Ours(error) => (c"java/io/IOException", error.to_string()),
            Failure::Java(JniError::JavaException) => return Ok(T::default()),
            Failure::Java(error) => (c"java/lang/IllegalStateException", error.to_string()),
        };
        throw(env, class, &text)
    }

    fn on_panic<'local: 'method, 'method>(
        env: &mut Env<'local>,
        _: &mut (),
        payload: Box<dyn Any + Send>,
    ) -> jni::errors::Result<T> {
        broke(env, &*payload)
    }
}

/// Says what a panic said.
pub fn broke<T: Default>(env: &mut Env, payload: &(dyn Any + Send)) -> jni::errors::Result<T> {
    throw(
        env,
        c"java/lang/IllegalStateException",
        &format!("the native reader broke: {}", told(payload)),
    )
}

pub fn throw<T: Default>(env: &mut Env, class: &std::ffi::CStr, text: &str) -> jni::errors::Result<T> {
    if !env.exception_check() {
        let class = env.find_class(JNIString::from(class.to_string_lossy()))?;
        match env.throw_new(class, JNIString::from(text)) {
            Ok(()) | Err(JniError::JavaException) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(T::default())
}

/// Where the JVM finds a batch, a struct in Arrow's C data interface, until it frees it.
pub fn lent(batch: RecordBatch) -> jlong {
    Box::into_raw(Box::new(FFI_ArrowArray::new(&StructArray::from(batch).to_data()))) as jlong
}

/// The schema of a file, in Spark's JSON. Its bytes come from a `HadoopFile`, or if that is null from a local file.
#[unsafe(no_mangle)]
pub extern "system" fn Java_headrace_spark_NativeReader_schema<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    asked: JString<'local>,
    file: JObject<'local>,
) -> JString<'local> {
    env.with_env(|env| -> Result<JString<'local>, Failure> {
        let asked: FileRequest = request::parse(&asked.try_to_string(env)?)?;
        let found = read::schema(&asked.open(JavaSource::of(env, &file)?)?, &asked.format)?;
        Ok(JString::from_str(env, found.to_string())?)
    })
    .resolve::<Throw>()
}

/// What the values of each column of a part are, for `schema` to be told.
#[unsafe(no_mangle)]
pub extern "system" fn Java_headrace_spark_NativeReader_kinds<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    asked: JString<'local>,
    file: JObject<'local>,
) -> JString<'local> {
    env.with_env(|env| -> Result<JString<'local>, Failure> {
        let asked: UntypedRequest = request::parse(&asked.try_to_string(env)?)?;
        let found = read::kinds(&asked.open(JavaSource::of(env, &file)?)?)?;
        Ok(JString::from_str(env, found.to_string())?)
    })
    .resolve::<Throw>()
}

/// Opens a part; gives what the other methods take.
#[unsafe(no_mangle)]
pub extern "system" fn Java_headrace_spark_NativeReader_open<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    asked: JString<'local>,
    file: JObject<'local>,
) -> jlong {
    env.with_env(|env| -> Result<jlong, Failure> {
        let asked: PartRequest = request::parse(&asked.try_to_string(env)?)?;
        let (batches, groups) =
            read::read(asked.open(JavaSource::of(env, &file)?, JavaCalendars::new(env)?)?)?;
        Ok(Box::into_raw(Box::new(Reader {
            batches,
            groups,
            _counted: Counted::new(),
        })) as jlong)
    })
    .resolve::<Throw>()
}

/// The address of the next batch, as of `lent`; 0 after the last.
#[unsafe(no_mangle)]
pub extern "system" fn Java_headrace_spark_NativeReader_next<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    reader: jlong,
) -> jlong {
    env.with_env(|_| -> Result<jlong, Failure> {
        // SAFETY: it came from `open`, and Java calls nothing after `close`, nor from several threads.
        let reader = unsafe { &mut *(reader as *mut Reader) };
        let batch = reader.batches.next().transpose()?;
        Ok(batch.map_or(0, lent))
    })
    .resolve::<Throw>()
}

/// How many row groups of the part are read, or how many are not.
#[unsafe(no_mangle)]
pub extern "system" fn Java_headrace_spark_NativeReader_groups<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    reader: jlong,
    skipped: jboolean,
) -> jlong {
    env.with_env(|_| -> Result<jlong, Failure> {
        // SAFETY: it came from `open`, and Java calls nothing after `close`, nor from several threads.
        let Groups { read, skipped: not } = unsafe { &*(reader as *const Reader) }.groups;
        Ok(if skipped { not } else { read } as jlong)
    })
    .resolve::<Throw>()
}

/// Frees the reader.
#[unsafe(no_mangle)]
pub extern "system" fn Java_headrace_spark_NativeReader_close<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    reader: jlong,
) {
    env.with_env(|_| -> Result<(), Failure> {
        // SAFETY: it came from `open`, and Java closes once.
        drop(unsafe { Box::from_raw(reader as *mut Reader) });
        Ok(())
    })
    .resolve::<Throw>()
}

/// Frees a batch.
#[unsafe(no_mangle)]
pub extern "system" fn Java_headrace_spark_ArrowBatch_free(_: EnvUnowned, _: JClass, batch: jlong) {
    // SAFETY: it came from `lent`, and Java frees it once.
    drop(unsafe { Box::from_raw(batch as *mut FFI_ArrowArray) });
}

/// How many readers are open.
#[unsafe(no_mangle)]
pub extern "system" fn Java_headrace_spark_NativeMemory_readers(_: EnvUnowned, _: JClass) -> jlong {
    memory::readers()
}

/// How many bytes this library holds.
#[unsafe(no_mangle)]
pub extern "system" fn Java_headrace_spark_NativeMemory_bytes(_: EnvUnowned, _: JClass) -> jlong {
    memory::bytes()
}
