//! The Network Vortex thesis's Figure 3.1: numbers written as memory here are summed as memory there.
//!
//! `stream_sum w ADDRESS [BYTES]` listens and writes, `stream_sum r ADDRESS` connects and sums. Both know the key in
//! `GOSSAMER_STREAM_KEY`.
#![allow(unsafe_code, reason = "raw windows")]

use gossamer::stream::{Error, Geometry, Receiver, Sender};
use std::time::Instant;

/// # Safety
/// There are this many numbers.
unsafe fn read(from: *const u64, size: usize) {
    // SAFETY: the caller's.
    let numbers = unsafe { std::slice::from_raw_parts(from, size) };
    let sum = numbers.iter().fold(0, |sum: u64, number| sum.wrapping_add(*number));
    println!("Received sum: {sum}");
}

/// # Safety
/// There is room for this many numbers.
unsafe fn write(into: *mut u64, size: usize) {
    // SAFETY: the caller's.
    let numbers = unsafe { std::slice::from_raw_parts_mut(into, size) };
    numbers.iter_mut().zip(0..).for_each(|(place, number)| *place = number);
    println!("Delivered sum: {}", (size as u128 * (size as u128).saturating_sub(1) / 2) as u64);
}

fn reader(address: &str) -> Result<(), Error> {
    let window = Receiver::connect(address, Geometry::default())?.into_window()?;
    // SAFETY: it goes from the front to the back.
    unsafe { read(window.as_ptr().cast(), window.len() / 8) };
    window.finish()
}

fn writer(address: &str, bytes: u64) -> Result<(), Error> {
    let mut window = Sender::bind(address, bytes, Geometry::default())?.accept()?.into_window()?;
    let size = window.len() / 8;
    // SAFETY: it goes from the front to the back.
    unsafe { write(window.as_mut_ptr().cast(), size) };
    window.finish()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let start = Instant::now();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["r", address] => reader(address)?,
        ["w", address] => writer(address, 1 << 35)?,
        ["w", address, bytes] => writer(address, bytes.parse()?)?,
        _ => return Err("usage: stream_sum w ADDRESS [BYTES] | r ADDRESS".into()),
    }
    eprintln!("{:.3} s", start.elapsed().as_secs_f64());
    Ok(())
}
