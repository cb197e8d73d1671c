//! The calls of one client that no NameNode has answered yet, and what an answer means for them.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use crate::frame::{Request, Response, Status};
use crate::protobuf::Malformed;

const MOST: usize = 4096;
const MOST_BYTES: usize = 32 << 20;

/// Clients that are told that a file is not complete sleep for half a second and more, where its last block is
/// reported within milliseconds.
const COMPLETION: Duration = Duration::from_secs(5);
const COMPLETION_PAUSES: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(64));
const RETRY_PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// What to do with an answer.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// The client gets it.
    Pass(Bytes),
    /// The client gets it, and nothing after it: the NameNode ends the connection.
    Last(Bytes),
    /// The same NameNode is asked again, after a pause.
    Again,
    /// Another NameNode is to be asked.
    Elsewhere,
    /// Nobody waits for it.
    Drop,
}

enum State {
    Due(Instant),
    Sent(Instant),
}

struct Call {
    request: Request,
    begun: Instant,
    state: State,
    asked: i32,
    pause: Option<Duration>,
    incomplete: Option<Instant>,
    /// With what the NameNode that is connected put the call off.
    refusal: Option<Bytes>,
}

impl Call {
    fn put_off(&mut self, now: Instant, (least, most): (Duration, Duration)) {
        let pause = self.pause.map_or(least, |pause| (pause * 2).min(most));
        self.pause = Some(pause);
        self.state = State::Due(now + pause);
    }
}

#[derive(Default)]
pub struct Calls {
    open: BTreeMap<i32, Call>,
    bytes: usize,
}

impl Calls {
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether the client may ask more.
    pub fn has_room(&self) -> bool {
        self.open.len() < MOST && self.bytes < MOST_BYTES
    }

    pub fn add(&mut self, request: Request, now: Instant) {
        self.bytes += request.frame.len();
        let call = Call {
            begun: now,
            state: State::Due(now),
            asked: 0,
            pause: None,
            incomplete: None,
            refusal: None,
            request,
        };
        if let Some(twin) = self.open.insert(call.request.call, call) {
            self.bytes -= twin.request.frame.len();
        }
    }

    /// What is to be sent now. A call that was sent before says so by its count of retries.
    pub fn send(&mut self, now: Instant) -> Result<Vec<Bytes>, Malformed> {
        let mut frames = Vec::new();
        for call in self.open.values_mut() {
            if matches!(call.state, State::Due(at) if at <= now) {
                frames.push(match call.asked {
                    0 => call.request.frame.clone(),
                    count => call.request.retried(count)?,
                });
                call.asked += 1;
                call.state = State::Sent(now);
            }
        }
        Ok(frames)
    }

    pub fn answer(&mut self, response: Response, now: Instant) -> Verdict {
        if response.status == Status::Fatal {
            self.remove(response.call);
            return Verdict::Last(response.frame);
        }
        let Some(call) = self.open.get_mut(&response.call) else {
            return if response.call < 0 {
                Verdict::Pass(response.frame)
            } else {
                Verdict::Drop
            };
        };
        match (response.status, response.exception.rsplit('.').next()) {
            (Status::Error, Some("StandbyException" | "ObserverRetryOnActiveException")) => {
                Verdict::Elsewhere
            }
            // Where there is but one NameNode, it says of its start that it is in safe mode.
            (Status::Error, Some("RetriableException" | "SafeModeException")) => {
                call.refusal = Some(response.frame);
                call.put_off(now, RETRY_PAUSES);
                Verdict::Again
            }
            (Status::Success, _)
                if call.request.method == "complete"
                    && response.says_false()
                    && now < *call.incomplete.get_or_insert(now) + COMPLETION =>
            {
                call.put_off(now, COMPLETION_PAUSES);
                Verdict::Again
            }
            _ => {
                self.remove(response.call);
                Verdict::Pass(response.frame)
            }
        }
    }

    /// The connection is gone: what it was asked has to be asked again.
    pub fn lost(&mut self, now: Instant) {
        for call in self.open.values_mut() {
            if matches!(call.state, State::Sent(_)) {
                call.state = State::Due(now);
            }
            call.refusal = None;
        }
    }

    /// Answers in a NameNode's place what has waited for `outage`, or everything without it.
    pub fn give_up(&mut self, now: Instant, outage: Option<Duration>, reason: &str) -> Vec<Bytes> {
        let late = |call: &Call| outage.is_none_or(|outage| call.begun + outage <= now);
        let ids: Vec<i32> = self
            .open
            .values()
            .filter(|call| late(call))
            .map(|call| call.request.call)
            .collect();
        let ended = ids.into_iter().filter_map(|id| self.remove(id));
        ended
            .map(|call| {
                call.refusal.unwrap_or_else(|| {
                    let waited = (now - call.begun).as_secs_f64();
                    let message = format!("{} failed after {waited:.1} s: {reason}", call.request.method);
                    call.request.failed("java.io.IOException", &message)
                })
            })
            .collect()
    }

