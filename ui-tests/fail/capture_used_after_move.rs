//! What a delegated closure captures has gone with it.

#[gossamer::main]
fn main() {
    let list = gossamer::entrust(Vec::new());
    let text = String::from("text");
    list.apply(|list| list.push(text));
    println!("{text}");
}
