//! The lane between two threads of one process, with values that own memory: for the thread sanitizer, which sees every
//! handover (`.ci/run tsan`). The code runs unchanged: each pair of orderings is a store and a load of the same word.

use crate::fabric::SlotMemory;
use crate::lane::catch;
use crate::lane::client::Client;
use crate::lane::error::DelegationError;
use crate::lane::operation::Delegated;
use crate::lane::property::Properties;
use crate::lane::server::Server;
use std::cell::Cell;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;

/// What the trustee holds: everything that it was told, and whether it is to end.
#[derive(Default)]
struct Texts(Vec<String>, Rc<Cell<bool>>);

type Large = ([u64; 40], String);

const REQUESTS: usize = 20_000;

fn trustee(mut server: Server<Arc<SlotMemory>>) {
    let (properties, ended) = (Properties::new(), Rc::new(Cell::new(false)));
    let texts = Texts(Vec::new(), Rc::clone(&ended));
    assert_eq!(properties.insert(texts), 1, "the client counts on it");
    while !ended.get() {
        if !server.serve(&properties, 0) {
            thread::yield_now();
        }
    }
}

fn make_room(client: &Client<Arc<SlotMemory>>, fits: impl Fn() -> bool) {
    while !fits() {
        if client.has_free_slot() {
            client.make_room();
        } else if !client.take_responses() {
            thread::yield_now();
        }
    }
}

/// Sends one request; its answer has to have this length.
fn push<C: 'static, U: 'static, F>(
    client: &Client<Arc<SlotMemory>>,
    closure: F,
    arguments: C,
    then: impl FnOnce(Result<U, DelegationError>) + 'static,
) where
    F: FnOnce(&mut Texts, C) -> U,
{
    let delegated = Delegated::of::<F, F>(closure);
    make_room(client, || client.fits(delegated.operation()));
    // SAFETY: it fits; the property at index 1 is the trustee's, which outlives all requests.
    unsafe { client.push(delegated, 1, arguments, then) };
}

#[test]
fn what_two_threads_hand_each_other_is_handed_over_whole() {
    catch::install_hook();
    let (requests, responses) = (SlotMemory::new(), SlotMemory::new());
    // The last handles are dropped after the trustee has ended: how an `Arc` counts is not part of this test.
    let _kept = (Arc::clone(&requests), Arc::clone(&responses));
    let server = Server::new(Arc::clone(&requests), Arc::clone(&responses));
    let serving = thread::spawn(move || trustee(server));
    let (client, answers) = (Client::new(requests, responses), Rc::new(Cell::new(0)));
    for number in 0..REQUESTS {
        let counted = Rc::clone(&answers);
        let answered = move |length: Result<usize, DelegationError>| {
            counted.set(counted.get() + usize::from(length.is_ok_and(|length| length == number)));
        };
        let text = "x".repeat(number % 100);
        match number % 5 {
            4 => {
                let (count, here) = (3, Location::caller());
                let delegated = Delegated::in_runs::<(), _>(|texts: &mut Texts, text: String| {
                    texts.0.push(text);
                    texts.0.pop();
                });
                for _ in 0..count {
                    // SAFETY: the property at index 1 is the trustee's, which outlives all requests.
                    let Err(text) = (unsafe { client.continue_run(delegated, 1, text.clone(), here) }) else {
                        continue;
                    };
                    make_room(&client, || client.fits_run(delegated.operation()));
                    // SAFETY: as above, and it fits.
                    unsafe { client.begin_run(delegated, 1, text, here) };
                }
                answers.set(answers.get() + 1);
            }
            0 => push(
                &client,
                |texts: &mut Texts, (text, number): (String, usize)| {
                    texts.0.push(text);
                    number
                },
                (text, number),
                answered,
            ),
            1 => push(
                &client,
                |texts: &mut Texts, (numbers, text): Large| {
                    texts.0.push(text);
                    numbers[39] as usize
                },
                ([number as u64; 40], text),
                answered,
            ),
            2 => push(
                &client,
                |texts: &mut Texts, number: usize| (texts.0.pop().unwrap_or_default(), number),
                number,
                move |answer: Result<(String, usize), DelegationError>| {
                    answered(answer.map(|(text, number)| {
                        drop(text);
                        number
                    }));
                },
            ),
            _ => push(
                &client,
                |_: &mut Texts, _held: String| -> usize { panic!("expected in the output of this test") },
                text,
                move |answer: Result<usize, DelegationError>| answered(answer.or(Ok(number))),
            ),
        }
    }
    push(&client, |texts: &mut Texts, ()| texts.1.set(true), (), |ended| ended.unwrap());
    while client.outstanding() > 0 {
        client.publish();
        if !client.take_responses() {
            thread::yield_now();
        }
    }
    serving.join().unwrap();
    assert_eq!(answers.get(), REQUESTS);
}
