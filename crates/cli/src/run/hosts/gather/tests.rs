use super::super::message::Identity;
use super::*;
use std::io::Write;

const JOB: &str = "job";

fn socket(gather: &Gather) -> TcpStream {
    TcpStream::connect(("127.0.0.1", gather.port)).unwrap()
}

/// What a host says that has rank 7; the gatherer has believed it when this returns.
fn says(gather: &Gather, secret: &Secret, job: &str) -> io::Result<Sealed> {
    let mut host = Sealed::make(socket(gather), secret, Side::Host)?;
    let from = Identity { host: "n7".to_owned(), id: "n7".to_owned() };
    message::send(&mut host, &Message::Hello { job: job.to_owned(), from })?;
    loop {
        match message::receive(&mut host)? {
            Message::Time => message::send(&mut host, &Message::Clock(1))?,
            Message::Go => break,
            other => return Err(message::unexpected(&other)),
        }
    }
    message::send(&mut host, &Message::Alive(vec![7]))?;
    match message::receive(&mut host)? {
        Message::Go => Ok(host),
        other => Err(message::unexpected(&other)),
    }
}

#[test]
fn a_foreign_host_is_told_nothing_and_adds_nothing_to_the_report() {
    let gather = Gather::begin(JOB).unwrap();
    assert!(says(&gather, &Secret::new().unwrap(), JOB).is_err());
    // A host of another job that was given this key.
    assert!(says(&gather, &gather.secret, "another").is_err());
    // In the clear: what would be believed of a host that knows the key.
    let mut clear = socket(&gather);
    let hello = br#"{"hello":{"job":"job","from":{"host":"n8","id":"n8"}}}"#;
    clear
        .write_all(&[&u32::try_from(hello.len()).unwrap().to_be_bytes(), hello.as_slice()].concat())
        .unwrap();
    let mut answer = Vec::new();
    let _cut = clear.read_to_end(&mut answer);
    assert!(answer.is_empty(), "{answer:?}");
    assert!(gather.shared.hosts().is_empty());
    let host = says(&gather, &gather.secret, JOB).unwrap();
    assert_eq!(gather.shared.hosts().iter().map(|known| known.ranks.clone()).collect::<Vec<_>>(), [[7]]);
    drop(host);
    let heard = gather.finish();
    assert_eq!(heard.iter().map(|one| one.host.as_str()).collect::<Vec<_>>(), ["n7"]);
}

#[test]
fn strangers_that_say_nothing_or_little_keep_no_host_out() {
    let gather = Gather::begin(JOB).unwrap();
    let strangers: Vec<TcpStream> = (0..MOST_STRANGERS / 2).map(|_| socket(&gather)).collect();
    for mut stranger in &strangers {
        stranger.write_all(&[0]).unwrap();
    }
    drop(says(&gather, &gather.secret, JOB).unwrap());
    // None of them delays the report.
    assert_eq!(gather.finish().len(), 1);
    drop(strangers);
}
