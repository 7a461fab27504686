//! What is said of fibers whose calls are made by code of the standard library: no line of that.

use crate::inspected::{beside, fibers};
use gossamer::inspect::FiberGroup;
use gossamer::net::{TcpListener, TcpStream};
use gossamer::spawn_local;
use std::io::{BufRead, BufReader, Read};

#[test]
fn a_call_that_std_makes_is_told_without_a_line_and_one_of_the_program_with_its_own() {
    let begin = line!();
    let body = || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let connect = || (TcpStream::connect(listener.local_addr().unwrap()).unwrap(), listener.accept());
        let ((by_lines, _peer), (mut by_bytes, _other_peer)) = (connect(), connect());
        let (lines, bytes) = (
            spawn_local(move || _ = BufReader::new(&by_lines).read_line(&mut String::new())),
            spawn_local(move || _ = by_bytes.read(&mut [0])),
        );
        lines.join();
        bytes.join();
    };
    beside(body, move || {
        let place = |line| format!("through_std.rs:{line}:");
        let place_of_call = |line| {
            let is_meant = |group: &FiberGroup| {
                let reads = group.wait.as_ref().is_some_and(|wait| wait.call == "TcpStream::read");
                reads && group.spawned_at.contains(&place(line))
            };
            fibers(is_meant).wait.unwrap().at
        };
        assert_eq!(place_of_call(begin + 6), None);
        let directly = place_of_call(begin + 7).unwrap();
        assert!(directly.contains(&place(begin + 7)), "{directly}");
    });
}
