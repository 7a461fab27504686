//! Fields, methods, paths, labels, keys, functions and constants that share a name with a variable are not captures.
#![deny(warnings)]

#[derive(Debug, Default, PartialEq, Clone, gossamer::NoRef)]
struct Point {
    x: i64,
    y: i64,
}

impl Point {
    fn scale(&mut self, by: i64) {
        self.x *= by;
        self.y *= by;
    }
}

mod helper {
    pub fn offset() -> i64 {
        100
    }
}

fn offset() -> i64 {
    10
}

const LIMIT: i64 = 3;

#[gossamer::main]
fn main() {
    let point = gossamer::entrust(Point::default());
    // None of these is captured: each of them is used after all closures.
    let (x, scale, helper) = (String::from("x"), String::from("scale"), String::from("helper"));

    point.apply(|p| p.x = 2);
    point.apply(|p| p.scale(3));
    point.apply(|p| p.x += helper::offset());
    point.apply(|p| *p = Point { x: 1, y: 2 });
    point.apply(|p| {
        'x: loop {
            break 'x;
        }
        let Point { x: across, .. } = p;
        *across += 1;
    });
    assert_eq!((x.as_str(), scale.as_str(), helper.as_str()), ("x", "scale", "helper"));

    // A shorthand field is the variable.
    let (x, y) = (7, 8);
    assert_eq!(point.apply(move |p| std::mem::replace(p, Point { x, y })), Point { x: 2, y: 2 });
    assert_eq!(point.apply(|p| p.clone()), Point { x: 7, y: 8 });

    // Constants, statics and functions, of this body or of the module, are not variables.
    const STEP: i64 = 1;
    static START: i64 = 5;
    fn twice(n: i64) -> i64 {
        n * 2
    }
    point.apply(|p| p.x = twice(START) + STEP + LIMIT + offset() + i64::from(u8::MAX));
    assert_eq!(point.apply(|p| p.x), 279);

    // An inner function shadows the variable for its whole block.
    let count = String::from("kept");
    {
        fn count() -> i64 {
            4
        }
        point.apply(|p| p.y = count());
    }
    assert_eq!((count.as_str(), point.apply(|p| p.y)), ("kept", 4));
    // A raw name is the same name.
    let r#type = 6;
    assert_eq!(point.apply(|p| p.y + r#type), 10);
    let r#plain = 1;
    assert_eq!(point.apply(|p| p.y + plain), 5);
}
