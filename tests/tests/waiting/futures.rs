//! `block_on`, `join_all`, `JoinSet`; and the executors of other crates in a fiber.

use gossamer::sync::{mpsc, oneshot};
use gossamer::{JoinSet, Trust, Trustee, block_on, entrust, join_all, spawn_on_with, spawn_with, yield_now};
use integration_tests::{in_runtime, near_and_far, on_nodes, panic_text, wait_until};
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake};
use std::thread::{self, Thread};

/// An executor that knows nothing of fibers, like that of many crates: it blocks its thread.
fn foreign_block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread::park();
    }
}

#[test]
fn a_fiber_awaits_several_requests_while_others_of_its_worker_run() {
    near_and_far(|there| {
        let numbers = there.entrust(vec![1_u64, 2, 3]);
        let others = Rc::new(Cell::new(0));
        let sum = block_on(async {
            others.set(others.get() + 1); // neither `Send` nor `'static`
            let first = numbers.apply_async(|numbers| numbers[0]);
            let sum = numbers.apply_async(|numbers| numbers.iter().sum::<u64>());
            first.await + sum.await
        });
        assert_eq!((sum, others.get()), (7, 1));
    });
}

#[test]
fn executors_of_others_wait_in_a_fiber_instead_of_blocking_its_worker() {
    near_and_far(|there| {
        let number = there.entrust(20_u64);
        assert_eq!(foreign_block_on(number.apply_async(|number| *number + 1)), 21);
        let fiber = spawn_on_with(there, |number: Trust<u64>| number.apply(|number| *number), number.clone());
        assert_eq!(foreign_block_on(fiber), 20);
        let (sender, mut receiver) = mpsc::channel(1);
        let sent = spawn_on_with(Trustee::here(), |sender: mpsc::Sender<u64>| sender.send(5).is_ok(), sender);
        assert_eq!(foreign_block_on(receiver.recv_async()), Some(5));
        assert!(sent.join());
        foreign_block_on(gossamer::sleep_async(std::time::Duration::from_millis(1)));
    });
}

#[test]
fn executors_of_others_await_sockets_and_blocking_work_in_a_fiber() {
    in_runtime(1, || {
        let listener = gossamer::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let client = spawn_with(
            |address: std::net::SocketAddr| {
                yield_now();
                gossamer::net::TcpStream::connect(address).and_then(|stream| stream.peer_addr()).unwrap()
            },
            address,
        );
        let (stream, _) = foreign_block_on(listener.accept_async()).unwrap();
        assert_eq!((client.join(), stream.local_addr().unwrap()), (address, address));
        assert_eq!(foreign_block_on(gossamer::unblock_async(|| 7)), 7);
    });
}

#[test]
fn a_tokio_runtime_in_a_fiber_awaits_trusts() {
    in_runtime(1, || {
        let number = entrust(20_u64);
        let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(tokio.block_on(async { number.apply_async(|number| *number + 1).await }), 21);
    });
}

#[test]
fn an_executor_in_a_delegated_closure_or_a_callback_is_told_that_it_cannot_wait() {
    in_runtime(1, || {
        let (number, other) = (entrust(1_u64), entrust(2_u64));
        let wait_inside =
            |_: &mut u64, other: Trust<u64>| foreign_block_on(other.apply_async(|other| *other));
        let text = panic_text(|| number.apply_with(wait_inside, other.clone()));
        assert!(text.contains("blocking `await` inside a delegated closure"), "{text}");
        let text = panic_text(|| number.apply_with(|_, ()| block_on(async { 1 }), ()));
        assert!(text.contains("blocking `block_on` inside a delegated closure"), "{text}");
        assert_eq!(other.apply(|other| *other), 2);
    });
}

#[test]
fn a_thread_that_is_no_worker_blocks_on_a_future() {
    in_runtime(1, || {
        let number = entrust(3_u64);
        let thread =
            thread::spawn(move || block_on(async { number.apply_async(|number| *number).await * 2 }));
        wait_until(|| thread.is_finished());
        assert_eq!(thread.join().unwrap(), 6);
    });
}

#[test]
fn all_of_several_come_in_the_order_of_the_futures_on_every_fabric() {
    on_nodes(2, 2, || {
        let places: Vec<_> =
            Trustee::all().into_iter().enumerate().map(|(at, there)| there.entrust(at)).collect();
        let requests =
            (0..200).map(|at| places[at % places.len()].apply_async(const { |place: &mut usize| *place }));
        let places: Vec<_> = (0..200).map(|at| at % places.len()).collect();
        assert_eq!(join_all(requests), places);
    });
}

#[test]
fn a_set_gives_what_is_ready_first_and_survives_a_panic() {
    in_runtime(2, || {
        let (release, held) = oneshot::channel::<()>();
        let body = |(number, held): (u64, Option<oneshot::Receiver<()>>)| {
            held.map(oneshot::Receiver::recv);
            assert_ne!(number, 3, "three is too many");
            number
        };
        let mut set: JoinSet<_> =
            [(1, Some(held)), (2, None)].into_iter().map(|job| spawn_with(body, job)).collect();
        assert_eq!(set.join_next(), Some(2));
        set.insert(spawn_with(body, (3, None)));
        let text = panic_text(|| set.join_next());
        assert!(text.contains("three is too many"), "{text}");
        assert_eq!(set.len(), 1);
        release.send(()).unwrap();
        assert_eq!((set.join_next(), set.join_next()), (Some(1), None));
    });
}

#[test]
fn polls_of_many_futures_are_those_of_the_ones_that_were_woken() {
    static POLLS: AtomicUsize = AtomicUsize::new(0);
    struct Counted<F>(F);
    impl<F: Future + Unpin> Future for Counted<F> {
        type Output = F::Output;
        fn poll(mut self: std::pin::Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
            POLLS.fetch_add(1, Ordering::Relaxed);
            std::pin::Pin::new(&mut self.0).poll(context)
        }
    }
    in_runtime(2, || {
        const FIBERS: usize = 300;
        let fibers = (0..FIBERS).map(|_| Counted(spawn_with(|()| (0..3).for_each(|_| yield_now()), ())));
        assert_eq!(join_all(fibers).len(), FIBERS);
        let polls = POLLS.load(Ordering::Relaxed);
        assert!(polls <= 2 * FIBERS, "{polls} polls of {FIBERS} futures");
    });
}
