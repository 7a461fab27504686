//! A capture is the variable that the name stands for where the closure is, whatever else bears the name.
#![deny(warnings)]

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0u64);
    let step = 1u64;
    let step = step + 1;
    {
        let step = String::from("shadowed inside a block");
        assert!(!step.is_empty());
    }
    total.apply(move |total| *total += step);
    assert_eq!(total.apply(|total| *total), 2);

    // Shadowed inside the closure before its use: no capture, so the text stays here.
    let amount = String::from("stays");
    total.apply(|total| {
        let amount = 5;
        *total += amount;
    });
    // The closure's own parameter shadows.
    assert_eq!(total.apply(|amount| *amount), 7);
    // Shadowed after its use: a capture.
    let more = 3;
    total.apply(|total| {
        *total += more;
        let more = 100;
        assert_eq!(more, 100);
    });
    assert_eq!(amount, "stays");
    assert_eq!(total.apply(|total| *total), 10);

    // Shadowed by parameters and patterns of closures inside the delegated one.
    let word = String::from("kept");
    let words = gossamer::entrust(vec![String::from("a"), String::from("b")]);
    let joined = words.apply(|words| words.iter().map(|word| word.as_str()).collect::<String>());
    assert_eq!((joined.as_str(), word.as_str()), ("ab", "kept"));
}
