//! Serving a batch that another process wrote. Like `Server::serve`, but nothing in the batch is trusted: identities
//! are looked up, and lengths are checked. A batch that makes no sense is an error, after which its lane is unusable.

use crate::fabric::Fabric;
use crate::lane::catch::{self, Caught};
use crate::lane::context;
use crate::lane::encoded::operation::{RunEncoded, RunPacked};
use crate::lane::encoded::run::EncodedRun;
use crate::lane::encoded::{Answer, Arguments, Encoded, VARIABLE, answer_words, bytes_at};
use crate::lane::error::{DelegationError, Reason};
use crate::lane::large::Exchange;
use crate::lane::operation::Operation;
use crate::lane::property::Properties;
use crate::lane::registry::Registry;
use crate::lane::server::Server;
use crate::wire::batch::{FAR_BODY_WORDS, Header, failure_words};
use crate::wire::length::LengthWord;
use crate::wire::refusal::Malformed;
use crate::wire::request::RequestHeader;
use crate::wire::rows::Rows;
use crate::wire::word::Word;
use std::cell::RefCell;

/// What serves, and what for.
#[derive(Clone, Copy)]
pub(crate) struct Serving<'a> {
    pub(crate) properties: &'a Properties,
    pub(crate) exchange: &'a Exchange,
    /// Index of the trustee, for reports.
    pub(crate) worker: u32,
    pub(crate) client: usize,
    /// Where it gathers the responses of one batch at a time.
    pub(crate) answers: &'a RefCell<AnswerRoom>,
}

/// Room for the responses of a batch of the largest slots.
pub(crate) type AnswerRoom = [Word; FAR_BODY_WORDS];

impl<F: Fabric> Server<F> {
    /// Serves one batch of another process, if one waits, and answers it. Returns whether there was one.
    ///
    /// # Errors
    /// If no client of this program writes such a batch.
    #[inline]
    pub(crate) fn serve_encoded(&mut self, serving: Serving<'_>) -> Result<bool, Malformed> {
        let slot = self.slot();
        let sequence = self.served.wrapping_add(1);
        let header = Header::unpack(self.requests.header(slot));
        if header.sequence != sequence {
            return Ok(false);
        }
        let (count, words) = (usize::from(header.count), usize::from(header.words));
        // Each response may take a word, beside those of failures.
        if words > self.requests.words() || failure_words(count) + count > self.requests.words() {
            return Err(Malformed::instead_of::<Header>());
        }
        self.fabric.prepare(slot, count);
        let answer = &mut serving.answers.borrow_mut()[..self.requests.words()];
        let read = |body| {
            // SAFETY: L3: the header has the sequence awaited, so the batch is whole; it stays until it is given back
            // below. A slot has room for this many words (checked).
            let body = unsafe { std::slice::from_raw_parts(body, words) };
            let used = failure_words(count);
            let mut batch = EncodedBatch {
                serving,
                body,
                at: 0,
                answer: &mut *answer,
                used,
                index: 0,
                failed: 0,
                run: None,
            };
            batch.answer[..used].fill(Word::new(0));
            batch.whole_batch(count).map(|()| (batch.used, batch.failed))
        };
        // SAFETY: the header was found.
        let (used, failed) = unsafe { self.requests.read(slot, read) }?;
        // SAFETY: as above. The answer tells its client that it is free.
        unsafe { self.requests.give_back(slot) };
        let header = Header { sequence, count: header.count, words: used as u16 };
        // SAFETY: L1: this server is the only writer of the response slots. L4: the client reused this request slot, so it is
        // done with the response that was in this slot before.
        unsafe { self.fabric.write(slot, header.pack(), &answer[..used]) };
        self.served = sequence;
        self.counters.note_batch(count, words, used);
        if failed > 0 {
            self.counters.failed.add(failed);
        }
        Ok(true)
    }
}

