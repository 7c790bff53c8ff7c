//! Folders of the host in the guest, and what a program leaves for its user.

use gil_tests::{Finished, Run, numbers_of_processes, processes_naming};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A folder `data` to share, and what lies beside it.
struct Work(TempDir);

impl Work {
    fn new() -> Self {
        let work = tempfile::tempdir().unwrap();
        fs::create_dir(work.path().join("data")).unwrap();
        fs::write(work.path().join("secret"), "hidden\n").unwrap();
        fs::write(work.path().join("data/in"), "from the host\n").unwrap();
        Self(work)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }

    fn share(&self, more: &str) -> String {
        format!("--share={}{more}", self.at("data").display())
    }

    fn out(&self, from: &str, to: &str) -> String {
        format!("--out={from}:{}", self.at(to).display())
    }
}

fn shell(options: &[&str], script: &str) -> Finished {
    Run::new([options, &["sh", "-c", script]].concat()).finish()
}

#[test]
fn a_program_reads_a_file_of_the_host_and_writes_another() {
    let work = Work::new();
    for life in [&["--boot"][..], &[]] {
        let script = "cd /mnt/data && tr a-z A-Z <in >out && stat -c '%u %a' out in";
        let run = shell(&[life, &[&work.share("")]].concat(), script).ok();
        assert_eq!(run.stdout, "0 644\n0 644\n", "both are root's there");
        assert_eq!(work.read("data/out"), "FROM THE HOST\n");
        let own = fs::metadata(work.at("data")).unwrap().uid();
        assert_eq!(fs::metadata(work.at("data/out")).unwrap().uid(), own);
        fs::remove_file(work.at("data/out")).unwrap();
    }
}

#[test]
fn equal_folders_make_equal_runs() {
    let work = Work::new();
    let times = [&["--boot"][..], &[], &[]].map(|life| {
        let script = "cat /mnt/data/in >/mnt/data/out; ls /mnt/data; rm /mnt/data/out";
        let run = shell(&[life, &[&work.share("")]].concat(), script).ok();
        assert_eq!(run.stdout, "in\nout\n");
        run.report["simulated"].clone()
    });
    assert_eq!(times[0], times[1]);
    assert_eq!(times[1], times[2]);
}

/// All that programs do with files.
#[test]
fn files_are_made_moved_and_removed_as_on_any_disk() {
    let work = Work::new();
    let script = r#"
        set -e
        cd /mnt/data
        mkdir "a b"; echo text >"a b/c d"; mv "a b" moved; cat "moved/c d"
        name=$(printf 'odd\377name'); echo odd >"$name"; ls | wc -l
        ln in hard; stat -c %h in; rm hard
        ln -s in link; readlink link; cat link
        chmod 4751 in; stat -c %a in
        chown 1000 in; stat -c %u in
        echo more >>in; wc -l <in
        i=0; while [ $i -lt 300 ]; do echo $i >n$i; i=$((i + 1)); done
        cat n* | wc -l; rm n*
        dd if=/dev/zero of=big bs=64k count=512 2>/dev/null; stat -c %s big
        truncate -s 5 big; stat -c %s big
        df . | grep -c gil
    "#;
    let run = shell(&[&work.share("")], script);
    let expected = "text\n3\n2\nin\nfrom the host\n751\n0\n2\n300\n33554432\n5\n1\n";
    assert_eq!(run.stdout, expected, "{run:#?}");
    let odd = work.at("data").join(OsStr::from_bytes(b"odd\xffname"));
    assert_eq!(fs::read(odd).unwrap(), b"odd\n");
    assert_eq!(work.read("data/moved/c d"), "text\n");
    let mode = fs::metadata(work.at("data/in")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o7777, 0o751, "no rights by a file");
}

/// A folder is as large as its disk: bytes arrive as they were sent.
#[test]
fn a_large_file_comes_and_goes_whole() {
    let work = Work::new();
    let bytes: Vec<u8> = (0..9_000_001_u32).flat_map(u32::to_le_bytes).collect();
    fs::write(work.at("data/large"), &bytes).unwrap();
    let script = "cat /mnt/data/large >/tmp/large; cp /tmp/large /mnt/data/copy";
    shell(&[&work.share("")], script).ok();
    assert!(fs::read(work.at("data/copy")).unwrap() == bytes);
}

