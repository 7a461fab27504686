//! What holds inside a process holds between nodes. The nodes of these tests are in one process, but share nothing that
//! processes would not share.

use gossamer::{Latch, NoRef, Reason, Sharded, Trust, Trustee, entrust, spawn_on, spawn_on_with, spawn_with};
use integration_tests::{far, on_nodes, panic_text, wait_until};
use std::collections::HashMap;
use std::net::UdpSocket;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[gossamer::delegate]
#[test]
fn plain_data_text_and_collections_go_there_and_back() {
    on_nodes(2, 1, || {
        let map = far().entrust(HashMap::<String, Vec<u64>>::new());
        for number in 0..1000_u64 {
            let (key, values) = (format!("key {}", number % 7), vec![number; 3]);
            map.apply_with(|map, (key, values)| map.entry(key).or_default().extend(values), (key, values));
        }
        let lengths = map.apply(|map| {
            let mut lengths: Vec<(String, usize)> = map.iter().map(|(k, v)| (k.clone(), v.len())).collect();
            lengths.sort();
            lengths
        });
        assert_eq!(lengths.len(), 7);
        assert_eq!(lengths.iter().map(|(_, length)| length).sum::<usize>(), 3000);
        let (tuple, sign) = map.apply_with(|_, values: (u8, i64, [u16; 3])| (values, -1_i8), (1, -2, [3; 3]));
        assert_eq!((tuple, sign), ((1, -2, [3; 3]), -1));
    });
}

#[gossamer::delegate]
#[test]
fn values_of_every_size_survive_in_both_directions() {
    on_nodes(2, 1, || {
        let echo = far().entrust(0_u64);
        for size in [0, 1, 7, 8, 9, 63, 64, 127, 128, 129, 900, 992, 1000, 1001, 1024, 5000, 70_000, 3 << 20]
        {
            let bytes: Vec<u8> = (0..size).map(|index| index as u8).collect();
            let back = echo.apply_with(|_, bytes| bytes, bytes.clone());
            assert!(back == bytes, "{size} bytes");
        }
        let large = [7_u64; 100];
        assert_eq!(echo.apply_with(|_, large| large, large), large);
    });
}

#[gossamer::delegate]
#[test]
fn requests_large_and_small_are_served_in_the_order_in_which_they_were_sent() {
    on_nodes(2, 1, || {
        let log = far().entrust(Vec::<u64>::new());
        for number in 0..3000_u64 {
            match number % 3 {
                0 => log.apply_with_then(|log, number| log.push(number), number, drop),
                1 => {
                    let padding = vec![0_u8; (number as usize * 37) % 5000];
                    log.apply_with_then(|log, (number, _padding)| log.push(number), (number, padding), drop);
                }
                _ => log.apply_with(|log, number| log.push(number), number),
            }
        }
        assert!(log.apply(|log| log.is_sorted() && log.len() == 3000));
    });
}

#[gossamer::delegate]
#[test]
fn fibers_on_many_nodes_use_one_property() {
    on_nodes(4, 2, || {
        let sum = Trustee::all()[5].entrust(0_u64);
        let fibers: Vec<_> = (1..=800_u64)
            .map(|number| {
                spawn_with(
                    |(sum, number)| {
                        sum.apply_with(
                            |sum, n| {
                                *sum += n;
                                *sum
                            },
                            number,
                        )
                    },
                    (sum.clone(), number),
                )
            })
            .collect();
        let largest = fibers.into_iter().map(|fiber| fiber.join()).max();
        assert_eq!(largest, Some(800 * 801 / 2));
        assert_eq!(sum.apply(|sum| *sum), 800 * 801 / 2);
    });
}

#[gossamer::delegate]
#[test]
fn a_fiber_returns_what_it_made_whatever_its_size() {
    on_nodes(3, 1, || {
        for there in Trustee::all() {
            let fiber = spawn_on_with(there, |size| "x".repeat(size), 100_000);
            assert_eq!(fiber.join().len(), 100_000);
        }
    });
}

