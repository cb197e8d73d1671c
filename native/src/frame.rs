//! Frames of Hadoop's RPC: a length of four bytes, then protobuf messages that each bring their own length.

use std::io;
use std::ops::Range;

use bytes::{BufMut, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::protobuf::{Malformed, Reader, Value, from_zigzag, put_bytes, put_number, put_varint, to_zigzag};

/// The longest frame that a NameNode takes: `ipc.maximum.data.length`.
pub const LIMIT: usize = 128 << 20;

/// The call id of a connection's context, the first frame that a client sends.
pub const CONTEXT: i32 = -3;

const LENGTH: usize = 4;
const READ: usize = 16 << 10;

/// Reads frame by frame. `next` may be dropped at any point: no byte gets lost.
pub struct Frames<R> {
    source: R,
    buffer: BytesMut,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    pub fn new(source: R) -> Self {
        Self {
            source,
            buffer: BytesMut::new(),
        }
    }

    /// The next frame, its length included; `None` where the stream ends.
    pub async fn next(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            if let Some(frame) = self.whole()? {
                return Ok(Some(frame));
            }
            self.buffer.reserve(READ);
            if self.source.read_buf(&mut self.buffer).await? == 0 {
                return if self.buffer.is_empty() {
                    Ok(None)
                } else {
                    Err(io::ErrorKind::UnexpectedEof.into())
                };
            }
        }
    }

    fn whole(&mut self) -> io::Result<Option<Bytes>> {
        let Some(length) = self.buffer.first_chunk::<LENGTH>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*length) as usize;
        if length > LIMIT {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("a frame of {length} bytes; at most {LIMIT} are allowed"),
            ));
        }
        let end = LENGTH + length;
        Ok((self.buffer.len() >= end).then(|| self.buffer.split_to(end).freeze()))
    }
}

/// One request of a client, or its connection's context.
pub struct Request {
    pub call: i32,
    /// Empty where the frame carries no call.
    pub method: String,
    pub frame: Bytes,
    client: Bytes,
    header: Range<usize>,
}

impl Request {
    pub fn parse(frame: Bytes) -> Result<Self, Malformed> {
        let mut reader = Reader::new(&frame, LENGTH);
        let header = reader.message()?;
        let (mut call, mut client) = (None, Bytes::new());
        let mut fields = Reader::new(&frame[..header.end], header.start);
        while let Some((number, value)) = fields.field()? {
            match (number, value) {
                (3, Value::Number(number)) => call = Some(from_zigzag(number)),
                (4, Value::Bytes(range)) => client = frame.slice(range),
                _ => {}
            }
        }
        let call = call.ok_or(Malformed)?;
        let mut method = String::new();
        if call >= 0 {
            let request = reader.message()?;
            let mut fields = Reader::new(&frame[..request.end], request.start);
            while let Some((number, value)) = fields.field()? {
                if let (1, Value::Bytes(range)) = (number, value) {
                    method = String::from_utf8_lossy(&frame[range]).into_owned();
                }
            }
        }
        Ok(Self {
            call,
            method,
            frame,
            client,
            header,
        })
    }

    /// The same call, asked once more: NameNodes know it again by the ids of client and call.
    pub fn retried(&self, count: i32) -> Result<Bytes, Malformed> {
        let mut header = BytesMut::with_capacity(self.header.len() + 8);
        let mut fields = Reader::new(&self.frame[..self.header.end], self.header.start);
        loop {
            let begin = fields.at;
            let Some((number, _)) = fields.field()? else {
                break;
            };
            if number != 5 {
                header.extend_from_slice(&self.frame[begin..fields.at]);
            }
        }
        put_number(&mut header, 5, to_zigzag(count));
        Ok(framed(&header, &self.frame[self.header.end..]))
    }

