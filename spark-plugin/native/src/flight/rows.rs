//! The rows of one part of a prepared read, as its stream brings them.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_flight::Ticket;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_schema::SchemaRef;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;

use crate::conform::Columns;
use crate::error::Error;
use crate::flight::call::{Answer, call};
use crate::flight::channels::runtime;
use crate::flight::failure::{Failure, Result};
use crate::flight::read::Prepared;
use crate::flight::target::Target;
use crate::schema;

/// How long a reader waits before it says so: whether its task was killed is looked at then.
const WAIT: Duration = Duration::from_millis(100);

/// What one task reads, as the JVM asks for it.
#[derive(Deserialize)]
pub struct PartRequest {
    target: Target,
    /// The pinned read, and the kept result, of which the tickets are.
    request: Value,
    kept: Option<String>,
    part: usize,
    parts: usize,
    ticket: String,
    /// The columns that Spark asks for, in its JSON.
    schema: Value,
}

/// What a reader found.
pub enum Step {
    Batch(RecordBatch),
    /// Nothing yet.
    Wait,
    End,
}

/// Of one task. Nothing is asked of the service before the first step; dropping it ends the call.
pub struct Rows {
    batches: BoxStream<'static, Result<RecordBatch>>,
    asked: SchemaRef,
    service: String,
    columns: Option<Columns>,
}

type Batches = BoxStream<'static, Result<RecordBatch>>;

impl Rows {
    pub fn open(asked: PartRequest) -> Result<Self> {
        Ok(Rows {
            asked: Arc::new(schema::from_json(&asked.schema)?),
            service: asked.target.service(),
            columns: None,
            batches: stream::once(opened(asked)).try_flatten().boxed(),
        })
    }

    /// Waits for rows, but not for long. They are decoded in this thread, and no others are asked for meanwhile than
    /// what the window of the stream has room for.
    pub fn next(&mut self) -> Result<Step> {
        let next = runtime().block_on(async { timeout(WAIT, self.batches.next()).await });
        match next {
            Err(_) => Ok(Step::Wait),
            Ok(None) => Ok(Step::End),
            Ok(Some(batch)) => Ok(Step::Batch(self.conform(batch?)?)),
        }
    }

    fn conform(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let columns = match &mut self.columns {
            Some(columns) => columns,
            none => {
                let found = batch.schema();
                let missing = self
                    .asked
                    .fields()
                    .iter()
                    .find(|field| found.index_of(field.name()).is_err());
                if let Some(field) = missing {
                    let text = format!("{} gives no column '{}' any more", self.service, field.name());
                    return Err(Failure::new("CONFLICT", text).hint("load it again"));
                }
                none.insert(Columns::among(&found, self.asked.clone(), &self.service, true)?)
            }
        };
        let chosen = batch
            .project(columns.roots())
            .map_err(|why| Error::corrupt(&self.service, why))?;
        Ok(columns.conform(chosen)?)
    }
}

async fn opened(asked: PartRequest) -> Result<Batches> {
    let target = Arc::new(asked.target);
    let ticket = BASE64_STANDARD.decode(&asked.ticket);
    let ticket = ticket.map_err(|why| Failure::new("INTERNAL", format!("no ticket: {why}")))?;
    let failure = match fetched(target.clone(), ticket.into()).await {
        Ok(batches) => return Ok(batches),
        Err(failure) => failure,
    };
    if failure.code != "UNAUTHENTICATED" {
        return Err(failure);
    }
    // The ticket has expired, if not more is wrong, which this will tell.
    let again = Prepared::of(&target, &asked.request).await?;
    if asked.parts == 1 {
        let rest = stream::iter(again.tickets).then(move |ticket| fetched(target.clone(), ticket));
        return Ok(rest.try_flatten().boxed());
    }
    if again.tickets.len() != asked.parts || again.kept != asked.kept {
        let text = format!("{} splits the read otherwise than before", target.service());
        return Err(Failure::new("CONFLICT", text).hint("run the query again"));
    }
    fetched(target, again.tickets[asked.part].clone()).await
}

/// The rows of a ticket, which have begun to come.
async fn fetched(target: Arc<Target>, ticket: Bytes) -> Result<Batches> {
    let answer = call(&target, None, |mut client| {
        let ticket = Ticket {
            ticket: ticket.clone(),
        };
        async move { client.do_get(ticket).await }
    });
    let Answer {
        found,
        lent,
        request_id,
    } = answer.await?;
    let found: FlightRecordBatchStream = found;
    let batches = found.map_err(move |error| {
        // The connection is lent for as long as the stream is there.
        let _ = &lent;
        Failure::of(error, &target, &request_id)
    });
    Ok(batches.boxed())
}
