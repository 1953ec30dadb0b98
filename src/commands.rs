//! What can be done by a key: one table, which the page's keys, its help, its menu of commands, docs/keys.md and
//! the tests are made of.
//!
//! Owns which key does what. Invariant: no key belongs to two commands. What a command does only the page knows.
//! Finding one goes through the table, some tens of texts. Pinned by `tests/it/commands.rs`, which writes
//! docs/keys.md, too.

use crate::view::Pane;

/// Something that a person can have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// To earlier times.
    Left,
    /// To later times.
    Right,
    /// To traces that began earlier.
    Up,
    /// To traces that began later.
    Down,
    /// Shows less, larger.
    Closer,
    /// Shows more, smaller.
    Further,
    /// Everything in view.
    Everything,
    /// The picked trace, or everything without one.
    Fit,
    /// The next attempt.
    NextAttempt,
    /// The attempt before.
    PreviousAttempt,
    /// Picks the trace below the picked one.
    NextTrace,
    /// Picks the trace above the picked one.
    PreviousTrace,
    /// The next span of the picked trace.
    NextSpan,
    /// The span before.
    PreviousSpan,
    /// Shows a pane.
    Show(Pane),
    /// Into the filter field.
    Filter,
    /// The next span that the filter means.
    NextMatch,
    /// The one before.
    PreviousMatch,
    /// What can be taken away.
    Export,
    /// The menu of commands.
    Menu,
    /// The help.
    Help,
    /// Ends the innermost thing.
    Close,
}

/// A command as people see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Lines of one group stand together.
    pub group: &'static str,
    /// What it does.
    pub title: &'static str,
    /// Its keys, a space between them. A sign is the key that writes it, wherever the keyboard has it; a word is
    /// the place (`KeyW`, as `KeyboardEvent.code` has it) or the name (`Escape`) of a key, pressed without Shift
    /// unless `Shift+` stands before it.
    pub keys: &'static str,
    /// What is run.
    pub command: Command,
}

const fn line(
    group: &'static str,
    title: &'static str,
    keys: &'static str,
    command: Command,
) -> Line {
    Line {
        group,
        title,
        keys,
        command,
    }
}

const MOVE: &str = "Move";
const ZOOM: &str = "Zoom";
const GO: &str = "Go to";
const PANES: &str = "Panes";
const PAGE: &str = "Page";

/// All of them, in the order of the help.
pub const COMMANDS: [Line; 27] = [
    line(MOVE, "Left", "KeyA ArrowLeft", Command::Left),
    line(MOVE, "Right", "KeyD ArrowRight", Command::Right),
    line(MOVE, "Up", "KeyW ArrowUp", Command::Up),
    line(MOVE, "Down", "KeyS ArrowDown", Command::Down),
    line(ZOOM, "In", "+ =", Command::Closer),
    line(ZOOM, "Out", "- _", Command::Further),
    line(ZOOM, "Everything", "0", Command::Everything),
    line(ZOOM, "To the picked trace", "f", Command::Fit),
    line(GO, "Next attempt", "n", Command::NextAttempt),
    line(GO, "Previous attempt", "p", Command::PreviousAttempt),
    line(GO, "Trace below", ". Shift+ArrowDown", Command::NextTrace),
    line(GO, "Trace above", ", Shift+ArrowUp", Command::PreviousTrace),
    line(
        GO,
        "Next span of the trace",
        "Shift+ArrowRight",
        Command::NextSpan,
    ),
    line(
        GO,
        "Previous span of the trace",
        "Shift+ArrowLeft",
        Command::PreviousSpan,
    ),
    line(GO, "Next match of the filter", "Enter", Command::NextMatch),
    line(
        GO,
        "Previous match of the filter",
        "Shift+Enter",
        Command::PreviousMatch,
    ),
    line(PANES, "Herds", "1", Command::Show(Pane::Herds)),
    line(PANES, "Breaker", "2", Command::Show(Pane::Breaker)),
    line(PANES, "What if", "3", Command::Show(Pane::WhatIf)),
    line(PANES, "Timeouts", "4", Command::Show(Pane::Timeouts)),
    line(PANES, "Compare", "5", Command::Show(Pane::Compare)),
    line(PANES, "Trace", "6", Command::Show(Pane::Trace)),
    line(PAGE, "Filter", "/", Command::Filter),
    line(PAGE, "Export", "e", Command::Export),
    line(PAGE, "Commands", "k", Command::Menu),
    line(PAGE, "Help", "?", Command::Help),
    line(
        PAGE,
        "Stop reading, close a list, let go of the trace: what is innermost",
        "Escape",
        Command::Close,
    ),
];

/// The command of a key, as a `KeyboardEvent` tells it: `code` is its place, `key` what it writes. Places come
/// first, so that W A S D are where they are on every layout.
pub fn of_key(code: &str, key: &str, shift: bool) -> Option<Command> {
    let is_it = |of: &str, signs: bool| match of.len() {
        1 => {
            let in_row = !shift && code.strip_prefix("Digit") == Some(of);
            signs && (in_row || key.eq_ignore_ascii_case(of))
        }
        _ => {
            let name = of.strip_prefix("Shift+");
            let with_shift = name.is_some();
            let name = name.unwrap_or(of);
            !signs && with_shift == shift && (code == name || key == name)
        }
    };
    [false, true].iter().find_map(|&signs| {
        COMMANDS
            .iter()
            .find(|line| line.keys.split(' ').any(|of| is_it(of, signs)))
            .map(|line| line.command)
    })
}

/// A key of [`Line::keys`] as it is written on the key.
pub fn label(key: &str) -> String {
    let (before, name) = match key.strip_prefix("Shift+") {
        Some(name) => ("Shift ", name),
        None => ("", key),
    };
    let name = match name {
        "ArrowLeft" => "←",
        "ArrowRight" => "→",
        "ArrowUp" => "↑",
        "ArrowDown" => "↓",
        "Escape" => "Esc",
        _ => name.strip_prefix("Key").unwrap_or(name),
    };
    match name.len() {
        1 => [before, &name.to_ascii_uppercase()].concat(),
        _ => [before, name].concat(),
    }
}
