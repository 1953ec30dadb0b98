//! What is to be simulated, as text, and what an engine makes of it.

use herdscope::engine::{Engine, RUNS, Step};
use herdscope::messages::{FrameRequest, Question, Topic};
use herdscope::panes::Block;
use herdscope::plot::picture;
use herdscope::supposed::Supposed;
use herdscope::view::{View, Viewport};

use crate::given::herd;

fn view(simulate: &str) -> View {
    View {
        simulate: Some(simulate.to_owned()),
        ..View::default()
    }
}

/// The first line of the table: the variants.
fn head(blocks: &[Block]) -> Vec<String> {
    let head = blocks.iter().find_map(|it| match it {
        Block::Table { head, .. } => Some(head.clone()),
        _ => None,
    });
    head.unwrap_or_default()
}

#[test]
fn a_choice_prints_as_it_reads() {
    for (text, printed) in [
        ("file", Some("file")),
        (
            "thundering-herd,with=shed+ramp_2m",
            Some("thundering-herd,with=ramp_2m+shed"),
        ),
        (
            "file,pods=4,with=cancel,held=0.02s",
            Some("file,with=cancel,pods=4,held=20ms"),
        ),
        (
            "file,with=cancel,with=cancel,pods=4,pods=5",
            Some("file,with=cancel,pods=5"),
        ),
        ("", None),
        ("nowhere", None),
        ("file,with=hope", None),
        ("file,with=", None),
        ("file,pods=0", None),
        ("file,colour=red", None),
    ] {
        let read = text.parse::<Supposed>().ok();
        let again = read.as_ref().map(Supposed::to_string);
        assert_eq!(again.as_deref(), printed, "{text}");
        if let Some(printed) = printed {
            assert_eq!(printed.parse().ok(), read, "{text}");
        }
    }
}

#[test]
fn first_comes_what_is_drawn_then_run_after_run() {
    let mut engine = Engine::with(herd().clone());
    let view = view("file,with=ramp_2m+scale_on_queue");
    let mut task = engine.task(Question::of(&view, Topic::Simulated));
    let first = loop {
        match engine.step(&mut task) {
            Step::More(_) => {}
            Step::Done(answer) => break answer,
            Step::Void => panic!("the data stays"),
        }
    };
    assert!(first.more);
    let names = ["", "as it was", "together", "ramp 2m", "scale on queue"];
    assert_eq!(head(&first.blocks), names);
    let fields = first
        .blocks
        .iter()
        .filter(|it| matches!(it, Block::Field { .. }))
        .count();
    assert_eq!(fields, 7, "each figure with its source");

    // It is drawn on the file's axis of time, from its own first trace on.
    let home = engine.summary().home;
    let request = FrameRequest {
        simulated: [300, 100],
        ..FrameRequest::of(&view, [300, 200], [300, 40], picture::light())
    };
    let frame = engine.frame(&request);
    let beside = frame.scene.simulated.expect("it is drawn");
    assert_eq!((beside.viewport.t0, beside.viewport.t1), (home.t0, home.t1));
    assert_eq!(frame.simulated.len(), 300 * 100 * 4);
    assert!(frame.simulated.iter().any(|&it| it > 0));
    // In a part of the time there are only the traces of that part.
    let part = Viewport {
        t0: home.t1 - 1_000_000_000,
        ..home
    };
    let frame = engine.frame(&FrameRequest {
        viewport: Some(part),
        ..request.clone()
    });
    let later = frame.scene.simulated.expect("it is drawn").viewport;
    assert!(
        later.y0 > beside.viewport.y0 && later.y1 - later.y0 < beside.viewport.y1,
        "{later:?}"
    );
    // Of another choice nothing is drawn.
    let other = FrameRequest {
        simulate: Some("file".to_owned()),
        ..request
    };
    assert!(engine.frame(&other).scene.simulated.is_none());

    let mut answers = 0;
    loop {
        match engine.step(&mut task) {
            Step::More([done, of]) => assert!(done <= of && of == 4 * RUNS as u32),
            Step::Done(answer) if answer.more => answers += 1,
            Step::Done(_) => break,
            Step::Void => panic!("the data stays"),
        }
    }
    assert_eq!(answers + 1, RUNS);
}

#[test]
fn other_data_ends_it() {
    let mut engine = Engine::with(herd().clone());
    let mut task = engine.task(Question::of(&view("thundering-herd"), Topic::Simulated));
    assert!(matches!(engine.step(&mut task), Step::More(_)));
    engine.judge(None, None);
    assert!(matches!(engine.step(&mut task), Step::Void));
}

#[test]
fn what_cannot_be_simulated_says_why() {
    let mut engine = Engine::new();
    let answer = engine
        .answer(Question::of(&view("file"), Topic::Simulated))
        .expect("an answer");
    let [Block::Text(why)] = &answer.blocks[..] else {
        panic!("{:?}", answer.blocks);
    };
    assert!(why.contains("no calls between services"), "{why}");
    // Nothing is to be simulated any more.
    let nothing = engine.answer(Question::of(&View::default(), Topic::Simulated));
    assert_eq!(nothing.map(|it| it.blocks.len()), Some(0));
}
