//! The tunnel: a port on this host, and the threads that serve it.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::process;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use crate::owner;
use crate::pipe::pipe;
use crate::relay::relay;
use crate::upstream::{self, Kind, PREAMBLE, Upstream};

const THREADS: usize = 2;
/// Look up names and owners, which may block.
const BLOCKING_THREADS: usize = 32;
/// Connections taken of which nobody knows yet whose they are. Others wait where they cost no file descriptor of ours.
const STRANGERS: usize = 8;
const SIMPLE: u8 = 0;

pub struct Tunnel {
    pub port: u16,
    pub upstream: Arc<Upstream>,
    runtime: Mutex<Option<Runtime>>,
    process: u32,
}

impl Tunnel {
    pub fn open(upstream: Upstream) -> io::Result<Self> {
        let upstream = Arc::new(upstream);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(BLOCKING_THREADS)
            .thread_name("headrace-tunnel")
            .enable_all()
            .build()?;
        {
            let _inside = runtime.enter();
            let listener = tokio::net::TcpListener::from_std(listener)?;
            runtime.spawn(accept(listener, upstream.clone()));
        }
        Ok(Self {
            port,
            upstream,
            runtime: Mutex::new(Some(runtime)),
            process: process::id(),
        })
    }

    /// Ends what goes through the tunnel, at once. Closing twice does nothing.
    pub fn close(&self) {
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
        match runtime {
            Some(runtime) if self.process == process::id() => runtime.shutdown_background(),
            // After a fork the threads are the parent's alone: to wait for their locks could take forever.
            Some(runtime) => std::mem::forget(runtime),
            None => {}
        }
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.close();
    }
}

async fn accept(listener: tokio::net::TcpListener, upstream: Arc<Upstream>) {
    let strangers = Arc::new(Semaphore::new(STRANGERS));
    while let Ok(stranger) = strangers.clone().acquire_owned().await {
        match listener.accept().await {
            Ok((client, _)) => {
                tokio::spawn(serve(client, stranger, upstream.clone()));
            }
            // As when this process has no file descriptor left: it may have one soon.
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
}

/// What goes wrong with a client ends its connection, and nothing else.
async fn serve(
    mut client: TcpStream,
    stranger: OwnedSemaphorePermit,
    upstream: Arc<Upstream>,
) -> io::Result<()> {
    upstream::prepare(&client);
    let (peer, local) = (client.peer_addr()?, client.local_addr()?);
    let asked = spawn_blocking(move || owner::is_ours(peer, local));
    let ours = timeout(upstream.patience.connect, asked).await??;
    let ours = ours.inspect_err(|error| {
        let text = format!("the tunnel cannot tell whose connection it has: {error}");
        upstream.note_here(Kind::Unreachable, text);
    });
    if !ours? {
        return Ok(());
    }
    drop(stranger);
    let mut preamble = [0; PREAMBLE];
    timeout(upstream.patience.connect, client.read_exact(&mut preamble)).await??;
    match preamble {
        [b'h', b'r', b'p', b'c', _, _, SIMPLE] => relay(client, &preamble, upstream).await,
        [b'h', b'r', b'p', b'c', ..] => pipe(client, &preamble, upstream).await,
        _ => Ok(()),
    }
}