#[test]
fn nothing_outside_the_folder_is_reached() {
    let work = Work::new();
    symlink("../secret", work.at("data/near")).unwrap();
    symlink(work.at("secret"), work.at("data/far")).unwrap();
    let secret = work.at("secret");
    let script = format!(
        "cd /mnt/data
        cat near far ../secret ../../secret {0} /mnt/data/../secret
        echo x >near; echo x >far; ln -s {0} own; echo x >own; cat own
        mkfifo fifo; mknod null c 1 3
        mv in ../in; ls /mnt; cat ../in",
        secret.display()
    );
    let run = shell(&[&work.share("")], &script);
    assert!(!run.stdout.contains("hidden"), "{run:#?}");
    assert_eq!(work.read("secret"), "hidden\n");
    // What `near` leads to in the guest is a file of the guest's own.
    assert_eq!(run.stdout, "data\nin\nsecret\nfrom the host\n", "{run:#?}");
    let names = |path: &Path| fs::read_dir(path).unwrap().count();
    assert_eq!((names(work.0.path()), names(&work.at("data"))), (2, 3));
}

#[test]
fn a_folder_to_read_is_not_changed() {
    let work = Work::new();
    let script = "cd /x/in; cat in
        echo x >new; echo x >in; rm in; mkdir new; chmod 600 in; touch in
        mount -o remount,rw /x/in; echo x >new; rm in; mv in other; ls";
    let run = shell(&[&work.share(":/x/in:ro")], script).ok();
    assert_eq!(run.stdout, "from the host\nin\n", "{run:#?}");
    assert_eq!(work.read("data/in"), "from the host\n");
    let errors = run.stderr.matches("Read-only file system").count();
    assert_eq!(errors, 9, "{run:#?}");
}

