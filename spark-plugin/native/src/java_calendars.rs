//! The calendars that Spark knows: those of `headrace.spark.HybridCalendar`.

use jni::objects::{JClass, JObject, JString};
use jni::refs::Global;
use jni::{Env, JValue, JavaVM, jni_sig, jni_str};

use crate::calendar::Calendars;

pub struct JavaCalendars {
    jvm: JavaVM,
    class: Global<JClass<'static>>,
}

impl JavaCalendars {
    pub fn new(env: &mut Env) -> jni::errors::Result<Self> {
        let class = env.find_class(jni_str!("headrace/spark/HybridCalendar"))?;
        Ok(JavaCalendars {
            jvm: env.get_java_vm()?,
            class: env.new_global_ref(class)?,
        })
    }

    /// What went wrong, in Java's words; nothing if all is well.
    fn told(
        &self,
        env: &mut Env,
        zone: Option<&str>,
        values: &mut [i64],
    ) -> jni::errors::Result<Option<String>> {
        let zone = match zone {
            Some(zone) => JString::from_str(env, zone)?.into(),
            None => JObject::null(),
        };
        let bytes = size_of_val(values);
        // SAFETY: Java reads and writes the values while it counts them anew, and lets go of them before it returns.
        let values = unsafe { env.new_direct_byte_buffer(values.as_mut_ptr().cast(), bytes)? };
        let told = env
            .call_static_method(
                &self.class,
                jni_str!("rebase"),
                jni_sig!("(Ljava/lang/String;Ljava/nio/ByteBuffer;)Ljava/lang/String;"),
                &[JValue::Object(&zone), JValue::Object(&values)],
            )?
            .l()?;
        if told.is_null() {
            return Ok(None);
        }
        Ok(Some(env.cast_local::<JString>(told)?.try_to_string(env)?))
    }
}

impl Calendars for JavaCalendars {
    fn rebase(&self, zone: Option<&str>, values: &mut [i64]) -> Result<(), String> {
        let told = self.jvm.attach_current_thread(|env| self.told(env, zone, values));
        let told = told.map_err(|why: jni::errors::Error| why.to_string())?;
        told.map_or(Ok(()), Err)
    }
}