/// A batch being served: what must survive the panic of one of its closures. It does not share the loop of
/// `ServedBatch`: there every request can be trusted and its operation alone says where the next one begins, so the
/// loop is a few instructions; here each request is checked. Only the loop around it, which takes panics, is alike.
pub(super) struct EncodedBatch<'a> {
    pub(super) serving: Serving<'a>,
    pub(super) body: &'a [u64],
    pub(super) at: usize,
    /// Words of failures, then the results.
    pub(super) answer: &'a mut [Word],
    pub(super) used: usize,
    pub(super) index: usize,
    /// Requests that were answered with an error.
    failed: u64,
    /// The run that `at` is in.
    pub(super) run: Option<EncodedRun>,
}

/// A request, as far as it is known without serving it.
pub(super) struct Request {
    pub(super) property: u32,
    identity: i32,
    pub(super) operation: &'static Operation,
    pub(super) encoded: &'static Encoded,
    /// Words after the header.
    words: usize,
}

impl Request {
    /// Words of all.
    #[inline(always)]
    fn in_all(&self) -> usize {
        1 + self.words
    }
}

impl<'a> EncodedBatch<'a> {
    fn whole_batch(&mut self, count: usize) -> Result<(), Malformed> {
        while self.index < count {
            match catch::delegated(|| self.until_panic(count)) {
                Ok(outcome) => outcome?,
                Err(Caught { message, place }) => self.panicked(Reason::Panicked { message, place })?,
            }
        }
        Ok(())
    }

    /// Answers the request that has panicked.
    #[cold]
    fn panicked(&mut self, reason: Reason) -> Result<(), Malformed> {
        let (operation, words) = match self.leave_served() {
            Some(request) => request,
            None => self.current(None).map(|request| (request.operation, request.in_all()))?,
        };
        self.fail(operation, words, reason);
        Ok(())
    }

