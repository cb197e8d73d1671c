//! One call of a service, with the headers of the protocol, and tried again where that may help.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant};

use arrow_flight::FlightClient;
use arrow_flight::error::FlightError;
use arrow_flight::flight_service_client::FlightServiceClient;
use tokio::time::{sleep, timeout};

use crate::flight::channels::Lent;
use crate::flight::failure::{Failure, Result, unwelcome};
use crate::flight::target::{Address, Target};

const PROTOCOL_VERSION: &str = "1";
/// With a service that is busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often a call is tried again whose connection broke, or did not come to be.
const MOST_BROKEN: u32 = 2;

/// What the client says of a call.
type Told<T> = std::result::Result<T, FlightError>;

/// What a call gave, the connection that it is still on, and the id by which the service's log knows it.
pub struct Answer<T> {
    pub found: T,
    pub lent: Lent,
    pub request_id: String,
}

/// Asks what has no effect on the service, and may so be asked again.
///
/// # Errors
/// What the service says; BUSY, UNAVAILABLE or TIMEOUT if it goes on saying nothing.
pub async fn call<T, W: Future<Output = Told<T>>>(
    target: &Target,
    limit: Option<Duration>,
    work: impl Fn(FlightClient) -> W,
) -> Result<Answer<T>> {
    let begun = Instant::now();
    let mut broken = 0;
    loop {
        let failure = match once(target, limit, &work).await {
            Ok(answer) => return Ok(answer),
            Err(failure) => failure,
        };
        broken += u32::from(failure.is_of_the_way);
        match failure.try_after() {
            Some(pause) if broken <= MOST_BROKEN && begun.elapsed() + pause < PATIENCE => sleep(pause).await,
            _ => return Err(failure),
        }
    }
}

async fn once<T, W: Future<Output = Told<T>>>(
    target: &Target,
    limit: Option<Duration>,
    work: &impl Fn(FlightClient) -> W,
) -> Result<Answer<T>> {
    let request_id = format!("{:016x}", RandomState::new().build_hasher().finish());
    let attempt = async {
        let lent = Lent::take(target).await?;
        match work(client(&lent, target, &request_id)?).await {
            Ok(found) => Ok(Answer {
                found,
                lent,
                request_id: request_id.clone(),
            }),
            Err(error) => {
                let failure = Failure::of(error, target, &request_id);
                if !failure.is_of_the_way {
                    return Err(failure);
                }
                let at_the_door = lent.is_new && matches!(target.address()?, Address::Secure(_));
                lent.discard();
                Err(if at_the_door {
                    unwelcome(target).of_the_way()
                } else {
                    failure
                })
            }
        }
    };
    let Some(limit) = limit else {
        return attempt.await;
    };
    let late = || {
        format!(
            "{} did not answer within {} seconds",
            target.service(),
            limit.as_secs_f64()
        )
    };
    timeout(limit, attempt)
        .await
        .unwrap_or_else(|_| Err(Failure::new("TIMEOUT", late())))
}

fn client(lent: &Lent, target: &Target, request_id: &str) -> Result<FlightClient> {
    // How large a batch of rows is, the service bounds.
    let inner = FlightServiceClient::new(lent.channel()).max_decoding_message_size(usize::MAX);
    let mut client = FlightClient::new_from_inner(inner);
    let mut headers = vec![
        ("headrace-protocol", PROTOCOL_VERSION.to_owned()),
        ("headrace-request-id", request_id.to_owned()),
        ("headrace-project", target.project.clone()),
    ];
    headers.extend(
        target
            .token
            .iter()
            .map(|token| ("authorization", format!("Bearer {token}"))),
    );
    for (name, value) in headers {
        // Of what is wrong with it nothing is repeated: it may be the token.
        let wrong = |_| {
            Failure::new(
                "INVALID_ARGUMENT",
                format!("what is sent as {name} is no text of one line"),
            )
        };
        client.add_header(name, &value).map_err(wrong)?;
    }
    Ok(client)
}