#[test]
fn what_a_program_leaves_is_copied_however_it_ends() {
    let work = Work::new();
    fs::write(work.at("old"), "old").unwrap();
    let outs = [
        work.out("result", "old"),
        work.out("/tmp/tree", "new"),
        work.out("/root/result", "data"),
    ];
    let outs: Vec<_> = outs.iter().map(String::as_str).collect();
    let script = "echo result >result; mkdir -p '/tmp/tree/a b'; echo x >'/tmp/tree/a b/c'
        ln -s /etc/passwd /tmp/tree/link; chmod 700 result; exit 3";
    let run = shell(&outs, script);
    assert_eq!((run.code, &run.stderr[..]), (Some(3), ""));
    assert_eq!(work.read("old"), "result\n");
    assert_eq!(work.read("data/result"), "result\n");
    assert_eq!(work.read("new/a b/c"), "x\n");
    assert_eq!(
        fs::read_link(work.at("new/link")).unwrap(),
        Path::new("/etc/passwd")
    );
    let mode = fs::metadata(work.at("old")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert_eq!(
        fs::read_dir(work.0.path()).unwrap().count(),
        4,
        "nothing else"
    );
}

#[test]
fn an_output_that_is_not_there_fails_a_success() {
    let work = Work::new();
    let out = work.out("none", "new");
    for (script, code) in [("true", 125), ("exit 3", 3)] {
        let run = shell(&[&out], script);
        assert_eq!(run.code, Some(code), "{run:#?}");
        let expected =
            "gil: --out /root/none is not in the guest now that the program has ended: check";
        assert!(run.stderr.contains(expected), "{run:#?}");
    }
    assert_eq!(fs::read_dir(work.0.path()).unwrap().count(), 2);
}

#[test]
fn an_output_replaces_no_file_that_the_run_writes() {
    let work = Work::new();
    fs::create_dir(work.at("results")).unwrap();
    let out = work.out("/root/results", ".");
    let trace = format!("--record={}", work.at("results/trace").display());
    let script = "mkdir results; echo new | tee results/trace >results/other";
    let run = shell(&[&out, &trace], script);
    assert_eq!(run.code, Some(125), "{run:#?}");
    let sentence = "has files by the name of --record ";
    assert!(run.stderr.contains(sentence), "{run:#?}");
    assert_eq!(work.read("results/other"), "new\n");
    let trace = fs::read(work.at("results/trace")).unwrap();
    assert_eq!(trace, gil_files::recording::FILE.header());
}

#[test]
fn what_cannot_be_shared_or_written_is_known_before_the_guest_boots() {
    let work = Work::new();
    let none = format!("--share={}", work.at("none").display());
    let file = format!("--share={}", work.at("secret").display());
    let nowhere = work.out("x", "none/x");
    for (option, expected) in [
        (&none[..], "--share"),
        (&file, "Not a directory"),
        (&nowhere, "--out"),
        ("--out=x:/dev/null", "--out /dev/null"),
        ("--share=:ro", "write DIR"),
        ("--out=x", "write GUEST:HOST"),
        (&work.share(":in"), "write it from the guest's root"),
        (&work.share(":/"), "name a folder below it"),
        (
            &work.share(":/proc"),
            "would hide the guest's own files in /proc",
        ),
        (
            &work.share(":/root:ro"),
            "would hide the guest's own files in /root",
        ),
    ] {
        let run = shell(&[option], "echo started");
        assert_eq!((run.code, &run.stdout[..]), (Some(125), ""), "{option}");
        assert!(run.stderr.contains(expected), "{run:#?}");
    }
}

#[test]
fn ctrl_c_ends_who_serves_the_folder_and_leaves_no_part() {
    let work = Work::new();
    let script = "echo part >/root/x; : >/mnt/data/started; while :; do cat /mnt/data/in; done";
    let options = [work.share(""), work.out("x", "new")];
    let run = Run::new([&options[0], &options[1], "sh", "-c", script]);
    let (child, folder) = run.start();
    let began = Instant::now();
    while !work.at("data/started").exists() {
        assert!(began.elapsed() < Duration::from_secs(120));
        std::thread::sleep(Duration::from_millis(20));
    }
    let data = work.at("data").display().to_string();
    let serving = || {
        processes_naming(&data)
            .iter()
            .any(|line| line.contains("serve-folders"))
    };
    assert!(serving());
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let run = Finished::of(child.wait_with_output().unwrap(), &folder);
    assert_eq!(run.code, Some(130), "{run:#?}");
    assert!(!serving());
    assert_eq!(fs::read_dir(work.0.path()).unwrap().count(), 2, "no part");
}

#[test]
fn a_run_fails_whose_folders_nobody_serves_any_more() {
    let work = Work::new();
    let script = ": >/mnt/data/started; while cat /mnt/data/in >/dev/null; do :; done; exit 0";
    let (child, folder) = Run::new([&work.share("")[..], "sh", "-c", script]).start();
    let began = Instant::now();
    while !work.at("data/started").exists() {
        assert!(began.elapsed() < Duration::from_secs(120));
        std::thread::sleep(Duration::from_millis(20));
    }
    let serving = format!("serve-folders rw:{}", work.at("data").display());
    let [server] = numbers_of_processes(&serving)[..] else {
        panic!("one process serves the folder");
    };
    kill(Pid::from_raw(server), Signal::SIGKILL).unwrap();
    let run = Finished::of(child.wait_with_output().unwrap(), &folder);
    assert_eq!(run.code, Some(125), "{run:#?}");
    let expected = "the process that serves shared folders ended before the guest did (signal: 9";
    assert!(run.stderr.contains(expected), "{run:#?}");
}

#[test]
fn two_runs_share_one_folder() {
    let work = Work::new();
    let runs = ["a", "b"].map(|name| {
        let script = "for i in 1 2 3 4 5 6 7 8 9; do echo $1 >>/mnt/data/$1; done";
        Run::new([&work.share("")[..], "--", "sh", "-c", script, "sh", name]).start()
    });
    for (child, folder) in runs {
        Finished::of(child.wait_with_output().unwrap(), &folder).ok();
    }
    for name in ["a", "b"] {
        assert_eq!(
            work.read(&format!("data/{name}")),
            format!("{name}\n").repeat(9)
        );
    }
}
