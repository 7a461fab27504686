//! The Network Vortex thesis's Figure 4.2 and Appendix B: a file goes to another machine.
//!
//! `stream_file s ADDRESS FILE` listens and sends, `stream_file r ADDRESS FILE` connects and receives. Both know the key in
//! `GOSSAMER_STREAM_KEY`. The file is read into the blocks of the stream and written from them: no byte is copied in between.

use gossamer::stream::{Geometry, Receiver, Sender};
use std::error::Error;
use std::fs::File;
use std::io::{Read, Write};

fn read(mut from: Receiver, output: &str) -> Result<(), Box<dyn Error>> {
    let mut file = File::create(output)?;
    println!("Expecting {} bytes", from.length().unwrap_or_default());
    while let Some(block) = from.next_block()? {
        file.write_all(&block)?;
    }
    Ok(())
}

fn write(mut into: Sender, mut file: File) -> Result<(), Box<dyn Error>> {
    while let Some(mut block) = into.next_block()? {
        file.read_exact(&mut block)?;
    }
    println!("Transferred {} bytes", into.position());
    Ok(into.finish()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["r", address, output] => read(Receiver::connect(*address, Geometry::default())?, output)?,
        ["s", address, input] => {
            let file = File::open(input)?;
            let length = file.metadata()?.len();
            write(Sender::bind(*address, length, Geometry::default())?.accept()?, file)?;
        }
        _ => return Err("usage: stream_file s ADDRESS FILE | r ADDRESS FILE".into()),
    }
    println!("Finished");
    Ok(())
}
