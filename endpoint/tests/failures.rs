//! Tests that jobs which cannot work are refused with the reason, and that no role waits forever.

mod common;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};

use common::{Role, failure, fresh_address, job, scratch, seeded, start_client, start_server};
use serde_json::{Value, json};

const PORT: u16 = 4433;

/// Size of the content in bytes: more than the relays below pass on.
const SIZE_BYTES: u64 = 50_000_000;

#[test]
fn certificate_of_another_server_is_refused() {
    for transport in ["tls", "quic"] {
        let job = job(transport, "down", seeded(1000), true);
        let address = fresh_address();
        let (server, _) = start_server(&job, address);
        let (_other, certificate) = start_server(&job, fresh_address());
        let message = failure(start_client(&job, address, &certificate), "client");
        assert!(message.contains("certificate"), "{transport}: {message}");
        failure(server, "server");
    }
}

#[test]
fn server_that_goes_away_fails_the_client_of_tcp_and_tls() {
    for (transport, direction) in [("tcp", "down"), ("tcp", "up"), ("tls", "down"), ("tls", "up")] {
        for verify in [true, false] {
            let job = job(transport, direction, seeded(SIZE_BYTES), verify);
            let (_server, certificate) = start_server_behind(relay_tcp, &job);
            let relay = certificate.1;
            let message = failure(start_client(&job, relay, &certificate.0), "client");
            assert!(message.contains("the content") || message.contains("confirmation"), "{transport}: {message}");
        }
    }
}

#[test]
fn server_that_goes_silent_is_given_up_by_the_client_of_quic() {
    for direction in ["down", "up"] {
        let mut job = job("quic", direction, seeded(SIZE_BYTES), true);
        job["limits"]["virtual_ns"] = json!(1_000_000_000);
        let (_server, certificate) = start_server_behind(relay_udp, &job);
        let (records, last) = start_client(&job, certificate.1, &certificate.0).finish();
        assert_eq!(last["message"], "done", "{direction}: {last}");
        let given_up = records.iter().find(|record| record["record"] == "gave_up");
        let given_up = given_up.unwrap_or_else(|| panic!("{direction}: {records:?}"));
        assert_eq!(given_up["side"], "client", "{direction}");
        let cause = given_up["cause"].as_str().unwrap();
        assert!(cause.contains("the content") && cause.contains("timed out"), "{direction}: {cause}");
    }
}

#[test]
fn client_that_goes_away_fails_the_server() {
    for transport in ["tcp", "tls"] {
        let job = job(transport, "down", seeded(1000), true);
        let address = fresh_address();
        let (server, _) = start_server(&job, address);
        drop(TcpStream::connect((address, PORT)).unwrap());
        let message = failure(server, "server");
        assert!(message.contains("request") || message.contains("handshake"), "{transport}: {message}");
    }
}

#[test]
fn nobody_listening_fails_the_client() {
    let job = job("tcp", "down", seeded(1000), true);
    let address = fresh_address();
    let message = failure(start_client(&job, address, &Value::Null), "client");
    assert!(message.contains(&address.to_string()) && message.contains("refused"), "{message}");
}

#[test]
fn unknown_congestion_control_is_refused_with_those_available() {
    for transport in ["tcp", "tls", "quic"] {
        let mut job = job(transport, "down", seeded(1000), true);
        job["workloads"][0]["transport"]["congestion"] = json!("nosuch");
        let mut server = Role::start("server", &job, fresh_address());
        server.begin(&Value::Null);
        let message = failure(server, "server");
        assert!(message.contains("nosuch") && message.contains("cubic"), "{transport}: {message}");
    }
}

#[test]
fn a_file_that_changed_is_refused() {
    let path = scratch("content");
    fs::write(&path, b"four").unwrap();
    let job = job("tcp", "down", json!({"kind": "file", "path": path, "size_bytes": 5}), true);
    let address = fresh_address();
    let (server, _) = start_server(&job, address);
    let client = start_client(&job, address, &Value::Null);
    let message = failure(server, "server");
    assert!(message.contains("has 4 bytes, but had 5"), "{message}");
    failure(client, "client");
}

#[test]
fn server_with_another_job_refuses_the_client() {
    let address = fresh_address();
    let (server, _) = start_server(&job("tcp", "down", seeded(1000), true), address);
    let client = start_client(&job("tcp", "down", seeded(1001), true), address, &Value::Null);
    let message = failure(server, "server");
    assert!(message.contains("1001") && message.contains("1000"), "{message}");
    failure(client, "client");
}

#[test]
fn server_without_clients_ends_when_its_orders_do() {
    let (mut server, _) = start_server(&job("quic", "down", seeded(1000), true), fresh_address());
    server.close_orders();
    let (records, last) = server.finish();
    // Outside of a guest a role records its CPU time, whatever it did.
    assert!(records.iter().all(|record| record["record"] == "usage"), "{records:?}");
    assert_eq!(last["message"], "done");
}

/// Starts a server behind a relay that breaks the connection. Returns the server, its certificate, and the relay's
/// address.
fn start_server_behind(relay: fn(SocketAddr, SocketAddr), job: &Value) -> (Role, (Value, IpAddr)) {
    let (address, front) = (fresh_address(), fresh_address());
    let (server, certificate) = start_server(job, address);
    relay(SocketAddr::new(front, PORT), SocketAddr::new(address, PORT));
    (server, (certificate, front))
}

/// Relays one connection, and cuts it after a million bytes in either direction.
fn relay_tcp(front: SocketAddr, server: SocketAddr) {
    let listener = TcpListener::bind(front).unwrap();
    std::thread::spawn(move || {
        let (client, _) = listener.accept().unwrap();
        let server = TcpStream::connect(server).unwrap();
        let ends = [client.try_clone().unwrap(), server.try_clone().unwrap()];
        let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let up = std::thread::spawn(move || copy_some(&from, &to));
        let down = std::thread::spawn(move || copy_some(&server, &client));
        while !up.is_finished() && !down.is_finished() {
            std::thread::yield_now();
        }
        ends.iter().for_each(|end| drop(end.shutdown(Shutdown::Both)));
    });
}

fn copy_some(mut from: &TcpStream, mut to: &TcpStream) {
    let mut buffer = [0; 10_000];
    let mut left_bytes = 1_000_000;
    while left_bytes > 0 {
        let Ok(length @ 1..) = from.read(&mut buffer) else { return };
        if to.write_all(&buffer[..length]).is_err() {
            return;
        }
        left_bytes -= length.min(left_bytes);
    }
}

/// Relays a hundred datagrams from the client, and the server's answers to them, then nothing more.
fn relay_udp(front: SocketAddr, server: SocketAddr) {
    let front = UdpSocket::bind(front).unwrap();
    std::thread::spawn(move || {
        let back = UdpSocket::bind("127.0.0.1:0").unwrap();
        back.connect(server).unwrap();
        let (answers, to_client) = (back.try_clone().unwrap(), front.try_clone().unwrap());
        let mut buffer = [0; 65_536];
        let (mut length, client) = front.recv_from(&mut buffer).unwrap();
        std::thread::spawn(move || {
            let mut buffer = [0; 65_536];
            for _ in 0..100 {
                let length = answers.recv(&mut buffer).unwrap();
                to_client.send_to(&buffer[..length], client).unwrap();
            }
        });
        for _ in 0..100 {
            back.send(&buffer[..length]).unwrap();
            length = front.recv(&mut buffer).unwrap();
        }
    });
}
