//! Watches an example by `strace` and reads what it says.

use std::path::{Path, PathBuf};
use std::process::Command;

/// One system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The thread that made it.
    pub tid: u32,
    pub name: String,
    /// What stands in its brackets, each descriptor's number as `#`, as in `#</path>`.
    pub arguments: String,
    /// What stands behind the equals sign.
    pub result: String,
}

impl Call {
    /// The call as one text, without its result.
    pub fn text(&self) -> String {
        format!("{}({})", self.name, self.arguments)
    }

    /// An argument as a number; the first is 0.
    pub fn number(&self, argument: usize) -> i64 {
        self.arguments.split(", ").nth(argument).unwrap().parse().unwrap()
    }
}

/// An example, built with this test by `cargo test`.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().join("examples").join(name)
}

/// What an example prints under `strace -f -y`, and the calls of the kinds asked for, in the order in which they began.
/// `None`, said by name, where the test must be skipped.
pub fn traced(test: &str, kinds: &str, name: &str, arguments: &[&str]) -> Option<(Vec<u8>, Vec<Call>)> {
    for needed in [Path::new("/usr/bin/strace"), &example(name)] {
        if !needed.exists() {
            eprintln!("skipped {test}: no {}", needed.display());
            return None;
        }
    }
    let folder = crate::scratch::folder();
    let trace = folder.path().join("trace");
    let output = Command::new("/usr/bin/strace")
        .args(["-f", "-y", "-s", "16", "-e", &format!("trace={kinds}"), "-o"])
        .arg(&trace)
        .arg(example(name))
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some((output.stdout, calls_in(&std::fs::read_to_string(trace).unwrap())))
}

fn calls_in(trace: &str) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    for line in trace.lines() {
        let (tid, rest) = line.trim_start().split_once(char::is_whitespace).unwrap();
        let (tid, rest) = (tid.parse::<u32>().unwrap(), rest.trim());
        if let Some(resumed) = rest.strip_prefix("<... ") {
            let (_, behind) = resumed.split_once(" resumed>").unwrap();
            let begun = calls.iter_mut().rev().find(|call| call.tid == tid && call.result.is_empty()).unwrap();
            let (arguments, result) = behind.rsplit_once(" = ").unwrap();
            let whole = begun.arguments.clone() + in_brackets(arguments);
            (begun.arguments, begun.result) = (without_numbers(whole.trim_end()), result.to_owned());
        } else if let Some((name, arguments)) = rest.split_once('(') {
            let begun = arguments.strip_suffix("<unfinished ...>").map(|begun| (begun, ""));
            let (arguments, result) = begun.or_else(|| arguments.rsplit_once(" = ")).unwrap();
            let arguments = without_numbers(if result.is_empty() { arguments } else { in_brackets(arguments) });
            let result = result.to_owned();
            calls.push(Call { tid, name: name.to_owned(), arguments, result });
        }
    }
    calls
}

/// What stands before the closing bracket.
fn in_brackets(arguments: &str) -> &str {
    arguments.trim_end().strip_suffix(')').unwrap()
}

/// The first argument's descriptor, if it is one, without its number; and no flag that says nothing here.
fn without_numbers(arguments: &str) -> String {
    let arguments = &arguments.replace("|O_LARGEFILE", "");
    match arguments.split_once('<') {
        Some((number, path)) if number.bytes().all(|byte| byte.is_ascii_digit()) && !number.is_empty() => {
            format!("#<{path}")
        }
        _ => arguments.to_owned(),
    }
}

#[test]
fn lines_cut_in_two_are_joined() {
    let trace = "7  openat(AT_FDCWD</x>, \"/a b\", O_RDONLY) = 3</a b>\n\
        7  read(3</a b>,  <unfinished ...>\n\
        12 lseek(4</c>, 0, SEEK_SET)         = 0\n\
        7  <... read resumed>\"\", 8)           = -1 EIO (Input/output error)\n\
        7  +++ exited with 0 +++\n";
    let calls = calls_in(trace);
    let texts: Vec<String> = calls.iter().map(Call::text).collect();
    let expected = ["openat(AT_FDCWD</x>, \"/a b\", O_RDONLY)", "read(#</a b>,  \"\", 8)", "lseek(#</c>, 0, SEEK_SET)"];
    assert_eq!(texts, expected);
    assert_eq!(calls[1].result, "-1 EIO (Input/output error)");
    assert_eq!((calls[2].tid, calls[2].number(1)), (12, 0));
}
