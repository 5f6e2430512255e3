//! SBX-7: a child uses a secret that it never sees.
#![allow(clippy::disallowed_methods, reason = "tests touch the world")]

mod support;

use host_sandbox::{Broker, BrokeredSecret, EgressDecision, EgressLog, HostList, Network, Roots};
use host_vocab::Secret;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::Agent;

const SECRET: &str = "sk-real-value-0123456789";

/// A host that tells what it was told, in the answer and here.
struct Echo {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
    roots: Vec<u8>,
}

impl Echo {
    /// A host over TLS whose certificate is for a name.
    fn tls(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::<String>::new()).expect("params");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer =
            CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("issued");
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("params");
        let certificate = params.signed_by(&key, &issuer).expect("signed");
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("a pair");
        let config = Arc::new(config);
        let mut echo = Self::serve(move |stream, heard| {
            let connection = ServerConnection::new(Arc::clone(&config)).expect("a connection");
            let mut stream = StreamOwned::new(connection, stream);
            answer(&mut stream, heard);
            stream.conn.send_close_notify();
            let _ = stream.flush();
        });
        echo.roots = issuer.pem().into_bytes();
        echo
    }

    fn plain() -> Self {
        Self::serve(|mut stream, heard| answer(&mut stream, heard))
    }

    fn serve(each: impl Fn(std::net::TcpStream, &Mutex<Vec<String>>) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let port = listener.local_addr().expect("it").port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (told, each) = (Arc::clone(&heard), Arc::new(each));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (told, each) = (Arc::clone(&told), Arc::clone(&each));
                let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
                std::thread::spawn(move || each(stream, &told));
            }
        });
        Echo { port, heard, roots: Vec::new() }
    }

    fn heard(&self) -> String {
        self.heard.lock().expect("free").join("\n---\n")
    }
}

/// Reads a request, body and all, and repeats it.
fn answer(stream: &mut (impl Read + Write), heard: &Mutex<Vec<String>>) {
    let (mut text, mut byte) = (Vec::new(), [0; 1]);
    while !text.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => text.push(byte[0]),
            _ => return,
        }
    }
    let head = String::from_utf8_lossy(&text).into_owned();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    let _ = stream.read_exact(&mut body);
    text.extend_from_slice(&body);
    if head.contains("transfer-encoding: chunked") {
        while !text.ends_with(b"0\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
            text.push(byte[0]);
        }
    }
    heard.lock().expect("free").push(String::from_utf8_lossy(&text).into_owned());
    let head = format!("HTTP/1.1 200 OK\r\nX-Echo: {SECRET}\r\nContent-Length: {}\r\n\r\n", text.len());
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&text));
    let _ = stream.flush();
}

