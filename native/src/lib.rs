//! A tunnel through which a client of HDFS reaches the NameNodes of HDFS and HopsFS: by TLS where they ask for it,
//! with timeouts, and with the calls asked again that a NameNode took with it as it went.

mod calls;
mod frame;
mod owner;
mod pipe;
mod protobuf;
mod relay;
pub mod rowcodec;
pub mod tls;
pub mod tunnel;
pub mod upstream;

#[cfg(feature = "python")]
mod python;
