//! A trait object is made where it lives.

use gossamer::Trustee;

trait Shape {
    fn area(&self) -> f64;
}

struct Square(f64);

impl Shape for Square {
    fn area(&self) -> f64 {
        self.0 * self.0
    }
}

#[gossamer::main]
fn main() {
    let shape: Box<dyn Shape> = Box::new(Square(2.0));
    let shape = Trustee::all()[0].entrust(shape);
    println!("{}", shape.apply(|shape| shape.area()));
}
