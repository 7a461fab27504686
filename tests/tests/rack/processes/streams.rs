//! Channels between two nodes, one of which cannot open its end.

use super::{start, wait};
use gossamer::FabricChoice::{Shm, Tcp};
use integration_tests::watched;

#[test]
fn an_end_that_cannot_be_opened_ends_the_wait_of_the_other_with_both_places() {
    watched(|| {
        for fabric in [Shm, Tcp] {
            let ended = wait(&mut start("no descriptors", 2, fabric));
            let said = &ended[0].output;
            assert!(ended.iter().all(|node| node.status.success()), "{said}{}", ended[0].errors);
            let senders: Vec<&str> = said.lines().filter(|line| line.starts_with("sender: ")).collect();
            assert_eq!(senders.len(), 2, "{said}");
            for line in senders {
                assert!(line.contains("the receiver of this channel could not be opened at "), "{said}");
                assert!(line.contains("Too many open files"), "{said}");
                assert_eq!(line.matches("rack_program.rs:").count(), 2, "{said}");
                assert!(line.contains(", worker 2: ") && line.ends_with(", worker 0"), "{said}");
            }
            let receivers: Vec<&str> = said.lines().filter(|line| line.starts_with("receiver: ")).collect();
            assert_eq!(receivers.len(), 2, "{said}");
            assert!(receivers.iter().all(|line| line.contains("listening at ")), "{said}");
        }
    });
}