    /// The answer with which the call fails at its client.
    pub fn failed(&self, class: &str, message: &str) -> Bytes {
        let mut header = BytesMut::new();
        put_number(&mut header, 1, u64::from(self.call as u32));
        put_number(&mut header, 2, Status::Error as u64);
        put_number(&mut header, 3, 9);
        put_bytes(&mut header, 4, class.as_bytes());
        put_bytes(&mut header, 5, message.as_bytes());
        put_bytes(&mut header, 7, &self.client);
        framed(&header, &[])
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Status {
    Success = 0,
    Error = 1,
    Fatal = 2,
}

/// One answer of a NameNode.
pub struct Response {
    pub call: i32,
    pub status: Status,
    /// The class of what was thrown, empty on success.
    pub exception: String,
    pub frame: Bytes,
    body: usize,
}

impl Response {
    pub fn parse(frame: Bytes) -> Result<Self, Malformed> {
        let mut reader = Reader::new(&frame, LENGTH);
        let header = reader.message()?;
        let (mut call, mut status, mut exception) = (None, Status::Success, String::new());
        let mut fields = Reader::new(&frame[..header.end], header.start);
        while let Some((number, value)) = fields.field()? {
            match (number, value) {
                (1, Value::Number(number)) => call = Some(number as u32 as i32),
                (2, Value::Number(0)) => status = Status::Success,
                (2, Value::Number(1)) => status = Status::Error,
                (2, Value::Number(_)) => status = Status::Fatal,
                (4, Value::Bytes(range)) => exception = String::from_utf8_lossy(&frame[range]).into_owned(),
                _ => {}
            }
        }
        Ok(Self {
            call: call.ok_or(Malformed)?,
            status,
            exception,
            body: header.end,
            frame,
        })
    }

    /// Whether the one field of the answer is `false`.
    pub fn says_false(&self) -> bool {
        let mut reader = Reader::new(&self.frame, self.body);
        let Ok(message) = reader.message() else {
            return false;
        };
        let mut fields = Reader::new(&self.frame[..message.end], message.start);
        matches!(fields.field(), Ok(Some((1, Value::Number(0)))))
    }
}

fn framed(header: &[u8], rest: &[u8]) -> Bytes {
    let mut head = BytesMut::with_capacity(10);
    put_varint(&mut head, header.len() as u64);
    let length = head.len() + header.len() + rest.len();
    let mut frame = BytesMut::with_capacity(LENGTH + length);
    frame.put_u32(length as u32);
    frame.extend_from_slice(&head);
    frame.extend_from_slice(header);
    frame.extend_from_slice(rest);
    frame.freeze()
}

/// Frames as clients and NameNodes write them.
#[cfg(test)]
pub mod samples {
    use super::*;

    pub fn request(call: i32, method: &str) -> Request {
        let mut header = BytesMut::new();
        put_number(&mut header, 1, 2);
        put_number(&mut header, 2, 0);
        put_number(&mut header, 3, to_zigzag(call));
        put_bytes(&mut header, 4, b"client-of-16-byt");
        put_number(&mut header, 5, to_zigzag(0));
        let mut name = BytesMut::new();
        put_bytes(&mut name, 1, method.as_bytes());
        let mut rest = BytesMut::new();
        put_varint(&mut rest, name.len() as u64);
        rest.extend_from_slice(&name);
        rest.extend_from_slice(b"\x02\x08\x07");
        Request::parse(framed(&header, &rest)).unwrap()
    }

    pub fn response(call: i32, status: Status, exception: &str, body: &[u8]) -> Response {
        let mut header = BytesMut::new();
        put_number(&mut header, 1, u64::from(call as u32));
        put_number(&mut header, 2, status as u64);
        if !exception.is_empty() {
            put_bytes(&mut header, 4, exception.as_bytes());
        }
        Response::parse(framed(&header, body)).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::samples::{request, response};
    use super::*;

    #[test]
    fn a_request_tells_its_call_and_method() {
        let request = request(7, "rename2");
        assert_eq!((request.call, request.method.as_str()), (7, "rename2"));
    }

    #[test]
    fn a_retried_request_differs_in_its_count_alone() {
        let first = request(300, "create");
        let again = Request::parse(first.retried(2).unwrap()).unwrap();
        assert_eq!(
            (again.call, &again.method, &again.client),
            (300, &first.method, &first.client)
        );
        assert_eq!(&again.frame[again.header.end..], &first.frame[first.header.end..]);
        assert_eq!(again.retried(0).unwrap(), first.frame);
        assert_ne!(again.frame, first.frame);
    }

    #[test]
    fn a_failed_request_reads_as_an_error() {
        let answer = Response::parse(request(7, "create").failed("java.io.IOException", "gone")).unwrap();
        assert_eq!((answer.call, answer.status), (7, Status::Error));
        assert_eq!(answer.exception, "java.io.IOException");
    }

    #[test]
    fn an_answer_says_false_or_something_else() {
        for (body, says) in [
            (&b"\x02\x08\x00"[..], true),
            (b"\x02\x08\x01", false),
            (b"\x00", false),
            (b"", false),
        ] {
            assert_eq!(response(1, Status::Success, "", body).says_false(), says);
        }
    }

    #[test]
    fn negative_ids_come_through() {
        assert_eq!(response(-33, Status::Success, "", b"").call, -33);
    }

    #[test]
    fn no_prefix_of_a_frame_and_no_noise_passes_for_one() {
        let whole = request(7, "rename2").frame;
        for end in 0..whole.len() - 3 {
            assert!(Request::parse(whole.slice(..end)).is_err(), "{end} bytes");
        }
        for seed in 0..2000u32 {
            let noise: Vec<u8> = (0..seed % 64)
                .map(|i| (seed.wrapping_mul(2654435761) >> (i % 25)) as u8)
                .collect();
            let _ = Request::parse(Bytes::from(noise.clone()));
            let _ = Response::parse(Bytes::from(noise));
        }
    }

    #[tokio::test]
    async fn frames_come_whole_however_they_are_cut() {
        let (mut writer, reader) = tokio::io::duplex(3);
        let sent = [request(1, "create").frame, request(2, "complete").frame];
        let bytes = sent.concat();
        tokio::spawn(async move { tokio::io::AsyncWriteExt::write_all(&mut writer, &bytes).await });
        let mut frames = Frames::new(reader);
        for frame in sent {
            assert_eq!(frames.next().await.unwrap(), Some(frame));
        }
        assert_eq!(frames.next().await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_frame_that_is_too_long_is_refused_by_its_length() {
        let mut frames = Frames::new(&b"\xff\xff\xff\xffGET"[..]);
        assert_eq!(
            frames.next().await.unwrap_err().kind(),
            io::ErrorKind::InvalidData
        );
    }
}
