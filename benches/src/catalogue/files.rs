//! A file from one process to another.

use super::{Against, Aim, Group, Table, Unit, row};
use crate::contenders::files::{MIB, gossamer, gossamer_plain, mbuffer, nc, rsync, socat};
use crate::measure::{Setting, Way};

pub(super) fn group() -> Group {
    Group {
        name: "files",
        about: "A file of 512 MiB, in the page cache, from one process to another on loopback, by whole programs from start to end. \
                gossamer checks what arrives; to a file it also puts it on disk under another name before it gets its own, and for the \
                others that is done behind them.",
        tables: vec![
            table("files-null", "to /dev/null", Setting::PLAIN),
            table("files-disk", "to a file on disk", Setting { to_disk: true, ..Setting::PLAIN }),
        ],
    }
}

fn table(name: &str, title: &str, setting: Setting) -> Table {
    let over = |way| Setting { way, ..setting };
    let ahead = Aim::AtLeast(1.0);
    let mut rows = vec![
        row("gossamer send, shared memory", gossamer, over(Way::Memory)),
        row("gossamer send, TCP", gossamer, over(Way::Tcp)).leads(),
        row("gossamer send --plain, TCP", gossamer_plain, over(Way::Tcp)),
        row("nc", nc, setting).needs("nc").aim(ahead),
        row("socat", socat, setting).needs("socat").aim(ahead),
        row("mbuffer", mbuffer, setting).needs("mbuffer").aim(ahead),
    ];
    if setting.to_disk {
        rows.push(row("rsync", rsync, setting).needs("rsync").aim(ahead));
    }
    Table { name: name.into(), title: title.into(), unit: Unit::Bytes(MIB), against: Against::First, rows }
}
