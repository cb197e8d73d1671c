//! Keeps a client's connection over NameNodes that come and go: what they did not answer is asked again.
//!
//! A call that is asked twice takes effect once. Those of Hadoop's calls that would not bear it are annotated
//! `AtMostOnce`: NameNodes remember them by the ids of client and call, which stay the same here, over restarts
//! and failover too. The others are annotated `Idempotent`.

use std::future::{Future, pending};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio::select;
use tokio::time::{Instant, sleep_until};

use crate::calls::{Calls, Verdict};
use crate::frame::{CONTEXT, Frames, Request, Response};
use crate::protobuf::Malformed;
use crate::upstream::{Failure, Kind, PREAMBLE, Stream, Upstream};

/// What may wait for one side to read it before the other side is read on.
const AHEAD: usize = 1 << 20;
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// How long a client is given at least to take what it was sent.
const LEAST: Duration = Duration::from_secs(1);

/// Serves `client`, which has sent `preamble`, until it goes.
pub async fn relay(mut client: TcpStream, preamble: &[u8], upstream: Arc<Upstream>) -> io::Result<()> {
    let (reader, mut writer) = client.split();
    let mut frames = Frames::new(reader);
    let mut relay = Relay {
        number: upstream.preferred(),
        opening: BytesMut::from(preamble),
        calls: Calls::default(),
        link: Link::Down,
        misses: 0,
        hopeless: 0,
        redial: Instant::now(),
        failure: None,
        active: Instant::now(),
        to_client: BytesMut::new(),
        last: false,
        upstream,
    };
    while let Some(wake) = relay.advance(Instant::now())? {
        let readable = relay.to_client.len() < AHEAD;
        select! {
            frame = frames.next(), if relay.calls.has_room() => match frame? {
                Some(frame) => relay.take(frame)?,
                None => return Ok(()),
            },
            written = writer.write(&relay.to_client), if !relay.to_client.is_empty() => relay.to_client.advance(written?),
            event = relay.link.step(readable) => relay.on(event),
            () = sleep_until(wake) => {}
        }
    }
    writer.shutdown().await
}

struct Relay {
    upstream: Arc<Upstream>,
    /// The number of the NameNode that is asked.
    number: usize,
    /// With what every connection to a NameNode begins: the preamble, and the connection's context.
    opening: BytesMut,
    calls: Calls,
    link: Link,
    /// How many connections in a row brought no answer, and how many of them for what no waiting mends.
    misses: u32,
    hopeless: usize,
    redial: Instant,
    /// What last went wrong since an answer came.
    failure: Option<Failure>,
    /// When the client last asked or was answered something.
    active: Instant,
    to_client: BytesMut,
    /// Nothing more is to be sent to the client.
    last: bool,
}

impl Relay {
    /// Does what is due, and tells when to look again; `None` where the client is to be let go.
    fn advance(&mut self, now: Instant) -> io::Result<Option<Instant>> {
        let idle = self.active + self.upstream.patience.idle;
        if self.to_client.is_empty() && (self.last || self.calls.is_empty() && idle <= now) {
            return Ok(None);
        }
        let (answer, outage) = (self.upstream.patience.answer, self.upstream.outage());
        if self.calls.oldest().is_some_and(|begun| begun + outage <= now) {
            self.give_up(now, Some(outage));
        }
        if let (Link::Up(up), Some(sent)) = (&self.link, self.calls.oldest_sent())
            && sent.max(up.heard) + answer <= now
        {
            let what = format!("gave no answer within {} s", answer.as_secs_f64());
            let failure = self.upstream.note(self.number, Kind::Timeout, what);
            self.miss(failure, now);
        }
        if matches!(self.link, Link::Down)
            && self.redial <= now
            && self.calls.next_due().is_some_and(|due| due <= now)
        {
            let (upstream, number) = (self.upstream.clone(), self.number);
            self.link = Link::Dialling(Box::pin(async move { upstream.dial(number).await }));
        }
        if let Link::Up(up) = &mut self.link {
            for frame in self.calls.send(now)? {
                up.send(&frame);
            }
        }
        let next = match &self.link {
            Link::Down => self.calls.next_due().map(|due| due.max(self.redial)),
            Link::Dialling(_) => None,
            Link::Up(up) => {
                let stalled = self.calls.oldest_sent().map(|sent| sent.max(up.heard) + answer);
                self.calls.next_due().into_iter().chain(stalled).min()
            }
        };
        let late = self.calls.oldest().map(|begun| begun + outage);
        let first = next.into_iter().chain(late).min();
        Ok(Some(first.unwrap_or(idle.max(now + LEAST))))
    }

    /// Takes a frame of the client.
    fn take(&mut self, frame: Bytes) -> Result<(), Malformed> {
        let request = Request::parse(frame)?;
        if request.call >= 0 {
            self.active = Instant::now();
            self.calls.add(request, self.active);
            return Ok(());
        }
        if request.call == CONTEXT {
            self.opening.truncate(PREAMBLE);
            self.opening.extend_from_slice(&request.frame);
        }
        if let Link::Up(up) = &mut self.link {
            up.send(&request.frame);
        }
        Ok(())
    }

    fn on(&mut self, event: Event) {
        let now = Instant::now();
        match event {
            Event::Wrote => {}
            Event::Connected(stream) => self.link = Link::Up(Up::new(stream, &self.opening, now)),
            Event::Unreachable(failure) => self.miss(failure, now),
            Event::Lost(_) if self.calls.is_empty() => self.link = Link::Down,
            Event::Lost(error) => {
                let failure = self.upstream.note_lost(self.number, &error);
                self.miss(failure, now);
            }
            Event::Answer(response) => self.answer(response, now),
        }
    }

