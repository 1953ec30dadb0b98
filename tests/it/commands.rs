//! The table of commands: which key does what, and docs/keys.md, which is written from it; `UPDATE_EXPECT=1`
//! writes it anew.

use std::collections::HashSet;
use std::path::Path;

use herdscope::commands::{COMMANDS, Command, label, of_key};
use herdscope::view::Pane;

#[test]
fn no_two_commands_share_a_key() {
    let mut seen = HashSet::new();
    for line in &COMMANDS {
        for key in line.keys.split(' ') {
            assert!(seen.insert(key.to_ascii_lowercase()), "{key}: {line:?}");
            assert!(!key.is_empty(), "{line:?}");
        }
    }
}

#[test]
fn each_command_stands_once_and_in_its_group() {
    for (at, line) in COMMANDS.iter().enumerate() {
        let after = &COMMANDS[at + 1..];
        assert!(after.iter().all(|it| it.command != line.command));
        let mut later = after.iter().skip_while(|it| it.group == line.group);
        assert!(later.all(|it| it.group != line.group), "{line:?}");
    }
}

#[test]
fn a_key_is_found_by_place_by_name_or_by_sign() {
    let pane = |pane| Some(Command::Show(pane));
    for (code, key, shift, expected) in [
        ("KeyW", "w", false, Some(Command::Up)),
        // Caps lock; and layouts that write something else in that place.
        ("KeyW", "W", false, Some(Command::Up)),
        ("KeyW", "z", false, Some(Command::Up)),
        ("KeyW", ",", false, Some(Command::Up)),
        ("KeyA", "q", false, Some(Command::Left)),
        ("KeyZ", "w", false, None),
        ("KeyW", "W", true, None),
        ("ArrowLeft", "ArrowLeft", false, Some(Command::Left)),
        ("Numpad4", "ArrowLeft", false, Some(Command::Left)),
        ("ArrowDown", "ArrowDown", true, Some(Command::NextTrace)),
        ("ArrowUp", "ArrowUp", true, Some(Command::PreviousTrace)),
        // Signs are where the layout has them, with Shift or without.
        ("Equal", "+", true, Some(Command::Closer)),
        ("Equal", "=", false, Some(Command::Closer)),
        ("BracketRight", "+", false, Some(Command::Closer)),
        ("NumpadSubtract", "-", false, Some(Command::Further)),
        ("Slash", "?", true, Some(Command::Help)),
        ("Minus", "?", true, Some(Command::Help)),
        ("Slash", "/", false, Some(Command::Filter)),
        ("Digit7", "/", true, Some(Command::Filter)),
        ("KeyL", "n", false, Some(Command::NextAttempt)),
        ("KeyN", "N", true, Some(Command::NextAttempt)),
        ("Period", ".", false, Some(Command::NextTrace)),
        // Digits are in their row whatever it writes without Shift, and on the pad.
        ("Digit0", "à", false, Some(Command::Everything)),
        ("Digit0", "0", true, Some(Command::Everything)),
        ("Digit0", ")", true, None),
        ("Numpad0", "0", false, Some(Command::Everything)),
        ("Numpad0", "Insert", false, None),
        ("Digit3", "\"", false, pane(Pane::WhatIf)),
        ("Digit5", "5", false, pane(Pane::Compare)),
        ("Escape", "Escape", false, Some(Command::Close)),
        ("", "", false, None),
        ("KeyQ", "q", false, None),
        ("Space", " ", false, None),
    ] {
        assert_eq!(of_key(code, key, shift), expected, "{code} {key} {shift}");
    }
}

#[test]
fn the_docs_list_every_key() {
    let mut text = String::from(HEAD);
    let mut group = "";
    for line in &COMMANDS {
        if group != line.group {
            group = line.group;
            text.push_str(&format!("\n## {group}\n\n| keys | |\n|---|---|\n"));
        }
        let keys: Vec<String> = line
            .keys
            .split(' ')
            .map(|it| format!("`{}`", label(it)))
            .collect();
        text.push_str(&format!("| {} | {} |\n", keys.join(" "), line.title));
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/keys.md");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&docs, &text).expect("docs/keys.md");
    }
    assert_eq!(std::fs::read_to_string(&docs).expect("docs/keys.md"), text);
}

const HEAD: &str = "\
# Keys, mouse and touch

`K` on the page, or the button ☰, lists the commands, each to be run from there; `?` has them in the help. Keys stay
out of fields and dialogs, and those with Ctrl, Alt or the command key are the browser's. `W` `A` `S` `D` are places on
the keyboard, so they are next to each other on every layout; other letters and signs are the keys that write them. On
the ends of the window in the strip above the plot, the keys that move move that end. Back and Forward undo and redo
what a command does to the view. A test writes these tables from what the page runs.

| mouse, trackpad, touch | |
|---|---|
| wheel | zooms at the pointer, with Shift time alone, with Alt traces alone; or moves, as chosen in the help |
| two fingers on a trackpad | what the wheel does; sideways moves |
| pinch, on a trackpad or a screen; Ctrl and wheel | zooms at its centre |
| drag | zooms to the area; one finger moves |
| Shift and drag, middle button | moves |
| click, tap | picks a trace |
| pointing; a long press | names the span |
| double-click | everything |
";
