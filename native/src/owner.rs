//! Whose socket it is that connected: the tunnel serves its own process alone.

#[cfg(target_os = "linux")]
use std::fs;
use std::io;
#[cfg(target_os = "linux")]
use std::io::{Read, Write};
use std::net::SocketAddr;
#[cfg(target_os = "linux")]
use std::net::{Ipv4Addr, SocketAddrV4};
#[cfg(target_os = "linux")]
use std::time::Duration;

#[cfg(target_os = "linux")]
use socket2::{Domain, Protocol, Socket, Type};

/// Whether this process holds the other end of a connection from `peer` to `local`.
#[cfg(target_os = "linux")]
pub fn is_ours(peer: SocketAddr, local: SocketAddr) -> io::Result<bool> {
    let (SocketAddr::V4(peer), SocketAddr::V4(local)) = (peer, local) else {
        return Ok(false);
    };
    let inode = match diagnosed(peer, local) {
        Ok(inode) => Some(inode),
        // The kernel says the same of a socket that is gone as of a question that it does not take. Our listener is
        // there.
        Err(_) if diagnosed(local, SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0)).is_ok() => None,
        // The tables of /proc say it too, and take milliseconds.
        Err(_) => listed(peer, local)?,
    };
    match inode {
        None | Some(OF_NOBODY) => Ok(false),
        Some(inode) => holds(inode),
    }
}

/// What a socket has that was closed.
#[cfg(target_os = "linux")]
const OF_NOBODY: u32 = 0;

/// The inode of the socket at `own` that is connected to `other`, by sock_diag(7).
#[cfg(target_os = "linux")]
fn diagnosed(own: SocketAddrV4, other: SocketAddrV4) -> io::Result<u32> {
    const NETLINK_SOCK_DIAG: i32 = 4;
    const SOCK_DIAG_BY_FAMILY: u16 = 20;
    const NLM_F_REQUEST: u16 = 1;
    const REQUEST_BYTES: u32 = 72;
    const ANSWER: Duration = Duration::from_secs(1);
    /// After the header: family and state, the addresses, two queues, a timer, and a user.
    const INODE: std::ops::Range<usize> = 84..88;

    let ends = [own, other];
    let mut request = Vec::with_capacity(REQUEST_BYTES as usize);
    request.extend(REQUEST_BYTES.to_ne_bytes());
    request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request.extend(NLM_F_REQUEST.to_ne_bytes());
    request.extend([0; 8]);
    request.extend([libc::AF_INET as u8, libc::IPPROTO_TCP as u8, 0, 0]);
    request.extend(u32::MAX.to_ne_bytes()); // in whatever state
    request.extend(ends.iter().flat_map(|end| end.port().to_be_bytes()));
    for end in ends {
        request.extend(end.ip().octets());
        request.extend([0; 12]); // room for IPv6
    }
    request.extend([0; 4]); // over whatever interface
    request.extend([0xff; 8]);
    debug_assert_eq!(request.len(), REQUEST_BYTES as usize);

    let mut kernel = Socket::new(
        Domain::from(libc::AF_NETLINK),
        Type::DGRAM,
        Some(Protocol::from(NETLINK_SOCK_DIAG)),
    )?;
    kernel.set_read_timeout(Some(ANSWER))?;
    kernel.write_all(&request)?;
    let mut answer = [0; 512];
    let length = kernel.read(&mut answer)?;
    let kind = u16::from_ne_bytes([answer[4], answer[5]]);
    match answer[..length].get(INODE) {
        Some(inode) if kind == SOCK_DIAG_BY_FAMILY => Ok(u32::from_ne_bytes(inode.try_into().unwrap())),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

/// The same, by the tables of all sockets.
#[cfg(target_os = "linux")]
fn listed(own: SocketAddrV4, other: SocketAddrV4) -> io::Result<Option<u32>> {
    // A socket that speaks IPv6, as Java's do, reaches a listener on 127.0.0.1 under a mapped address.
    let tables = [("/proc/self/net/tcp", hex(*own.ip()), hex(*other.ip())), {
        let mapped = |ip| format!("0000000000000000{:08X}{}", 0xffff_u32.to_be(), hex(ip));
        ("/proc/self/net/tcp6", mapped(*own.ip()), mapped(*other.ip()))
    }];
    for (table, from, to) in tables {
        let text = match fs::read_to_string(table) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let from = format!("{from}:{:04X}", own.port());
        let to = format!("{to}:{:04X}", other.port());
        if let Some(inode) = inode(&text, &from, &to) {
            return Ok(Some(inode));
        }
    }
    Ok(None)
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
fn inode(table: &str, from: &str, to: &str) -> Option<u32> {
    table.lines().skip(1).find_map(|line| {
        let mut columns = line.split_ascii_whitespace();
        (columns.nth(1) == Some(from) && columns.next() == Some(to)).then(|| columns.nth(6)?.parse().ok())?
    })
}

#[cfg(target_os = "linux")]
fn holds(inode: u32) -> io::Result<bool> {
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
    fn both_ways_find_the_same_socket() {
        for address in ["127.0.0.1", "[::ffff:127.0.0.1]"] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            let _client = TcpStream::connect(format!("{address}:{port}")).unwrap();
            let (server, peer) = listener.accept().unwrap();
            let (SocketAddr::V4(own), SocketAddr::V4(other)) = (peer, server.local_addr().unwrap()) else {
                panic!("{peer}");
            };
            assert_eq!(Some(diagnosed(own, other).unwrap()), listed(own, other).unwrap());
        }
    }

    #[test]
    fn a_socket_that_is_gone_is_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap();
        let SocketAddr::V4(listening) = own else {
            panic!("{own}")
        };
        assert!(diagnosed(listening, SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0)).is_ok());
        let client = TcpStream::connect(own).unwrap();
        let (server, peer) = listener.accept().unwrap();
        drop(client);
        assert!(!is_ours(peer, own).unwrap());
        drop(server);
        assert!(!is_ours(peer, own).unwrap());
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
