//! Bytes of files that Hadoop reads: those of a `headrace.spark.HadoopFile`.

use std::io;

use jni::objects::{JObject, JString};
use jni::refs::Global;
use jni::{Env, JValue, JavaVM, jni_sig, jni_str};

use crate::input::Source;

/// A `HadoopFile`, which Java closes after the reader.
pub struct JavaSource {
    jvm: JavaVM,
    file: Global<JObject<'static>>,
}

impl JavaSource {
    /// None of null.
    pub fn of(env: &Env, file: &JObject) -> jni::errors::Result<Option<Self>> {
        if file.is_null() {
            return Ok(None);
        }
        Ok(Some(JavaSource {
            jvm: env.get_java_vm()?,
            file: env.new_global_ref(file)?,
        }))
    }

    /// What went wrong, in Java's words; nothing if all bytes came.
    fn fill(&self, env: &mut Env, buffer: &mut [u8], position: u64) -> jni::errors::Result<Option<String>> {
        // SAFETY: Java writes into it while it fills it, and lets go of it before it returns.
        let into = unsafe { env.new_direct_byte_buffer(buffer.as_mut_ptr(), buffer.len())? };
        let told = env
            .call_method(
                &self.file,
                jni_str!("fill"),
                jni_sig!("(JLjava/nio/ByteBuffer;)Ljava/lang/String;"),
                &[JValue::Long(position as i64), JValue::Object(&into)],
            )?
            .l()?;
        if told.is_null() {
            return Ok(None);
        }
        Ok(Some(env.cast_local::<JString>(told)?.try_to_string(env)?))
    }
}

impl Source for JavaSource {
    fn read_exact_at(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        if buffer.is_empty() {
            return Ok(());
        }
        let told = self
            .jvm
            .attach_current_thread(|env| self.fill(env, buffer, position))
            .map_err(|why| io::Error::other(why.to_string()))?;
        told.map_or(Ok(()), |text| Err(io::Error::other(text)))
    }
}
