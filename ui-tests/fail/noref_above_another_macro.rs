//! A macro below the derive changes what the derive has seen.

#[derive(gossamer::NoRef)]
#[attributes::narrow]
struct Narrow {
    text: String,
    number: u128,
}

#[derive(gossamer::NoRef)]
#[attributes::narrow]
enum Either {
    Number(u128),
    Text { text: String },
}

fn main() {
    let narrow = Narrow { text: String::new(), number: 7 };
    drop((narrow.text, narrow.number, Either::Number(7), Either::Text { text: String::new() }));
}