#[derive(Default)]
struct Told(Mutex<Vec<(&'static str, bool, String)>>);
impl EgressLog for Told {
    fn decided(&self, decision: &EgressDecision) {
        self.0.lock().expect("free").push((decision.protocol, decision.allowed, decision.why.clone()));
    }
}

fn agent(echo: &Echo, allowed: &[&str], told: &Arc<Told>) -> Agent {
    let (list, log) = (HostList::parse(allowed).expect("hosts"), Arc::clone(told));
    Agent::build(
        |policy| policy.network = Network::Allowlist(list),
        |setup| {
            setup.egress = log;
            setup.broker = Broker {
                secrets: vec![BrokeredSecret {
                    env: "API_TOKEN".to_owned(),
                    value: Secret::new(SECRET),
                    hosts: HostList::parse(&["localhost"]).expect("hosts"),
                    headers: vec!["Authorization".to_owned(), "x-api-key".to_owned()],
                }],
                roots: Roots::Pem(echo.roots.clone()),
            };
        },
    )
}

// SBX-7: the value goes into the named headers alone, and comes back in none of the answer.
#[tokio::test]
async fn a_host_gets_the_secret_and_the_child_does_not() {
    let (echo, told) = (Echo::tls("localhost"), Arc::new(Told::default()));
    let agent = agent(&echo, &["localhost"], &told);
    let url = format!("https://localhost:{}/p?q=$API_TOKEN", echo.port);
    let outcome = agent
        .bash(&format!(
            "echo env $API_TOKEN; curl -sS -i -m 20 -H \"Authorization: Bearer $API_TOKEN\" -H \"X-Api-Key: $API_TOKEN\" \
             -H \"X-Other: $API_TOKEN\" -d \"body=$API_TOKEN\" \"{url}\" 2>&1"
        ))
        .await;
    let heard = echo.heard();
    assert!(heard.contains(&format!("authorization: Bearer {SECRET}\r\n")), "{heard}\n{}", outcome.stdout);
    assert!(heard.contains(&format!("x-api-key: {SECRET}\r\n")), "{heard}");
    assert_eq!(heard.matches(SECRET).count(), 2, "in the path, in another header or in the body: {heard}");
    assert!(heard.contains("x-other: placeholder-") && heard.contains("body=placeholder-"), "{heard}");
    assert!(outcome.stdout.starts_with("env placeholder-"), "{}", outcome.stdout);
    assert!(!outcome.stdout.contains(SECRET), "{}", outcome.stdout);
    assert!(
        outcome.stdout.contains("Bearer ****") && outcome.stdout.contains("X-Echo: ****"),
        "{}",
        outcome.stdout
    );
    let told = told.0.lock().expect("free").clone();
    let used = told.iter().filter(|(protocol, allowed, _)| *protocol == "broker" && *allowed).count();
    assert_eq!(used, 2, "{told:?}");
    assert!(!format!("{told:?}").contains(SECRET));
}

// SBX-7: as Basic credentials, with a chunked body, and for a client that waits before its body.
#[tokio::test]
async fn other_ways_to_ask_work_too() {
    let (echo, told) = (Echo::tls("localhost"), Arc::new(Told::default()));
    let agent = agent(&echo, &["localhost"], &told);
    let url = format!("https://localhost:{}/", echo.port);
    let outcome = agent
        .bash(&format!(
            "curl -sS -m 20 -u \"me:$API_TOKEN\" {url} >one 2>&1; \
             printf hello | curl -sS -m 20 -H 'Transfer-Encoding: chunked' -H \"X-Api-Key: $API_TOKEN\" --data-binary @- {url} >two 2>&1; \
             head -c 5000 /dev/zero | tr '\\0' x | curl -sS -m 20 -H 'Expect: 100-continue' -H \"X-Api-Key: $API_TOKEN\" --data-binary @- {url} >three 2>&1; \
             python3 -c \"import os,urllib.request as u; print(u.urlopen(u.Request('{url}', headers={{'X-Api-Key': os.environ['API_TOKEN']}})).status)\" 2>&1; \
             curl -sS -m 20 --proxy $ALL_PROXY -H \"X-Api-Key: $API_TOKEN\" {url} 2>&1 | grep -c 'x-api-key: [*]'; cat one two three | grep -c {SECRET}"
        ))
        .await;
    assert_eq!(outcome.stdout, "200\n1\n0\n", "{} {}", outcome.stdout, outcome.stderr);
    let heard = echo.heard();
    // me:sk-real-value-0123456789
    assert!(heard.contains("authorization: Basic bWU6c2stcmVhbC12YWx1ZS0wMTIzNDU2Nzg5\r\n"), "{heard}");
    assert!(heard.contains("\r\n5\r\nhello\r\n0\r\n\r\n") && heard.contains(&"x".repeat(5000)), "{heard}");
    assert_eq!(heard.matches(&format!("x-api-key: {SECRET}")).count(), 4, "{heard}");
}

// SBX-7: SNI and Host must be the host that was connected to.
#[tokio::test]
async fn another_name_inside_the_connection_is_refused() {
    let (echo, told) = (Echo::tls("localhost"), Arc::new(Told::default()));
    let agent = agent(&echo, &["localhost"], &told);
    let port = echo.port;
    let key = "-H \"X-Api-Key: $API_TOKEN\"";
    let outcome = agent
        .bash(&format!(
            "curl -sS -m 20 {key} -H 'Host: evil.test' https://localhost:{port}/ 2>&1; \
             curl -sS -m 20 {key} -H 'Host: localhost:1' https://localhost:{port}/ 2>&1; \
             echo | timeout 10 openssl s_client -proxy 127.0.0.1:3128 -connect localhost:{port} -servername evil.test 2>&1 | grep -c 'BEGIN CERT'; \
             printf 'GET / HTTP/1.1\\r\\nHost: localhost\\r\\nX-Api-Key: %s\\r\\nContent-Length: 3\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n' \"$API_TOKEN\" \
             | timeout 10 openssl s_client -quiet -proxy 127.0.0.1:3128 -connect localhost:{port} -servername localhost 2>/dev/null | head -1"
        ))
        .await;
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{}", outcome.stdout);
    assert!(lines[0].contains("Host header") && lines[1].contains("Host header"), "{}", outcome.stdout);
    assert_eq!(lines[2], "0", "{}", outcome.stdout);
    assert!(lines[3].contains("400"), "{}", outcome.stdout);
    assert_eq!(echo.heard(), "", "something went on");
}

// SBX-7: a host that can't show who it is gets nothing.
#[tokio::test]
async fn a_host_with_another_name_gets_no_secret() {
    let (echo, told) = (Echo::tls("other.test"), Arc::new(Told::default()));
    let agent = agent(&echo, &["localhost"], &told);
    let outcome = agent
        .bash(&format!(
            "curl -k -sS -m 20 -H \"X-Api-Key: $API_TOKEN\" https://localhost:{}/ 2>&1",
            echo.port
        ))
        .await;
    assert!(outcome.stdout.contains("could not show that it is localhost"), "{}", outcome.stdout);
    assert_eq!(echo.heard(), "");
}

// SBX-7: other hosts are not looked into, and get the placeholder.
#[tokio::test]
async fn other_hosts_are_left_alone() {
    let (echo, told) = (Echo::tls("127.0.0.1"), Arc::new(Told::default()));
    let agent = agent(&echo, &["localhost", "127.0.0.1"], &told);
    let url = format!("https://127.0.0.1:{}/", echo.port);
    let outcome = agent
        .bash(&format!(
            "curl -sS -m 20 {url} >/dev/null 2>&1 && echo believed; curl -k -sS -m 20 -H \"X-Api-Key: $API_TOKEN\" {url} >/dev/null 2>&1; echo end"
        ))
        .await;
    // Its certificate is its own, which the child doesn't know.
    assert_eq!(outcome.stdout, "end\n");
    let heard = echo.heard().to_lowercase();
    assert!(heard.contains("x-api-key: placeholder-") && !heard.contains(SECRET), "{heard}");
}

// SBX-7: without TLS a secret goes to the machine's own loopback alone.
#[tokio::test]
async fn a_service_of_this_machine_needs_no_tls() {
    let (echo, told) = (Echo::plain(), Arc::new(Told::default()));
    let agent = agent(&echo, &["localhost"], &told);
    let url = format!("http://localhost:{}/", echo.port);
    let outcome =
        agent.bash(&format!("curl -sS -m 20 -H \"X-Api-Key: $API_TOKEN\" {url} 2>&1 | grep x-api-key")).await;
    assert!(echo.heard().contains(&format!("x-api-key: {SECRET}\r\n")), "{}", outcome.stdout);
    assert!(outcome.stdout.starts_with("x-api-key: ****"), "{}", outcome.stdout);
}

// SBX-7: a run keeps its placeholder over its calls; another run has another; without a proxy there is none.
#[tokio::test]
async fn placeholders_are_a_runs_own() {
    let (echo, told) = (Echo::plain(), Arc::new(Told::default()));
    let agent = agent(&echo, &["localhost"], &told);
    let mut first = agent.spec(&["/bin/sh", "-c", "echo $API_TOKEN $SSL_CERT_FILE"]);
    first.env.insert("API_TOKEN".to_owned(), SECRET.to_owned());
    let mut second = agent.spec(&["/bin/sh", "-c", "echo $API_TOKEN $SSL_CERT_FILE"]);
    second.run = first.run.clone();
    let other = agent.sh("echo $API_TOKEN $SSL_CERT_FILE").await.stdout;
    let status = agent.sandbox().status().await;
    assert_eq!(status.credentials, ["API_TOKEN to localhost in Authorization, x-api-key"], "{status}");
    let (first, second) = (agent.run(first).await.stdout, agent.run(second).await.stdout);
    assert!(first.starts_with("placeholder-"), "a passed variable gives the value away: {first}");
    assert_eq!(first, second);
    assert_ne!(first, other);
    let none = Agent::build(
        |_| {},
        |setup| {
            setup.broker.secrets = vec![BrokeredSecret {
                env: "API_TOKEN".to_owned(),
                value: Secret::new(SECRET),
                hosts: HostList::parse(&["localhost"]).expect("hosts"),
                headers: vec!["x-api-key".to_owned()],
            }];
        },
    );
    assert_eq!(none.sh("echo $API_TOKEN").await.stdout, "\n");
    assert!(none.sandbox().status().await.credentials.is_empty());
}