    fn answer(&mut self, response: Response, now: Instant) {
        self.upstream.heard();
        let exception = response.exception.clone();
        match self.calls.answer(response, now) {
            Verdict::Pass(frame) => {
                (self.misses, self.hopeless) = (0, 0);
                if let Some(failure) = self.failure.take() {
                    self.upstream.overcome(&failure);
                }
                self.active = now;
                self.upstream.prefer(self.number);
                self.to_client.extend_from_slice(&frame);
            }
            Verdict::Last(frame) => {
                let what = format_args!("ended the connection ({exception})");
                self.failure = Some(self.upstream.note(self.number, Kind::Refused, what));
                // Calls that are cut off are asked again by their clients, under other ids.
                self.give_up(now, None);
                self.last = true;
                self.to_client.extend_from_slice(&frame);
            }
            Verdict::Elsewhere => {
                let failure = self.upstream.note(
                    self.number,
                    Kind::Standby,
                    format_args!("is not the active one ({exception})"),
                );
                self.miss(failure, now);
            }
            Verdict::Again if !exception.is_empty() => {
                let failure = self.upstream.note(
                    self.number,
                    Kind::Standby,
                    format_args!("puts calls off ({exception})"),
                );
                self.failure = Some(failure);
            }
            Verdict::Again | Verdict::Drop => {}
        }
    }

    /// This NameNode is of no use now: the next one is asked, and after all of them a pause is made.
    fn miss(&mut self, failure: Failure, now: Instant) {
        let count = self.upstream.count();
        self.link = Link::Down;
        self.calls.lost(now);
        self.number = (self.number + 1) % count;
        self.misses += 1;
        let round = self.misses / count as u32;
        self.redial = match self.misses as usize % count {
            0 => now + (PAUSES.0 * 2u32.saturating_pow(round - 1)).min(PAUSES.1),
            _ => now,
        };
        self.hopeless = if self.upstream.is_hopeless(&failure) {
            self.hopeless + 1
        } else {
            0
        };
        self.failure = Some(failure);
        if self.hopeless >= count {
            self.hopeless = 0;
            self.give_up(now, None);
        }
    }

    fn give_up(&mut self, now: Instant, outage: Option<Duration>) {
        // Taken: those who are told now may still ask for it when the next answer has come.
        let failure = self.failure.take().unwrap_or_else(|| {
            let what = "answers other calls, and not this one";
            self.upstream.note(self.number, Kind::Timeout, what)
        });
        for frame in self.calls.give_up(now, outage, &failure.text) {
            self.to_client.extend_from_slice(&frame);
        }
    }
}

enum Event {
    Connected(Box<dyn Stream>),
    Unreachable(Failure),
    Answer(Response),
    Lost(io::Error),
    Wrote,
}

type Dialling = Pin<Box<dyn Future<Output = Result<Box<dyn Stream>, Failure>> + Send>>;

/// The connection to a NameNode.
enum Link {
    Down,
    Dialling(Dialling),
    Up(Up),
}

impl Link {
    /// What happens next. May be dropped at any point: nothing gets lost.
    async fn step(&mut self, readable: bool) -> Event {
        match self {
            Self::Down => pending().await,
            Self::Dialling(dialling) => match dialling.await {
                Ok(stream) => Event::Connected(stream),
                Err(failure) => Event::Unreachable(failure),
            },
            Self::Up(up) => up.step(readable).await.unwrap_or_else(Event::Lost),
        }
    }
}

struct Up {
    frames: Frames<ReadHalf<Box<dyn Stream>>>,
    writer: WriteHalf<Box<dyn Stream>>,
    outgoing: BytesMut,
    /// TLS may hold back what it has taken.
    flushed: bool,
    heard: Instant,
}

impl Up {
    fn new(stream: Box<dyn Stream>, opening: &[u8], now: Instant) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self {
            frames: Frames::new(reader),
            writer,
            outgoing: BytesMut::from(opening),
            flushed: true,
            heard: now,
        }
    }

    fn send(&mut self, frame: &[u8]) {
        self.outgoing.extend_from_slice(frame);
    }

    async fn step(&mut self, readable: bool) -> io::Result<Event> {
        let writable = !self.outgoing.is_empty() || !self.flushed;
        select! {
            // Reading first: a refusal that came is worth more than the failure to write after it.
            biased;
            frame = self.frames.next(), if readable => {
                let frame = frame?.ok_or(io::ErrorKind::UnexpectedEof)?;
                self.heard = Instant::now();
                Ok(Event::Answer(Response::parse(frame)?))
            }
            written = push(&mut self.writer, &self.outgoing), if writable => {
                let length = written?;
                self.outgoing.advance(length);
                self.flushed = length == 0;
                Ok(Event::Wrote)
            }
            else => pending().await,
        }
    }
}

/// Writes what it can of `bytes`, or, if there are none, what TLS has held back.
async fn push(writer: &mut WriteHalf<Box<dyn Stream>>, bytes: &[u8]) -> io::Result<usize> {
    if bytes.is_empty() {
        return writer.flush().await.map(|()| 0);
    }
    match writer.write(bytes).await? {
        0 => Err(io::ErrorKind::WriteZero.into()),
        length => Ok(length),
    }
}