    /// When the first call is due to be sent.
    pub fn next_due(&self) -> Option<Instant> {
        self.instants(|call| match call.state {
            State::Due(at) => Some(at),
            State::Sent(_) => None,
        })
    }

    /// When the call was sent that waits longest for its answer.
    pub fn oldest_sent(&self) -> Option<Instant> {
        self.instants(|call| match call.state {
            State::Due(_) => None,
            State::Sent(at) => Some(at),
        })
    }

    /// When the call began that has waited longest in all.
    pub fn oldest(&self) -> Option<Instant> {
        self.instants(|call| Some(call.begun))
    }

    fn instants(&self, of: impl Fn(&Call) -> Option<Instant>) -> Option<Instant> {
        self.open.values().filter_map(of).min()
    }

    fn remove(&mut self, id: i32) -> Option<Call> {
        let call = self.open.remove(&id)?;
        self.bytes -= call.request.frame.len();
        Some(call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::samples::{request, response};

    const FALSE: &[u8] = b"\x02\x08\x00";
    const TRUE: &[u8] = b"\x02\x08\x01";

    fn sent(method: &str, now: Instant) -> Calls {
        let mut calls = Calls::default();
        calls.add(request(1, method), now);
        assert_eq!(calls.send(now).unwrap(), [request(1, method).frame]);
        calls
    }

    #[test]
    fn an_answer_is_passed_on_once() {
        let now = Instant::now();
        let mut calls = sent("rename2", now);
        let frame = response(1, Status::Success, "", TRUE).frame;
        assert_eq!(
            calls.answer(response(1, Status::Success, "", TRUE), now),
            Verdict::Pass(frame)
        );
        assert!(calls.is_empty());
        assert_eq!(calls.bytes, 0);
        assert_eq!(
            calls.answer(response(1, Status::Success, "", TRUE), now),
            Verdict::Drop
        );
    }

    #[test]
    fn what_was_sent_is_sent_again_with_its_count_after_a_loss() {
        let now = Instant::now();
        let mut calls = sent("rename2", now);
        assert!(calls.send(now).unwrap().is_empty());
        calls.lost(now);
        assert_eq!(
            calls.send(now).unwrap(),
            [request(1, "rename2").retried(1).unwrap()]
        );
    }

    #[test]
    fn a_standby_sends_elsewhere_and_a_start_makes_wait() {
        let now = Instant::now();
        let mut calls = sent("create", now);
        let standby = response(1, Status::Error, "org.apache.hadoop.ipc.StandbyException", b"");
        assert_eq!(calls.answer(standby, now), Verdict::Elsewhere);
        let starting = || response(1, Status::Error, "org.apache.hadoop.ipc.RetriableException", b"");
        assert_eq!(calls.answer(starting(), now), Verdict::Again);
        assert_eq!(calls.next_due(), Some(now + RETRY_PAUSES.0));
        assert_eq!(calls.give_up(now, None, "closed"), [starting().frame]);
    }

    #[test]
    fn other_errors_are_the_clients() {
        let now = Instant::now();
        let mut calls = sent("create", now);
        let error = || {
            response(
                1,
                Status::Error,
                "org.apache.hadoop.fs.FileAlreadyExistsException",
                b"",
            )
        };
        assert_eq!(calls.answer(error(), now), Verdict::Pass(error().frame));
    }

    #[test]
    fn an_incomplete_file_is_asked_for_again_until_its_time_is_over() {
        let begin = Instant::now();
        let mut calls = sent("complete", begin);
        let mut now = begin;
        while calls.answer(response(1, Status::Success, "", FALSE), now) == Verdict::Again {
            now = calls.next_due().unwrap();
            assert_eq!(calls.send(now).unwrap().len(), 1);
        }
        assert!(now >= begin + COMPLETION && now < begin + COMPLETION + COMPLETION_PAUSES.1);
        assert!(calls.is_empty());
        let mut other = sent("mkdirs", begin);
        assert!(matches!(
            other.answer(response(1, Status::Success, "", FALSE), begin),
            Verdict::Pass(_)
        ));
    }

    #[test]
    fn a_call_that_waited_too_long_fails_with_the_reason() {
        let now = Instant::now();
        let mut calls = sent("create", now);
        let outage = Duration::from_secs(90);
        assert!(calls.give_up(now, Some(outage), "nn1 is gone").is_empty());
        let answers = calls.give_up(now + outage, Some(outage), "nn1 is gone");
        let text = String::from_utf8_lossy(&answers[0]).into_owned();
        assert!(text.contains("create failed after 90.0 s: nn1 is gone"), "{text}");
        assert!(calls.is_empty());
    }

    #[test]
    fn a_client_that_asks_and_never_listens_is_held_back() {
        let now = Instant::now();
        let mut calls = Calls::default();
        for id in 0..MOST as i32 {
            assert!(calls.has_room());
            calls.add(request(id, "getFileInfo"), now);
        }
        assert!(!calls.has_room());
    }
}
