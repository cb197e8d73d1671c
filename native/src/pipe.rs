//! Connections of which the tunnel understands nothing, as SASL may encrypt them: bytes in, bytes out.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::select;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use crate::upstream::{Kind, Stream, Upstream};

const CHUNK: usize = 64 << 10;
const PAUSE: Duration = Duration::from_millis(500);

/// Serves `client`, which has sent `preamble`, until one side goes.
pub async fn pipe(mut client: TcpStream, preamble: &[u8], upstream: Arc<Upstream>) -> io::Result<()> {
    let Some((number, mut namenode)) = connect(&upstream).await else {
        return Ok(());
    };
    namenode.write_all(preamble).await?;
    namenode.flush().await?;
    let (client_reader, client_writer) = client.split();
    let (namenode_reader, namenode_writer) = tokio::io::split(namenode);
    // Since when the NameNode owes an answer.
    let owes = watch::Sender::new(None);
    let asked = || owes.send_if_modified(|since| since.is_none() && since.replace(Instant::now()).is_none());
    let heard = || owes.send_if_modified(|since| since.take().is_some());
    let stalled = stall(owes.subscribe(), upstream.patience.answer);
    let lost = |error: &io::Error| upstream.note_lost(number, error);
    select! {
        ended = copy(client_reader, namenode_writer, asked) => ended,
        ended = copy(namenode_reader, client_writer, heard) => {
            if owes.borrow().is_some() {
                lost(ended.as_ref().err().unwrap_or(&io::ErrorKind::UnexpectedEof.into()));
                // The client connects once more, to another NameNode if there is one.
                upstream.prefer((number + 1) % upstream.count());
            }
            ended
        }
        () = stalled => {
            let seconds = upstream.patience.answer.as_secs_f64();
            upstream.note(number, Kind::Timeout, format_args!("gave no answer within {seconds} s"));
            upstream.prefer((number + 1) % upstream.count());
            Ok(())
        }
    }
}

async fn connect(upstream: &Upstream) -> Option<(usize, Box<dyn Stream>)> {
    let begun = Instant::now();
    let first = upstream.preferred();
    loop {
        let mut distrusted = true;
        for number in (0..upstream.count()).map(|next| (first + next) % upstream.count()) {
            match upstream.dial(number).await {
                Ok(stream) => return Some((number, stream)),
                Err(failure) => distrusted &= failure.kind == Kind::Certificate,
            }
        }
        if distrusted || begun.elapsed() + PAUSE >= upstream.patience.outage {
            return None;
        }
        sleep(PAUSE).await;
    }
}

async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut note: impl FnMut() -> bool,
) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let length = from.read(&mut buffer).await?;
        if length == 0 {
            return to.shutdown().await;
        }
        note();
        to.write_all(&buffer[..length]).await?;
        to.flush().await?;
    }
}

/// Ends once the NameNode has owed an answer for `patience`.
async fn stall(mut owes: watch::Receiver<Option<Instant>>, patience: Duration) {
    loop {
        let since = *owes.borrow_and_update();
        let due = since.unwrap_or_else(|| Instant::now() + Duration::from_secs(86_400)) + patience;
        select! {
            _ = owes.changed() => {}
            () = sleep_until(due) => if since.is_some() { return },
        }
    }
}
