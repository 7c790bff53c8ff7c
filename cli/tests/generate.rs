//! Shells take the completions, and each command has a man page.

use std::process::{Command, Stdio};

fn gil(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gil"));
    command.args(args);
    command
}

/// What it prints.
#[track_caller]
fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn bash_completes_commands_and_options() {
    let script = succeeds(&mut gil(&["completions", "bash"]));
    let complete = |words: &str, at: usize| {
        let ask = format!(
            "{script}\nCOMP_WORDS=({words}); COMP_CWORD={at}; _gil gil \"${{COMP_WORDS[{at}]}}\" \"${{COMP_WORDS[{at} - 1]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let mut bash = Command::new("bash");
        succeeds(bash.args(["--norc", "-c", &ask]).stdin(Stdio::null()))
    };
    let commands = complete("gil do", 1);
    assert_eq!(commands.trim(), "doctor");
    let options = complete("gil run --boa", 2);
    assert_eq!(
        options.lines().collect::<Vec<_>>(),
        ["--board", "--board-profile", "--board-timeout"]
    );
}

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = succeeds(&mut gil(&["completions", shell]));
        assert!(script.contains("doctor"), "{shell}: {script}");
    }
}

#[test]
fn every_command_has_a_man_page() {
    let page = succeeds(&mut gil(&["man"]));
    assert!(page.contains(".TH gil 1"), "{page}");
    let work = tempfile::tempdir().unwrap();
    let folder = work.path().join("man/man1");
    succeeds(gil(&["man"]).arg(&folder));
    for (name, words) in [
        ("gil.1", "doctor"),
        ("gil-run.1", "\\-\\-board\\-timeout"),
        ("gil-key-new.1", "new"),
    ] {
        let page = std::fs::read_to_string(folder.join(name)).unwrap();
        assert!(page.contains(words), "{name}: {page}");
    }
}
