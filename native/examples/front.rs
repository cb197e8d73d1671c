//! `front PORT NAMENODE [FOLDER]` passes on to a NameNode what clients say at a port of this host, and what it answers.
//!
//! Given a folder with `ca_chain.pem`, `server_cert.pem` and `server_key.pem`, it speaks mutual TLS with clients, as
//! HopsFS does. Benchmarks run it: it costs as little as a process of its own can.

use std::env;
use std::error::Error;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio_rustls::TlsAcceptor;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let told: Vec<String> = env::args().skip(1).collect();
    let [port, namenode, folder @ ..] = told.as_slice() else {
        return Err("usage: front PORT NAMENODE [FOLDER]".into());
    };
    let tls = match folder {
        [folder] => Some(TlsAcceptor::from(Arc::new(configure(Path::new(folder))?))),
        _ => None,
    };
    Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(serve(port.parse()?, namenode, tls))
}

async fn serve(port: u16, namenode: &str, tls: Option<TlsAcceptor>) -> Outcome<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    loop {
        let (client, _) = listener.accept().await?;
        let (namenode, tls) = (namenode.to_owned(), tls.clone());
        tokio::spawn(async move {
            client.set_nodelay(true)?;
            match tls {
                Some(tls) => pass(tls.accept(client).await?, &namenode).await,
                None => pass(client, &namenode).await,
            }
        });
    }
}

async fn pass(mut client: impl AsyncRead + AsyncWrite + Unpin, namenode: &str) -> std::io::Result<()> {
    let mut namenode = TcpStream::connect(namenode).await?;
    namenode.set_nodelay(true)?;
    copy_bidirectional(&mut client, &mut namenode).await?;
    Ok(())
}

fn configure(folder: &Path) -> Outcome<ServerConfig> {
    let certificates = |name: &str| -> Result<Vec<CertificateDer<'static>>, pem::Error> {
        CertificateDer::pem_file_iter(folder.join(name))?.collect()
    };
    let mut roots = RootCertStore::empty();
    for certificate in certificates("ca_chain.pem")? {
        roots.add(certificate)?;
    }
    let provider = Arc::new(ring::default_provider());
    let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build()?;
    let key = PrivateKeyDer::from_pem_file(folder.join("server_key.pem"))?;
    Ok(ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(clients)
        .with_single_cert(certificates("server_cert.pem")?, key)?)
}