#[gossamer::delegate]
#[test]
fn a_panic_on_another_node_reaches_its_caller_with_both_places() {
    on_nodes(2, 1, || {
        let list = far().entrust(vec![1, 2]);
        let error = list.try_apply(|list| list[7]).unwrap_err();
        assert!(matches!(error.reason(), Reason::Panicked { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("index out of bounds") && text.matches("nodes.rs").count() == 2, "{text}");
        assert_eq!(error.worker(), 1);
        assert!(panic_text(move || list.apply(|list| list[8])).contains("the index is 8"));
        let fiber =
            spawn_on_with(far(), |text: String| -> u8 { panic!("{text}") }, "a fiber far away".to_owned());
        assert!(fiber.try_join().unwrap_err().to_string().contains("a fiber far away"));
    });
}

#[gossamer::delegate]
#[test]
fn what_cannot_leave_its_node_is_refused_by_name() {
    struct Unknown;
    // SAFETY: it holds nothing.
    unsafe impl NoRef for Unknown {}
    on_nodes(2, 1, || {
        let number = far().entrust(1_u8);
        let error = number.try_apply_with(|number, _unknown: Unknown| *number, Unknown).unwrap_err();
        assert!(
            matches!(error.reason(), Reason::Stays { .. }) && error.to_string().contains("Unknown"),
            "{error}"
        );
        let error = number.try_apply(|_| Unknown).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("Unknown"), "{error}");
        let _socket: Option<UdpSocket> = None;
        assert_eq!(number.apply(|number| *number), 1);
    });
}

#[derive(NoRef, Clone, Debug, PartialEq)]
enum Shape<T> {
    Nothing,
    Circle(f64),
    Named { name: String, inner: Box<Option<Shape<T>>>, extra: T },
}

#[gossamer::delegate]
#[test]
fn derived_types_travel() {
    on_nodes(2, 1, || {
        let there = far().entrust(());
        let inner = Box::new(Some(Shape::Circle(2.5)));
        for shape in
            [Shape::Nothing, Shape::Circle(1.0), Shape::Named { name: "n".into(), inner, extra: vec![1_u8] }]
        {
            assert_eq!(there.apply_with(|_, shape| shape, shape.clone()), shape);
        }
    });
}

#[gossamer::delegate]
#[test]
fn trusts_travel_in_both_directions_and_stay_usable() {
    on_nodes(3, 1, || {
        let here = entrust(1_u64);
        let all = Trustee::all();
        // Node 1 keeps a trust of a property of node 0; node 2 gets it from there.
        let keeper = all[1].entrust(Vec::<Trust<u64>>::new());
        keeper.apply_with(|keeper, trust| keeper.push(trust), here.clone());
        let through = spawn_on_with(
            all[2],
            |keeper: Trust<Vec<Trust<u64>>>| {
                let trust = keeper.apply(|keeper| keeper[0].clone());
                trust.apply(|number| {
                    *number += 1;
                    *number
                })
            },
            keeper.clone(),
        );
        assert_eq!(through.join(), 2);
        let back = keeper.apply(|keeper| keeper.pop().unwrap());
        assert_eq!(back.apply(|number| *number), 2);
        assert_eq!(back.trustee(), all[0]);
    });
}

/// Counts its drops.
struct Witness(Arc<AtomicUsize>);

impl Drop for Witness {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// All nodes of a test are in one process, so a static is shared by them.
static DROPS: Mutex<Option<Arc<AtomicUsize>>> = Mutex::new(None);

#[gossamer::delegate]
#[test]
fn a_property_is_dropped_once_when_the_last_trust_on_any_node_is_gone() {
    on_nodes(3, 1, || {
        let drops = Arc::new(AtomicUsize::new(0));
        *DROPS.lock().unwrap() = Some(Arc::clone(&drops));
        let all = Trustee::all();
        let make = const { |()| Witness(Arc::clone(DROPS.lock().unwrap().as_ref().unwrap())) };
        for round in 0..50_usize {
            let trust = all[round % 3].entrust_with(make, ());
            let keepers: Vec<_> =
                all.iter().map(|there| there.entrust(Vec::<Trust<Witness>>::new())).collect();
            for keeper in keepers.iter().chain(&keepers) {
                keeper.apply_with(|keeper, trust| keeper.push(trust), trust.clone());
            }
            drop(trust);
            // Passed on from one keeper to the next.
            let passed = keepers[1].apply(|keeper| keeper.pop().unwrap());
            keepers[2].apply_with_then(|keeper, trust| keeper.push(trust), passed, drop);
            keepers.iter().for_each(|keeper| keeper.apply(|keeper| keeper.truncate(1)));
            assert_eq!(drops.load(Ordering::SeqCst), round);
            // Requests that are under way when the last trust is dropped are still served.
            let last = keepers[2].apply(|keeper| keeper.pop().unwrap());
            last.apply_then(|_| (), drop);
            drop((last, keepers));
            wait_until(|| drops.load(Ordering::SeqCst) == round + 1);
        }
    });
}

#[gossamer::delegate]
#[test]
fn trusts_that_go_to_and_fro_among_nodes_are_dropped_once_and_stay_usable() {
    on_nodes(3, 2, || {
        let all = Trustee::all();
        let counts: Vec<_> = (0..200).map(|count| all[count as usize % 6].entrust(count)).collect();
        let posts: Vec<_> = all.iter().map(|there| there.entrust(0_u64)).collect();
        let mut travelling = counts.clone();
        for hop in 0..60_usize {
            let post = &posts[(hop * 5 + hop / 7) % 6];
            travelling = post.apply(move |_| {
                travelling.rotate_left(1);
                travelling
            });
        }
        travelling.iter().for_each(|count| count.apply_then(|count| *count += 1000, drop));
        drop(travelling);
        let sum: u64 = counts.iter().map(|count| count.apply(|count| *count)).sum();
        assert_eq!(sum, 200 * 199 / 2 + 200 * 1000);
    });
}

#[gossamer::delegate]
#[test]
fn a_latch_on_another_node_may_wait_for_others() {
    on_nodes(3, 1, || {
        let all = Trustee::all();
        let audit = all[1].entrust(0_u64);
        let account = all[2].entrust(Latch::new(100_u64));
        let launched: Vec<_> = (0..20)
            .map(|_| {
                let (account, audit) = (account.clone(), audit.clone());
                spawn_with(
                    |(account, audit): (Trust<Latch<u64>>, Trust<u64>)| {
                        account.launch_with(
                            |balance, audit| {
                                *balance -= 1;
                                audit.apply(|sum| *sum += 1);
                                *balance
                            },
                            audit,
                        )
                    },
                    (account, audit),
                )
            })
            .collect();
        let least = launched.into_iter().map(|fiber| fiber.join()).min();
        assert_eq!((least, audit.apply(|sum| *sum)), (Some(80), 20));
    });
}

#[gossamer::delegate]
#[test]
fn shards_lie_on_all_nodes_and_the_same_key_has_the_same_shard_everywhere() {
    on_nodes(3, 2, || {
        let counts = Sharded::<String, HashMap<String, usize>>::new();
        assert_eq!(counts.shards().len(), 6);
        let fibers: Vec<_> = Trustee::all()
            .into_iter()
            .map(|there| {
                let count = const {
                    |counts: Sharded<String, HashMap<String, usize>>| {
                        for number in 0..300 {
                            let key = format!("word {}", number % 30);
                            counts.shard(&key).apply_with_then(
                                |map, key| *map.entry(key).or_default() += 1,
                                key,
                                drop,
                            );
                        }
                    }
                };
                spawn_on_with(there, count, counts.clone())
            })
            .collect();
        fibers.into_iter().for_each(|fiber| fiber.join());
        // Callbacks may still be under way: an apply after them sees what they did, but only from the same worker.
        wait_until(|| counts.map_all(|map| map.values().sum::<usize>()).iter().sum::<usize>() == 6 * 300);
        let words: usize = counts.map_all(|map| map.len()).iter().sum();
        assert_eq!(words, 30);
    });
}

#[gossamer::delegate]
#[test]
fn threads_that_are_no_workers_reach_other_nodes() {
    on_nodes(2, 1, || {
        let (number, there) = (far().entrust(5_u64), far());
        let outside = std::thread::spawn(move || {
            let fiber = there.spawn_with(|text: String| text.len(), "four".to_owned());
            let sum = number.apply(|number| {
                *number += 1;
                *number
            });
            let large = number.apply_with(|_, bytes: Vec<u8>| bytes.len() as u64, vec![0; 10_000]);
            let text = there.entrust(String::from("made outside"));
            (sum, large, fiber.join(), text.apply(|text| text.clone()))
        });
        wait_until(|| outside.is_finished());
        assert_eq!(outside.join().unwrap(), (6, 10_000, 4, "made outside".to_owned()));
    });
}

#[gossamer::delegate]
#[test]
fn types_that_cannot_travel_are_made_where_they_live() {
    on_nodes(2, 1, || {
        let list = far().entrust_with(|text: String| Rc::<str>::from(text), "shared by nobody".to_owned());
        assert_eq!(list.apply(|list| list.len()), 16);
    });
}

#[gossamer::delegate]
#[test]
fn fibers_of_other_nodes_are_cancelled_when_main_returns() {
    on_nodes(2, 1, || {
        for _ in 0..10 {
            let _detached = spawn_on_with(far(), |()| gossamer::sleep(Duration::from_secs(3600)), ());
        }
    });
}

#[gossamer::delegate]
#[test]
fn workers_of_all_nodes_sleep_when_there_is_nothing_to_do_and_wake_for_a_request() {
    on_nodes(3, 1, || {
        let number = far().entrust(0_u64);
        for round in 1..=20 {
            gossamer::sleep(Duration::from_millis(5));
            assert_eq!(
                number.apply(|number| {
                    *number += 1;
                    *number
                }),
                round
            );
        }
    });
}

#[gossamer::delegate]
#[test]
fn a_fiber_returns_an_error_of_any_type() {
    type AnyError = Box<dyn std::error::Error + Send + Sync>;
    on_nodes(2, 1, || {
        for worker in Trustee::all() {
            let missing = spawn_on(worker, || std::fs::read_to_string("/no/such/file")).join().unwrap_err();
            assert_eq!((missing.kind(), missing.raw_os_error()), (std::io::ErrorKind::NotFound, Some(2)));
            let parsed = spawn_on(worker, || -> Result<u8, AnyError> { Ok("x".parse::<u8>()?) });
            let (error, here) = (parsed.join().unwrap_err(), worker == Trustee::here());
            assert_eq!(error.to_string(), "invalid digit found in string");
            assert_eq!(
                error.is::<std::num::ParseIntError>(),
                here,
                "only within a process is it the same value"
            );
        }
    });
}
