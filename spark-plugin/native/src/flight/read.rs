//! Reads prepared by a service, which says what they will give, and how to get it.

use arrow_flight::{Action, FlightDescriptor};
use arrow_schema::Schema;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use futures::TryStreamExt;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::flight::call::call;
use crate::flight::failure::{Failure, Result};
use crate::flight::target::Target;
use crate::schema;

/// What the JVM asks to be prepared.
#[derive(Deserialize)]
pub struct ReadRequest {
    pub target: Target,
    /// The protocol's `ReadRequest`.
    pub request: Value,
}

/// What the JVM asks a service for by one of its actions.
#[derive(Deserialize)]
pub struct ActionRequest {
    target: Target,
    action: String,
    body: Value,
}

/// What there is of the protocol's `Prepared` that matters here.
#[derive(Deserialize)]
struct Told {
    request: Value,
    kept: Option<String>,
}

/// A pinned read.
pub struct Prepared {
    schema: Schema,
    request: Value,
    /// Which result of the service's it is a copy of.
    pub kept: Option<String>,
    pub tickets: Vec<Bytes>,
}

impl Prepared {
    /// # Errors
    /// What the service says.
    pub async fn of(target: &Target, request: &Value) -> Result<Self> {
        let command = request.to_string();
        let answer = call(target, target.timeout(), |mut client| {
            let command = FlightDescriptor::new_cmd(command.clone());
            async move { client.get_flight_info(command).await }
        });
        let info = answer.await?.found;
        let unread = |why: &dyn std::fmt::Display| {
            Failure::new(
                "INTERNAL",
                format!("{} sent an answer that cannot be read: {why}", target.service()),
            )
        };
        let told: Told = serde_json::from_slice(&info.app_metadata).map_err(|why| unread(&why))?;
        Ok(Prepared {
            tickets: info
                .endpoint
                .iter()
                .map(|endpoint| endpoint.ticket.clone().unwrap_or_default().ticket)
                .collect(),
            schema: info.try_decode_schema().map_err(|why| unread(&why))?,
            request: told.request,
            kept: told.kept,
        })
    }

    /// For the JVM: `exact` are the columns whose values Spark has as the service has them.
    ///
    /// # Errors
    /// UNSUPPORTED: a column is of a type that Spark has not.
    pub fn to_json(&self, of: &str) -> Result<String> {
        let told = schema::to_json(&self.schema, of)?;
        let spark = schema::from_json(&told)?;
        let both = self.schema.fields().iter().zip(spark.fields());
        let exact: Vec<_> = both
            .filter(|(ours, theirs)| ours.data_type() == theirs.data_type())
            .map(|(field, _)| field.name())
            .collect();
        let tickets: Vec<_> = self
            .tickets
            .iter()
            .map(|ticket| BASE64_STANDARD.encode(ticket))
            .collect();
        Ok(json!({
            "schema": told,
            "exact": exact,
            "request": self.request,
            "kept": self.kept,
            "tickets": tickets,
        })
        .to_string())
    }
}

/// The answer to an action, as JSON.
///
/// # Errors
/// What the service says.
pub async fn ask(asked: &ActionRequest) -> Result<String> {
    let body = asked.body.to_string();
    let answer = call(&asked.target, asked.target.timeout(), |mut client| {
        let action = Action::new(asked.action.clone(), body.clone());
        async move { client.do_action(action).await?.try_collect::<Vec<Bytes>>().await }
    });
    Ok(String::from_utf8_lossy(&answer.await?.found.concat()).into_owned())
}
