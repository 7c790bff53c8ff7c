//! Packages lie on read-only disks; a guest's programs see one file system that
//! they can write.

use gil_tests::Run;

fn shell(options: &[&str], script: &str) -> String {
    let program = ["--", "sh", "-c", script];
    Run::new(options.iter().chain(&program))
        .finish()
        .ok()
        .stdout
}

#[test]
fn files_of_packages_can_be_changed_and_removed() {
    let script = "set -e
        echo more >>/etc/nsswitch.conf; tail -n 1 /etc/nsswitch.conf
        library=$(echo /usr/lib/aarch64-linux-gnu/libstdc++.so.6.*)
        sum=$(md5sum <$library); mv $library /tmp/moved
        [ ! -e $library ]; [ \"$sum\" = \"$(md5sum </tmp/moved)\" ]
        rm -r /usr/lib/aarch64-linux-gnu/gconv; [ ! -e /usr/lib/aarch64-linux-gnu/gconv ]
        echo new >/usr/bin/new; cat /lib/../bin/new
        stat -c '%a %u' /tmp /var/tmp /root /usr/bin/busybox";
    let expected = "more\nnew\n1777 0\n1777 0\n700 0\n755 0\n";
    assert_eq!(shell(&[], script), expected);
}

/// Renamed with a system call: `mv` would copy what cannot be.
#[test]
fn folders_of_packages_can_be_renamed() {
    let script = "import os; os.rename('/usr/lib/python3', '/usr/lib/moved')
print(len(os.listdir('/usr/lib/moved')) > 0, os.path.exists('/usr/lib/python3'))";
    let run = Run::new(["--pkg", "python3", "--", "python3", "-c", script]);
    assert_eq!(run.finish().ok().stdout, "True False\n");
}

/// What a package has replaces what busybox is for; of two sets of packages
/// that have a folder, both fill it; files of this machine come above all.
#[test]
fn packages_and_files_lie_above_each_other() {
    let work = tempfile::tempdir().unwrap();
    let own = work.path().join("own");
    std::fs::write(&own, "own\n").unwrap();
    let file = format!("{}:/usr/share/common-licenses/GPL", own.display());
    let options = [
        "--pkg",
        "base-files",
        "--pkg",
        "coreutils",
        "--pkg",
        "libc6:armhf",
        "--file",
        &file,
    ];
    let script = "readlink /usr/bin/sort || echo a file; cat /usr/share/common-licenses/GPL
        wc -l </usr/share/common-licenses/GPL-3
        ls -d /lib/ld-linux-aarch64.so.1 /lib/ld-linux-armhf.so.3; grep -o gil/disk[0-9] /proc/mounts";
    let said = shell(&options, script);
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines[..2], ["a file", "own"], "{said}");
    assert!(lines[2].parse::<u32>().unwrap() > 600, "{said}");
    let linkers = ["/lib/ld-linux-aarch64.so.1", "/lib/ld-linux-armhf.so.3"];
    assert_eq!(lines[3..5], linkers, "{said}");
    // The run's own, one each of both architectures' libraries, one or more of the others:
    // a large package has its own, unless an older gil made the set.
    let disks = lines.len() - 5;
    assert!(disks >= 4, "{said}");
    let named: Vec<_> = (0..disks).rev().map(|n| format!("gil/disk{n}")).collect();
    assert_eq!(lines[5..], named, "{said}");
}

/// What nobody reads takes no memory: a guest of 256 MiB has packages of more.
#[test]
fn packages_take_no_memory_of_a_guest() {
    let options = ["--memory", "256M", "--pkg", "hashcat"];
    let said = shell(&options, "du -sm /usr | cut -f 1; free -m | sed -n 2p");
    let mut lines = said.lines();
    let files: u32 = lines.next().unwrap().trim().parse().unwrap();
    assert!(files > 150, "{said}");
    let free: Vec<u32> = lines
        .next()
        .unwrap()
        .split_whitespace()
        .skip(1)
        .map(|word| word.parse().unwrap())
        .collect();
    assert!(free[0] < 256 && *free.last().unwrap() > 120, "{said}");
}

/// One has the packages, one what is this run's own.
#[test]
fn a_disk_is_read_only_and_whole() {
    let script = "grep gildisk /proc/partitions | wc -l
        mknod /tmp/disk b $(sed 's/:/ /' /sys/block/gildisk0/dev) && cat /sys/block/gildisk0/ro
        dd if=/dev/zero of=/tmp/disk bs=4096 count=1 2>/dev/null; echo $?
        dd if=/tmp/disk bs=1 skip=1024 count=4 2>/dev/null | od -An -tx1";
    let said = shell(&[], script);
    let lines: Vec<_> = said.lines().map(str::trim).collect();
    assert_eq!(lines, ["2", "1", "1", "e2 e1 f5 e0"], "{said}");
}
