//! Connections by SASL, which may encrypt all that they carry: bytes in, bytes out.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::select;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use crate::upstream::{Kind, Patience, Stream, Upstream};

const CHUNK: usize = 64 << 10;
const PAUSE: Duration = Duration::from_millis(500);
const STANDBY: &[u8] = b"org.apache.hadoop.ipc.StandbyException";

/// How it ended.
enum End {
    /// The client went, does not read, or has asked nothing for long.
    Client,
    /// The NameNode went.
    Lost(io::Error),
    Stalled,
    Standby,
}

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
    let end = select! {
        end = ask(client_reader, namenode_writer, &owes) => end,
        end = answer(namenode_reader, client_writer, &owes, || upstream.took(number)) => end,
        end = wait(owes.subscribe(), &upstream.patience) => end,
    };
    match end {
        End::Client => return Ok(()),
        // As NameNodes do with clients that have asked nothing for long.
        End::Lost(_) if owes.borrow().is_none() => return Ok(()),
        End::Lost(error) => upstream.note_lost(number, &error),
        End::Stalled => {
            let seconds = upstream.patience.answer.as_secs_f64();
            let what = format_args!("gave no answer within {seconds} s");
            upstream.note(number, Kind::Timeout, what)
        }
        End::Standby => upstream.note(number, Kind::Standby, "is not the active one"),
    };
    // The client connects once more.
    upstream.prefer((number + 1) % upstream.count());
    Ok(())
}

async fn connect(upstream: &Upstream) -> Option<(usize, Box<dyn Stream>)> {
    let begun = Instant::now();
    let first = upstream.preferred();
    loop {
        let mut hopeless = true;
        for number in (0..upstream.count()).map(|next| (first + next) % upstream.count()) {
            match upstream.dial(number).await {
                Ok(stream) => return Some((number, stream)),
                Err(failure) => hopeless &= upstream.is_hopeless(&failure),
            }
        }
        if hopeless || begun.elapsed() + PAUSE >= upstream.outage() {
            return None;
        }
        sleep(PAUSE).await;
    }
}

type Owes = watch::Sender<Option<Instant>>;

async fn ask(mut client: impl AsyncRead + Unpin, mut namenode: impl AsyncWrite + Unpin, owes: &Owes) -> End {
    let mut buffer = vec![0; CHUNK];
    loop {
        let length = match client.read(&mut buffer).await {
            Ok(length) if length > 0 => length,
            _ => return End::Client,
        };
        owes.send_if_modified(|since| since.is_none() && since.replace(Instant::now()).is_none());
        let written = async {
            namenode.write_all(&buffer[..length]).await?;
            namenode.flush().await
        };
        if let Err(error) = written.await {
            return End::Lost(error);
        }
    }
}

async fn answer(
    mut namenode: impl AsyncRead + Unpin,
    mut client: impl AsyncWrite + Unpin,
    owes: &Owes,
    begun: impl FnOnce(),
) -> End {
    let mut buffer = vec![0; CHUNK];
    let mut begun = Some(begun);
    loop {
        let length = match namenode.read(&mut buffer).await {
            Ok(0) => return End::Lost(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => length,
            Err(error) => return End::Lost(error),
        };
        owes.send_if_modified(|since| since.take().is_some());
        // Told of it, the client would stay with this NameNode: it knows of no other.
        if buffer[..length]
            .windows(STANDBY.len())
            .any(|bytes| bytes == STANDBY)
        {
            return End::Standby;
        }
        if let Some(begun) = begun.take() {
            begun();
        }
        if client.write_all(&buffer[..length]).await.is_err() {
            return End::Client;
        }
    }
}

/// Ends once the NameNode has owed an answer for too long, or the client has asked nothing.
async fn wait(mut owes: watch::Receiver<Option<Instant>>, patience: &Patience) -> End {
    loop {
        let (due, end) = match *owes.borrow_and_update() {
            Some(since) => (since + patience.answer, End::Stalled),
            None => (Instant::now() + patience.idle, End::Client),
        };
        select! {
            _ = owes.changed() => {}
            () = sleep_until(due) => return end,
        }
    }
}
