//! What the JVM calls: the native methods of `headrace.spark.NativeFlight`.

use std::any::Any;

use jni::errors::{Error as JniError, ErrorPolicy};
use jni::objects::{JClass, JString, JThrowable};
use jni::sys::jlong;
use jni::{Env, EnvUnowned, JValue, jni_sig, jni_str};
use serde::de::DeserializeOwned;

use crate::flight::channels::runtime;
use crate::flight::failure::Failure;
use crate::flight::read::{ActionRequest, Prepared, ReadRequest, ask};
use crate::flight::rows::{PartRequest, Rows, Step};
use crate::java;
use crate::request;

/// What `next` gives where there is no batch.
const END: jlong = 0;
const WAIT: jlong = -1;

enum Broken {
    Ours(Failure),
    Java(JniError),
}

impl From<Failure> for Broken {
    fn from(failure: Failure) -> Self {
        Broken::Ours(failure)
    }
}

impl From<JniError> for Broken {
    fn from(error: JniError) -> Self {
        Broken::Java(error)
    }
}

/// Failures become a `HeadraceException`; a panic ends a task, never the JVM.
struct Throw;

impl<T: Default> ErrorPolicy<T, Broken> for Throw {
    type Captures<'local: 'method, 'method> = ();

    fn on_error<'local: 'method, 'method>(
        env: &mut Env<'local>,
        _: &mut (),
        broken: Broken,
    ) -> jni::errors::Result<T> {
        match broken {
            Broken::Ours(failure) => throw(env, &failure),
            Broken::Java(JniError::JavaException) => Ok(T::default()),
            Broken::Java(error) => java::throw(env, c"java/lang/IllegalStateException", &error.to_string()),
        }
    }

    fn on_panic<'local: 'method, 'method>(
        env: &mut Env<'local>,
        _: &mut (),
        payload: Box<dyn Any + Send>,
    ) -> jni::errors::Result<T> {
        java::broke(env, &*payload)
    }
}

fn throw<T: Default>(env: &mut Env, failure: &Failure) -> jni::errors::Result<T> {
    let code = JString::from_str(env, &failure.code)?;
    let text = JString::from_str(env, failure.to_string())?;
    let id = JString::from_str(env, failure.request_id.as_deref().unwrap_or_default())?;
    let made = env.new_object(
        jni_str!("headrace/spark/HeadraceException"),
        jni_sig!("(Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;)V"),
        &[JValue::Object(&code), JValue::Object(&text), JValue::Object(&id)],
    )?;
    let made = env.cast_local::<JThrowable>(made)?;
    match env.throw(made) {
        Ok(()) | Err(JniError::JavaException) => Ok(T::default()),
        Err(error) => Err(error),
    }
}

fn asked<T: DeserializeOwned>(env: &mut Env, text: &JString) -> Result<T, Broken> {
    Ok(request::parse(&text.try_to_string(env)?).map_err(Failure::from)?)
}

/// Has a read prepared; gives what `Prepared::to_json` does.
#[unsafe(no_mangle)]
pub extern "system" fn Java_headrace_spark_NativeFlight_prepare<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    text: JString<'local>,
) -> JString<'local> {
    env.with_env(|env| -> Result<JString<'local>, Broken> {
        let read: ReadRequest = asked(env, &text)?;
        let prepared = runtime().block_on(Prepared::of(&read.target, &read.request))?;
        Ok(JString::from_str(env, prepared.to_json(&read.target.uri)?)?)
    })
    .resolve::<Throw>()
}

/// The answer of a service to an action, as JSON.
#[unsafe(no_mangle)]
pub extern "system" fn Java_headrace_spark_NativeFlight_ask<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    text: JString<'local>,
) -> JString<'local> {
    env.with_env(|env| -> Result<JString<'local>, Broken> {
        let action: ActionRequest = asked(env, &text)?;
        let answer = runtime().block_on(ask(&action))?;
        Ok(JString::from_str(env, answer)?)
    })
    .resolve::<Throw>()
}

/// A reader of one part, for the other methods. The service is asked by the first `next`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_headrace_spark_NativeFlight_open<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    text: JString<'local>,
) -> jlong {
    env.with_env(|env| -> Result<jlong, Broken> {
        let part: PartRequest = asked(env, &text)?;
        let rows = Rows::open(part)?;
        Ok(Box::into_raw(Box::new(rows)) as jlong)
    })
    .resolve::<Throw>()
}

/// The address of the next batch, as of `lent`; 0 after the last, -1 if none has come yet.
#[unsafe(no_mangle)]
pub extern "system" fn Java_headrace_spark_NativeFlight_next<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    reader: jlong,
) -> jlong {
    env.with_env(|_| -> Result<jlong, Broken> {
        // SAFETY: it came from `open`; Java calls nothing after `close`, and one method at a time.
        let rows = unsafe { &mut *(reader as *mut Rows) };
        Ok(match rows.next()? {
            Step::End => END,
            Step::Wait => WAIT,
            Step::Batch(batch) => java::lent(batch),
        })
    })
    .resolve::<Throw>()
}

/// Ends the call, if it goes on, and frees the reader.
#[unsafe(no_mangle)]
pub extern "system" fn Java_headrace_spark_NativeFlight_close<'local>(
    mut env: EnvUnowned<'local>,
    _: JClass<'local>,
    reader: jlong,
) {
    env.with_env(|_| -> Result<(), Broken> {
        // SAFETY: it came from `open`, and Java closes once.
        drop(unsafe { Box::from_raw(reader as *mut Rows) });
        Ok(())
    })
    .resolve::<Throw>()
}