    /// Serves requests until one panics (unwinding out of here, `at` still on it) or none is left.
    #[inline(always)]
    fn until_panic(&mut self, count: usize) -> Result<(), Malformed> {
        self.rest_of_run();
        let mut last: Option<(i32, &'static Operation)> = None;
        while self.index < count {
            let request = self.current(last)?;
            last = Some((request.identity, request.operation));
            context::note_served(request.operation);
            let property = self.serving.properties.get(request.property);
            match (request.encoded.run, property) {
                (RunEncoded::Many(many), _) => {
                    self.begin_run(&request, many, count)?;
                    self.rest_of_run();
                }
                (_, None) => self.discard(&request)?,
                (RunEncoded::Packed(run), Some(property)) => self.serve_packed(&request, run, property)?,
                (RunEncoded::Fixed(run), Some(property)) => {
                    let arguments = self.body[self.at + 1..].as_ptr();
                    let result = usize::from(request.encoded.result);
                    let answer = &mut self.answer[self.used..][..result];
                    // SAFETY: the sender vouched that the property has the operation's type (`Client::push_encoded`), and R3
                    // that nothing else refers to it. The arguments are unread, and the words of both are there (`current`).
                    match unsafe { run(property, arguments, answer) } {
                        Ok(()) => self.advance(request.in_all(), result),
                        Err(malformed) => {
                            self.fail_malformed(request.operation, request.in_all(), &malformed);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Drops the arguments of a request whose property is gone.
    #[cold]
    fn discard(&mut self, request: &Request) -> Result<(), Malformed> {
        let mut arguments = self.arguments(request)?;
        // SAFETY: they are those of a request for this operation, taken out once.
        let _reported = catch::delegated(|| unsafe { (request.encoded.discard)(arguments.borrowed()) });
        self.fail(request.operation, request.in_all(), Reason::Ended);
        Ok(())
    }

    /// Serves a request whose arguments or result are encoded.
    #[inline(never)]
    fn serve_packed(
        &mut self,
        request: &Request,
        run: RunPacked,
        property: *mut (),
    ) -> Result<(), Malformed> {
        let mut arguments = self.arguments(request)?;
        let mut answer = Answer { place: &mut self.answer[self.used..], used: 0, late: None };
        // SAFETY: as in `until_panic`; the arguments are those of this request, taken out once.
        let served = unsafe { run(property, arguments.borrowed(), &mut answer) };
        let (used, late) = (answer.used, answer.late);
        match (served, late) {
            (Ok(()), None) => self.advance(request.in_all(), used),
            (Ok(()), Some(bytes)) => self.answer_late(request.in_all(), Ok(bytes)),
            // A malformed argument concerns only its request; the batch goes on with the next.
            (Err(malformed), _) => self.fail_malformed(request.operation, request.in_all(), &malformed),
        }
        Ok(())
    }

    /// The next request. `last`: the one before, to save the look-up.
    #[inline(always)]
    fn current(&self, last: Option<(i32, &'static Operation)>) -> Result<Request, Malformed> {
        let header = self.body.get(self.at).copied().map(RequestHeader::unpack);
        let header = header.ok_or_else(Malformed::instead_of::<RequestHeader>)?;
        let operation = match last {
            Some((identity, operation)) if identity == header.operation => operation,
            _ => Registry::get().find(header.operation).ok_or_else(Malformed::instead_of::<Operation>)?,
        };
        let encoded = operation.encoded().ok_or_else(Malformed::instead_of::<Operation>)?;
        let words = match encoded.arguments {
            VARIABLE => match self.body.get(self.at + 1).copied().map(LengthWord::unpack) {
                Some(LengthWord::Apart(_)) => 1,
                _ => bytes_at(&self.body[self.at + 1..])?.1,
            },
            words => words.into(),
        };
        let (end, used) = (self.at + 1 + words, self.used + answer_words(encoded.result));
        if end > self.body.len() || used > self.answer.len() {
            return Err(Malformed::instead_of::<Operation>());
        }
        Ok(Request { property: header.property, identity: header.operation, operation, encoded, words })
    }

    #[inline(always)]
    fn arguments(&self, request: &Request) -> Result<Source<'a>, Malformed> {
        let body: &'a [u64] = self.body;
        let words = &body[self.at + 1..][..request.words];
        match (request.encoded.arguments, words) {
            (VARIABLE, [length, ..]) => match LengthWord::unpack(*length) {
                LengthWord::Apart(ticket) => {
                    self.serving.exchange.incoming().take(self.serving.client, ticket).map(Source::Rows)
                }
                LengthWord::Here(_) => Ok(Source::Bytes(bytes_at(words)?.0)),
            },
            (_, words) => Ok(Source::Fixed(words)),
        }
    }

    #[inline(always)]
    fn advance(&mut self, words: usize, used: usize) {
        self.at += words;
        self.used += used;
        self.index += 1;
    }

    #[cold]
    fn answer_late(&mut self, words: usize, outcome: Result<Rows, DelegationError>) {
        let Serving { exchange, client, .. } = self.serving;
        self.answer[self.used].write(exchange.answer_late(client, outcome));
        // SAFETY: the words of failures were filled with zeros when the batch began.
        let failures = unsafe { self.answer[self.index / 64].assume_init_mut() };
        *failures |= 1 << (self.index % 64);
        self.advance(words, 1);
    }

    #[cold]
    pub(super) fn fail_malformed(&mut self, operation: &Operation, words: usize, malformed: &Malformed) {
        let message = malformed.to_string();
        self.fail(operation, words, Reason::Panicked { message, place: None });
    }

    /// Answers a request of so many words with an error.
    #[cold]
    pub(super) fn fail(&mut self, operation: &Operation, words: usize, reason: Reason) {
        let error = DelegationError::new(reason, operation.name(), self.serving.worker);
        self.failed += 1;
        self.answer_late(words, Err(error));
    }
}

/// Where the arguments of a request are.
enum Source<'a> {
    Fixed(&'a [u64]),
    Bytes(&'a [u8]),
    Rows(Rows),
}

impl Source<'_> {
    #[inline(always)]
    fn borrowed(&mut self) -> Arguments<'_> {
        match self {
            Self::Fixed(words) => Arguments::Fixed(words),
            Self::Bytes(bytes) => Arguments::Bytes(bytes),
            Self::Rows(rows) => Arguments::Rows(rows),
        }
    }
}
