//! A method of a generic property, called where the parameter does not travel.

struct List<T>(Vec<T>);

#[gossamer::delegate]
impl<T> List<T> {
    fn push(&mut self, value: T) {
        self.0.push(value);
    }
}

fn main() {
    let list = gossamer::entrust(List::<&'static str>(Vec::new()));
    list.push("text");
}
