//! Connections to services, kept for who calls there next.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tonic::transport::{Channel, Endpoint};

use crate::flight::failure::{Failure, Result};
use crate::flight::pems::Pems;
use crate::flight::target::{Address, Target};

const MOST_THREADS: usize = 4;
const CONNECT: Duration = Duration::from_secs(20);
/// After which a machine that is gone is noticed.
const SILENCE: Duration = Duration::from_secs(30);
/// What may be under way of one stream, whose reader has not asked for it yet: some batches.
const STREAM_WINDOW: u32 = 4 << 20;
/// As large as there is: else streams whose readers wait would keep others from going on.
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;
/// Errors travel in headers.
const HEADER_BYTES: u32 = 1 << 20;
/// Connections to one service that nobody uses.
const MOST_IDLE: usize = 4;

/// Who calls where, but for what they show in each call.
type Place = (String, [Option<PathBuf>; 3]);

/// Connections made with the same certificates.
struct Idle {
    pems: Option<Pems>,
    channels: Vec<Channel>,
}

static IDLE: LazyLock<Mutex<HashMap<Place, Idle>>> = LazyLock::new(Mutex::default);

/// What reads from and writes to all connections of this process.
pub fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let threads = thread::available_parallelism().map_or(1, |found| found.get().min(MOST_THREADS));
        let built = Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("headrace-flight")
            .enable_all()
            .build();
        built.expect("threads can be started")
    })
}

/// A connection that one call has for itself: streams of rows do not slow each other down by sharing one.
pub struct Lent {
    channel: Option<Channel>,
    place: Place,
    pems: Option<Pems>,
    /// Whether it was made for this call.
    pub is_new: bool,
}

impl Lent {
    /// One that waits for work, or a new one.
    ///
    /// # Errors
    /// INVALID_ARGUMENT, TLS_ERROR, UNAUTHENTICATED, UNAVAILABLE.
    pub async fn take(target: &Target) -> Result<Self> {
        let address = target.address()?;
        let is_secure = matches!(address, Address::Secure(_));
        // Read each time: who replaces them need not start anything anew.
        let pems = if is_secure {
            Some(Pems::read(target)?)
        } else {
            None
        };
        let place = (
            target.uri.clone(),
            [target.ca.clone(), target.cert.clone(), target.key.clone()],
        );
        let idle = {
            let mut all = all();
            let here = all.entry(place.clone()).or_insert_with(|| Idle {
                pems: pems.clone(),
                channels: Vec::new(),
            });
            if here.pems != pems {
                *here = Idle {
                    pems: pems.clone(),
                    channels: Vec::new(),
                };
            }
            here.channels.pop()
        };
        let is_new = idle.is_none();
        let channel = match idle {
            Some(channel) => channel,
            None => connect(target, &address, pems.as_ref()).await?,
        };
        Ok(Lent {
            channel: Some(channel),
            place,
            pems,
            is_new,
        })
    }

    pub fn channel(&self) -> Channel {
        self.channel.clone().expect("it is lent until it is dropped")
    }

    /// For one that broke: those that wait for work may have, too.
    pub fn discard(mut self) {
        self.channel = None;
        if let Some(here) = all().get_mut(&self.place) {
            here.channels.clear();
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(channel) = self.channel.take() else {
            return;
        };
        if let Some(here) = all().get_mut(&self.place)
            && here.pems == self.pems
            && here.channels.len() < MOST_IDLE
        {
            here.channels.push(channel);
        }
    }
}

fn all() -> MutexGuard<'static, HashMap<Place, Idle>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn connect(target: &Target, address: &Address, pems: Option<&Pems>) -> Result<Channel> {
    let wrong = |_| Failure::new("INVALID_ARGUMENT", format!("'{}' is no address", target.uri));
    let mut endpoint = Endpoint::from_shared(address.endpoint().to_owned())
        .map_err(wrong)?
        .connect_timeout(CONNECT)
        .tcp_keepalive(Some(SILENCE))
        .tcp_keepalive_interval(Some(SILENCE / 3))
        .tcp_keepalive_retries(Some(3))
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .http2_max_header_list_size(HEADER_BYTES);
    if let Some(pems) = pems {
        endpoint = endpoint.tls_config(pems.config()).map_err(|_| unusable(target))?;
    }
    endpoint
        .connect()
        .await
        .map_err(|why| Failure::of_connection(&why, target))
}

/// Files that were read, and do not go together.
fn unusable(target: &Target) -> Failure {
    let text = match (&target.cert, &target.key) {
        (Some(cert), Some(key)) => {
            format!("{} is not the private key of {}", key.display(), cert.display())
        }
        _ => "this machine has no authorities that could be trusted".into(),
    };
    Failure::new("TLS_ERROR", text).hint("give the CA of the service with pems_dir or tls_ca")
}
