//! Variables that are used only inside macro calls are captures, and closures inside macro calls are rewritten.
#![deny(warnings)]

use std::fmt::Write;

macro_rules! add {
    ($($term:expr),*) => { 0 $(+ $term)* };
}

macro_rules! pick {
    ($from:ident . $field:ident => $extra:ident) => {
        $from.$field + $extra
    };
}

#[derive(Clone, gossamer::NoRef)]
struct Pair {
    left: u64,
}

#[gossamer::main]
fn main() {
    let text = gossamer::entrust(String::new());
    let (name, width, precision, value) = (String::from("n"), 6, 2, 1.5f64);

    println!("{}", text.apply(|text| text.len() + width));
    let shown = text.apply(move |_| format!("{name}"));
    assert_eq!(shown, "n");
    let name = String::from("n");
    assert_eq!(
        text.apply(move |_| format!("{name:?} {:>width$} {value:.precision$}", 1)),
        "\"n\"      1 1.50"
    );
    assert_eq!(
        text.apply(move |_| format!("{:width$.precision$}|{:.*}|{:1$}", value, precision, value, 7)),
        "  1.50|1.50| 7"
    );

    // Not variables: escaped braces, named arguments, fields, text that is not a format string.
    let (escaped, named, left) = (String::from("e"), String::from("n"), String::from("l"));
    assert_eq!(text.apply(|_| format!("{{escaped}} {named} {}", "{left}", named = 3)), "{escaped} 3 {left}");
    assert_eq!(text.apply(|_| stringify!(escaped).len()), 7);
    assert_eq!(text.apply(|_| vec!["{left}"; 2].len()), 2);
    assert_eq!((escaped.len(), named.len(), left.len()), (1, 1, 1));

    // Other macros of the standard library.
    let (a, b) = (1u64, 2u64);
    text.apply(move |text| write!(text, "{a}{}", b).is_ok());
    assert_eq!(text.apply(move |text| vec![a, b, text.len() as u64]), [1, 2, 2]);
    assert_eq!(text.apply(move |_| vec![a; width]).len(), 6);
    text.apply(move |text| assert!(text.len() as u64 == b, "{a} {text}"));
    let limit = 5;
    assert!(text.apply(move |text| matches!(text.len(), n if n < limit)));
    assert!(matches!(text.apply(move |text| text.len() as u64 + a), 3));

    // Macros of this program: expressions, or tokens of their own grammar.
    assert_eq!(text.apply(move |_| add!(a, b, add!(a))), 4);
    let pair = Pair { left: 4 };
    assert_eq!(text.apply(move |_| pick!(pair.left => a)), 5);
    let t = text.clone();
    assert_eq!(add!(text.apply(move |_| a), t.apply(move |_| b)), 3);
}
