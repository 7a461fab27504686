//! Whether the processors that a process may use are its own, so that nothing else runs there.

use std::fs;
use std::path::Path;

/// Whether nothing else should run on these processors, which this process may use, as far as the system says:
///
/// - the kernel keeps others off them (`isolcpus`, an isolated cpuset). There a thread that is not pinned stays where
///   it started;
/// - they are an exclusive cpuset, smaller than the machine;
/// - Slurm gave this job this many processors of this machine.
pub(crate) fn are_own(processors: &[usize]) -> bool {
    let variable = |name: &str| std::env::var(name).ok();
    Facts::gather(processors, Path::new("/"), variable).are_own(processors)
}

/// What the system reports.
#[derive(Debug, Default)]
struct Facts {
    /// Processors of the machine.
    online: Vec<usize>,
    isolated: Vec<usize>,
    has_exclusive_cpuset: bool,
    /// How many processors of this machine a Slurm job has.
    granted: Option<usize>,
}

impl Facts {
    fn gather(processors: &[usize], root: &Path, variable: impl Fn(&str) -> Option<String>) -> Self {
        let list = |name: &str| {
            let text = fs::read_to_string(root.join("sys/devices/system/cpu").join(name));
            processors_of(&text.unwrap_or_default())
        };
        let (online, isolated) = (list("online"), list("isolated"));
        let granted =
            variable("SLURM_JOB_ID").and_then(|_| variable("SLURM_CPUS_ON_NODE")?.trim().parse().ok());
        let is_part = processors.len() < online.len();
        Self { has_exclusive_cpuset: is_part && has_exclusive_cpuset(root), online, isolated, granted }
    }

    fn are_own(&self, processors: &[usize]) -> bool {
        let are_isolated = processors.iter().all(|processor| self.isolated.contains(processor));
        let is_part = processors.len() < self.online.len();
        let are_granted = self.granted.is_some_and(|granted| processors.len() <= granted);
        !processors.is_empty() && (are_isolated || is_part && self.has_exclusive_cpuset || are_granted)
    }
}

/// Whether the control group of this process, or one above it, has a cpuset that shares no processor with others.
fn has_exclusive_cpuset(root: &Path) -> bool {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    groups.lines().any(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { return false };
        let (mount, file) = match controllers {
            "" => ("sys/fs/cgroup", "cpuset.cpus.partition"),
            "cpuset" => ("sys/fs/cgroup/cpuset", "cpuset.cpu_exclusive"),
            _ => return false,
        };
        let says =
            |group: &Path| fs::read_to_string(root.join(mount).join(group).join(file)).unwrap_or_default();
        let above = Path::new(group.trim_start_matches('/')).ancestors();
        // The topmost group of version 1 is the whole machine, which is always exclusive.
        above
            .filter(|group| controllers.is_empty() || *group != Path::new(""))
            .any(|group| matches!(says(group).trim(), "root" | "isolated" | "1"))
    })
}

/// The numbers of a list such as `0-3,8`.
fn processors_of(list: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    list.trim().split(',').filter_map(range).flatten().collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_are_understood() {
        assert_eq!(processors_of("0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(processors_of("\n"), []);
    }

    #[test]
    fn a_whole_machine_is_nobodys_own_and_a_part_of_it_only_if_it_is_kept_for_one() {
        let facts = || Facts { online: (0..4).collect(), ..Facts::default() };
        assert!(!facts().are_own(&[0, 1, 2, 3]) && !facts().are_own(&[0]) && !facts().are_own(&[]));
        let exclusive = Facts { has_exclusive_cpuset: true, ..facts() };
        assert!(exclusive.are_own(&[0, 1]) && !exclusive.are_own(&[0, 1, 2, 3]));
        let isolated = Facts { isolated: vec![2, 3], ..facts() };
        assert!(isolated.are_own(&[3]) && !isolated.are_own(&[1, 2]));
        let granted = Facts { granted: Some(4), ..facts() };
        assert!(granted.are_own(&[0, 1, 2, 3]));
        assert!(
            !Facts { granted: Some(2), ..facts() }.are_own(&[0, 1, 2, 3]),
            "the job has no cpuset of its own"
        );
    }

    #[test]
    fn what_the_system_tells_is_found_where_it_is() {
        let root = std::env::temp_dir().join(format!("gossamer-ownership-{}", std::process::id()));
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let own = |variables: &[(&str, &str)], processors: &[usize]| {
            let find =
                |name: &str| variables.iter().find(|known| known.0 == name).map(|known| known.1.to_owned());
            Facts::gather(processors, &root, find).are_own(processors)
        };
        write("sys/devices/system/cpu/online", "0-7\n");
        write("sys/devices/system/cpu/isolated", "\n");
        assert!(!own(&[], &[0, 1]));
        write("proc/self/cgroup", "0::/jobs/mine/inner\n");
        write("sys/fs/cgroup/jobs/mine/cpuset.cpus.partition", "root\n");
        assert!(own(&[], &[0, 1]) && !own(&[], &[0, 1, 2, 3, 4, 5, 6, 7]));
        write(
            "sys/fs/cgroup/jobs/mine/cpuset.cpus.partition",
            "root invalid (Cpu list in cpuset.cpus not exclusive)\n",
        );
        assert!(!own(&[], &[0, 1]));
        write("proc/self/cgroup", "12:cpuset:/mine\n3:memory:/mine\n");
        write("sys/fs/cgroup/cpuset/cpuset.cpu_exclusive", "1\n");
        write("sys/fs/cgroup/cpuset/mine/cpuset.cpu_exclusive", "0\n");
        assert!(!own(&[], &[0, 1]));
        write("sys/fs/cgroup/cpuset/mine/cpuset.cpu_exclusive", "1\n");
        assert!(own(&[], &[0, 1]));
        write("sys/fs/cgroup/cpuset/mine/cpuset.cpu_exclusive", "0\n");
        assert!(own(&[("SLURM_JOB_ID", "7"), ("SLURM_CPUS_ON_NODE", "2")], &[0, 1]));
        write("sys/devices/system/cpu/isolated", "0-1\n");
        assert!(own(&[], &[0, 1]) && !own(&[], &[1, 2]));
        fs::remove_dir_all(&root).unwrap();
    }
}
