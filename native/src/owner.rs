//! Whose socket it is that connected: the tunnel serves its own process alone.

#[cfg(target_os = "linux")]
use std::fs;
use std::io;
#[cfg(target_os = "linux")]
use std::net::Ipv4Addr;
use std::net::SocketAddr;

/// Whether this process holds the other end of a connection from `peer` to `local`.
#[cfg(target_os = "linux")]
pub fn is_ours(peer: SocketAddr, local: SocketAddr) -> io::Result<bool> {
    let (SocketAddr::V4(peer), SocketAddr::V4(local)) = (peer, local) else {
        return Ok(false);
    };
    // A socket that speaks IPv6, as Java's do, reaches a listener on 127.0.0.1 under a mapped address.
    let tables = [("/proc/self/net/tcp", hex(*peer.ip()), hex(*local.ip())), {
        let mapped = |ip| format!("0000000000000000{:08X}{}", 0xffff_u32.to_be(), hex(ip));
        ("/proc/self/net/tcp6", mapped(*peer.ip()), mapped(*local.ip()))
    }];
    for (table, from, to) in tables {
        let text = match fs::read_to_string(table) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let from = format!("{from}:{:04X}", peer.port());
        let to = format!("{to}:{:04X}", local.port());
        if let Some(inode) = inode(&text, &from, &to) {
            return holds(inode);
        }
    }
    Ok(false)
}

/// Elsewhere than on Linux nothing tells whose a socket is, so none is served.
#[cfg(not(target_os = "linux"))]
pub fn is_ours(_peer: SocketAddr, _local: SocketAddr) -> io::Result<bool> {
    Ok(false)
}

/// The kernel prints an address as the number that its bytes are in memory.
#[cfg(target_os = "linux")]
fn hex(ip: Ipv4Addr) -> String {
    format!("{:08X}", u32::from_ne_bytes(ip.octets()))
}

#[cfg(target_os = "linux")]
fn inode<'a>(table: &'a str, from: &str, to: &str) -> Option<&'a str> {
    table.lines().skip(1).find_map(|line| {
        let mut columns = line.split_ascii_whitespace();
        (columns.nth(1) == Some(from) && columns.next() == Some(to)).then(|| columns.nth(6))?
    })
}

#[cfg(target_os = "linux")]
fn holds(inode: &str) -> io::Result<bool> {
    let wanted = format!("socket:[{inode}]");
    for entry in fs::read_dir("/proc/self/fd")? {
        // Another thread may have closed it since.
        if fs::read_link(entry?.path()).is_ok_and(|target| target.as_os_str() == wanted.as_str()) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_socket_of_this_process_is_ours() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, peer) = listener.accept().unwrap();
        assert!(is_ours(peer, server.local_addr().unwrap()).unwrap());
    }

    #[test]
    fn a_mapped_address_is_ours_too() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let address: SocketAddr = format!("[::ffff:127.0.0.1]:{port}").parse().unwrap();
        let _client = TcpStream::connect(address).unwrap();
        let (server, peer) = listener.accept().unwrap();
        assert!(is_ours(peer, server.local_addr().unwrap()).unwrap());
    }

    #[test]
    fn a_socket_of_another_process_is_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut other = Command::new("bash")
            .arg("-c")
            .arg(format!(
                "exec 3<>/dev/tcp/{}/{}; read -u 3",
                address.ip(),
                address.port()
            ))
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let (server, peer) = listener.accept().unwrap();
        assert!(!is_ours(peer, server.local_addr().unwrap()).unwrap());
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
