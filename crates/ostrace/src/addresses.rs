//! Addresses of sockets as text that is the same in equal runs: without what the system chose.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::sync::OnceLock;
use timewise_target::socket::Socket;

/// Ports that the system gives to those who ask for none.
fn chosen_by_system() -> &'static RangeInclusive<u16> {
    static PORTS: OnceLock<RangeInclusive<u16>> = OnceLock::new();
    PORTS.get_or_init(|| {
        let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
        let mut ports = range.split_whitespace().filter_map(|port| port.parse().ok());
        match (ports.next(), ports.next()) {
            (Some(first), Some(last)) => first..=last,
            _ => 32768..=60999,
        }
    })
}

/// A socket's address, from the bytes that programs give: `socket 127.0.0.1:80`, `socket unix/PATH`.
pub fn of_bytes(bytes: &[u8]) -> Option<Vec<u8>> {
    let family = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
    Some(match i32::from(family) {
        libc::AF_INET => {
            let address: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
            internet(Ipv4Addr::from(address).into(), port(bytes)?)
        }
        libc::AF_INET6 => {
            let address: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
            internet(Ipv6Addr::from(address).into(), port(bytes)?)
        }
        libc::AF_UNIX => local(&bytes[2..]),
        other => family_of(other as u16),
    })
}

/// Of an address of the internet.
fn port(bytes: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?))
}

fn internet(address: IpAddr, port: u16) -> Vec<u8> {
    let address = match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    };
    match chosen_by_system().contains(&port) {
        true => format!("socket {address}").into_bytes(),
        false => format!("socket {address}:{port}").into_bytes(),
    }
}

/// A path, or a name that begins with a zero.
fn local(path: &[u8]) -> Vec<u8> {
    let mut name = b"socket unix".to_vec();
    match path.split_first() {
        None => {}
        // Five digits are what the system gives to those who ask for none.
        Some((0, chosen)) if chosen.len() == 5 && chosen.iter().all(u8::is_ascii_hexdigit) => {}
        Some((0, abstract_name)) => {
            name.extend(b"/@");
            name.extend(abstract_name.iter().filter(|byte| **byte != 0));
        }
        Some(_) => {
            name.push(b'/');
            let path = path.strip_prefix(b"/").unwrap_or(path);
            name.extend(path.iter().take_while(|byte| **byte != 0));
        }
    }
    name
}

fn family_of(family: u16) -> Vec<u8> {
    let name = match i32::from(family) {
        libc::AF_UNIX => "unix",
        libc::AF_INET => "inet",
        libc::AF_INET6 => "inet6",
        libc::AF_NETLINK => "netlink",
        libc::AF_PACKET => "packet",
        libc::AF_VSOCK => "vsock",
        libc::AF_ALG => "alg",
        other => return format!("socket of family {other}").into_bytes(),
    };
    format!("socket {name}").into_bytes()
}

/// Whether a socket that is connected to this address speaks to nobody from then on.
pub fn is_of_nobody(name: &[u8]) -> bool {
    name == family_of(libc::AF_UNSPEC as u16)
}

/// A socket that is to be made, of this family and type.
pub fn of_new(family: u64, kind: u64) -> Vec<u8> {
    let mut name = family_of(family as u16);
    /// The bits beside are flags (`SOCK_CLOEXEC` and `SOCK_NONBLOCK`).
    const TYPES: i32 = 0xf;
    name.extend(match kind as i32 & TYPES {
        libc::SOCK_STREAM => b" stream".as_slice(),
        libc::SOCK_DGRAM => b" datagram",
        libc::SOCK_RAW => b" raw",
        libc::SOCK_SEQPACKET => b" packets",
        _ => b"",
    });
    name
}

/// A socket by the address of whom it speaks to, or else by its own.
pub fn of_socket(socket: &Socket) -> Vec<u8> {
    let family = family_of(socket.family as u16);
    // Who accepts knows the other side by a port that the system chose: its own tells more.
    let tells = |address: &Vec<u8>| match socket.family {
        libc::AF_INET | libc::AF_INET6 => {
            port(address).is_some_and(|port| !chosen_by_system().contains(&port))
        }
        _ => true,
    };
    let named = [&socket.peer, &socket.own].map(|address| {
        let name = of_bytes(address).filter(|name| *name != family && !name.ends_with(b":0"));
        (tells(address), name)
    });
    let with_port = named.iter().filter(|(tells, _)| *tells).find_map(|(_, name)| name.clone());
    with_port.or_else(|| named.into_iter().find_map(|(_, name)| name)).unwrap_or(family)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inet(address: [u8; 4], port: u16) -> Vec<u8> {
        let mut bytes = (libc::AF_INET as u16).to_ne_bytes().to_vec();
        bytes.extend(port.to_be_bytes());
        bytes.extend(address);
        bytes.extend([0; 8]);
        bytes
    }

    fn text(name: Vec<u8>) -> String {
        String::from_utf8(name).unwrap()
    }

    #[test]
    fn what_the_system_chose_is_left_out() {
        let chosen = *chosen_by_system().start();
        let family = libc::AF_INET;
        let of =
            |peer: Vec<u8>, own: Vec<u8>| text(of_socket(&Socket { family, peer, own, ..Socket::default() }));
        let (served, asks) = (inet([127, 0, 0, 1], 80), inet([127, 0, 0, 2], chosen));
        assert_eq!(of(served.clone(), asks.clone()), "socket 127.0.0.1:80");
        assert_eq!(of(asks.clone(), served), "socket 127.0.0.1:80");
        assert_eq!(of(asks.clone(), asks), "socket 127.0.0.2");
        assert_eq!(of(Vec::new(), inet([0; 4], 0)), "socket inet");
        assert!(is_of_nobody(&of_bytes(&[0; 16]).unwrap()) && !is_of_nobody(b"socket 127.0.0.1:80"));
    }

    #[test]
    fn local_sockets_have_paths() {
        let of = |path: &[u8]| {
            let bytes = [&(libc::AF_UNIX as u16).to_ne_bytes()[..], path].concat();
            text(of_bytes(&bytes).unwrap())
        };
        assert_eq!(of(b"/run/a\0rest"), "socket unix/run/a");
        assert_eq!(of(b"\0name"), "socket unix/@name");
        assert_eq!([of(b"\x000f3a1"), of(b"")], ["socket unix", "socket unix"]);
        assert_eq!(of_bytes(&[1]), None);
    }

    #[test]
    fn new_ones_tell_their_type() {
        let stream = (libc::SOCK_STREAM | libc::SOCK_CLOEXEC) as u64;
        assert_eq!(text(of_new(libc::AF_INET6 as u64, stream)), "socket inet6 stream");
        assert_eq!(text(of_new(99, 0)), "socket of family 99");
    }
}
