//! Text that arrives in pieces.

use tools::{Event, Form, Parser};

fn text(text: &str) -> Event {
    Event::Text(text.to_owned())
}

fn begin(index: usize, name: &str) -> Event {
    Event::CallBegin { index, name: name.to_owned() }
}

fn arguments(index: usize, text: &str) -> Event {
    Event::ArgumentsDelta { index, text: text.to_owned() }
}

fn end(index: usize, complete: bool) -> Event {
    Event::CallEnd { index, complete }
}

/// The events of a text that comes in these pieces, pieces of the same joined.
fn events<'a>(parser: Parser, pieces: impl IntoIterator<Item = &'a str>) -> Vec<Event> {
    let mut parser = parser;
    let mut joined = Vec::new();
    for piece in pieces {
        parser.push(piece).into_iter().for_each(|event| event.append_to(&mut joined));
    }
    parser.finish().into_iter().for_each(|event| event.append_to(&mut joined));
    joined
}

fn whole(form: Form, input: &str) -> Vec<Event> {
    events(Parser::new(form), [input])
}

fn call(index: usize, name: &str, json: &str) -> [Event; 3] {
    [begin(index, name), arguments(index, json), end(index, true)]
}

#[test]
fn calls_in_tags_are_found_among_text() {
    let input = "Let me see.\n<tool_call>\n{\"name\": \"a\", \"arguments\": {\"q\":\"a\\\"b}\\n\"}}\n</tool_call>\n\
        <tool_call>{\"arguments\": {}, \"id\": [1, 2.5e3, \"}\"], \"name\": \"b\"}</tool_call>\nDone.";
    let mut expected = vec![text("Let me see.\n")];
    expected.extend(call(0, "a", "{\"q\":\"a\\\"b}\\n\"}"));
    expected.extend(call(1, "b", "{}"));
    expected.push(text("\nDone."));
    assert_eq!(whole(Form::Hermes, input), expected);
    // What is declared does not matter where a tag says what it is, nor that the last tag is missing.
    let parser = Parser::new(Form::Hermes).with_declared(["other"]);
    assert_eq!(events(parser, ["<tool_call>{\"name\":\"x\"}\n"]), call(0, "x", "{}"));
}

#[test]
fn calls_that_stand_alone_are_found_at_the_start() {
    let input = "{\"name\": \"a\", \"parameters\": {\"x\": [1]}}";
    assert_eq!(whole(Form::Llama3, input), call(0, "a", "{\"x\": [1]}"));
    assert_eq!(whole(Form::Llama3, &format!("<|python_tag|>{input}")), call(0, "a", "{\"x\": [1]}"));
    assert_eq!(whole(Form::Json, &format!(" \n{input}\n")), call(0, "a", "{\"x\": [1]}"));
    let mut two = call(0, "a", "{\"x\": [1]}").to_vec();
    two.extend(call(1, "b", "{}"));
    assert_eq!(whole(Form::Llama3, &format!("{input}; {{\"name\":\"b\",\"parameters\":{{}}}}")), two);
    assert_eq!(whole(Form::Json, &format!("{input}\n{{\"name\":\"b\",\"arguments\":{{}}}}")), two);
    // Behind text they are text.
    assert_eq!(whole(Form::Json, &format!("So: {input}")), [text(&format!("So: {input}"))]);
    // A tool that nobody declared is data.
    let parser = Parser::new(Form::Json).with_declared(["b"]);
    assert_eq!(events(parser, [input]), [text(input)]);
}

#[test]
fn what_is_no_call_is_text_and_nothing_is_lost() {
    let tagged = [
        "",
        "plain",
        "a < b and <tool and <tool_cal",
        "<<tool_call",
        "<tool_call>",
        "<tool_call>\n  nothing",
        "<tool_call>{\"name\": 5, \"arguments\": {}}</tool_call>",
        "<tool_call>{\"name\": \"\", \"arguments\": {}}</tool_call>",
        "<tool_call>{\"arguments\": {}}</tool_call>",
        "<tool_call>{\"name\": \"a\", \"arguments\": \"text\"}</tool_call>",
        "<tool_call>{\"name\": \"a\", \"name\": \"b\", \"arguments\": {}}</tool_call>",
        "<tool_call>{\"name\": \"a\"",
        "<tool_call>{name: \"a\"}</tool_call>",
        "<tool_call>[{\"name\": \"a\"}]</tool_call>",
        "</tool_call>",
        "{\"name\": \"a\", \"arguments\": {}}",
    ];
    for input in tagged {
        let expected: Vec<Event> = if input.is_empty() { vec![] } else { vec![text(input)] };
        assert_eq!(whole(Form::Hermes, input), expected, "{input}");
    }
    let alone = [
        "{\"answer\": {\"name\": \"a\"}}",
        "{\"name\": \"a\"}",
        "{}",
        "  ",
        " {",
        "[1]",
        "{\"name\": \"a\", \"arguments\": [1]}",
    ];
    for input in alone {
        assert_eq!(whole(Form::Json, input), [text(input)], "{input}");
    }
}

#[test]
fn what_is_decided_comes_at_once() {
    let mut parser = Parser::new(Form::Hermes);
    assert_eq!(parser.push("a <b"), [text("a <b")]);
    assert_eq!(parser.push("<tool"), []);
    assert_eq!(parser.push("box"), [text("<toolbox")]);
    assert_eq!(
        parser.push("<tool_call>{\"name\":\"f\",\"arguments\":{\"q\": \"a\\"),
        [begin(0, "f"), arguments(0, "{\"q\": \"a\\")]
    );
    assert_eq!(parser.push("\"b"), [arguments(0, "\"b")]);
    assert_eq!(parser.push("\"}"), [arguments(0, "\"}")]);
    assert_eq!(parser.push("}"), [end(0, true)]);
    assert_eq!(parser.push("</tool_call>"), []);
    assert_eq!(parser.calls(), 1);
    // An object that stands alone is known to be none by its first key.
    let mut parser = Parser::new(Form::Json);
    assert_eq!(parser.push("{\"answer\""), [text("{\"answer\"")]);
}

#[test]
fn calls_that_are_cut_off_or_break_are_not_whole() {
    let head = "<tool_call>{\"name\": \"a\", \"arguments\": ";
    assert_eq!(
        whole(Form::Hermes, &format!("{head}{{\"q\": \"x")),
        [begin(0, "a"), arguments(0, "{\"q\": \"x"), end(0, false)]
    );
    assert_eq!(
        whole(Form::Hermes, &format!("{head}{{\"q\": nil}}}}</tool_call>")),
        [begin(0, "a"), arguments(0, "{\"q\": n"), end(0, false), text("il}}</tool_call>")]
    );
    assert_eq!(
        whole(Form::Hermes, &format!("{head}{{}}, oops")),
        [begin(0, "a"), arguments(0, "{}"), end(0, false), text(", oops")]
    );
    // A call that broke is counted: the next has another number.
    let broken = format!("{head}{{!}} <tool_call>{{\"name\":\"b\"}}</tool_call>");
    let found = whole(Form::Hermes, &broken);
    assert_eq!(found[found.len() - 3..], call(1, "b", "{}"));
}

#[test]
fn deep_arguments_are_no_reason_to_fail() {
    let input = format!("<tool_call>{{\"name\":\"a\",\"arguments\":{{\"x\":{}", "[".repeat(100_000));
    let found = whole(Form::Hermes, &input);
    assert_eq!(found[0], begin(0, "a"));
    assert!(found.contains(&end(0, false)));
}

#[test]
fn events_do_not_depend_on_the_cuts() {
    let parts = [
        "<tool_call>",
        "</tool_call>",
        "<|python_tag|>",
        "{\"name\": \"f\", \"arguments\": {\"q\": \"a\\\"b}\\n é\"}}",
        "{\"name\":\"g\",",
        "\"parameters\":",
        "{}",
        "}",
        "{",
        "text ",
        "<tool",
        "\n",
        ";",
        "\"",
        "é😀",
        "[1,2]",
        "{\"a\":1}",
        "\\u00e9",
        "\"arguments\": {\"k\": [null, -1.5e+3]}",
    ];
    arbtest::arbtest(|u| {
        let mut input = String::new();
        for _ in 0..u.int_in_range(0..=12)? {
            input.push_str(u.choose(&parts)?);
        }
        let form = *u.choose(&[Form::Hermes, Form::Llama3, Form::Json])?;
        let mut pieces = Vec::new();
        let mut rest = input.as_str();
        while !rest.is_empty() {
            // At least one: a source of choices that has run dry says the least for ever.
            let characters: usize = u.int_in_range(1..=9)?;
            let at = rest.char_indices().nth(characters).map_or(rest.len(), |(at, _)| at);
            pieces.push(&rest[..at]);
            rest = &rest[at..];
            if u.ratio(1, 8)? {
                pieces.push("");
            }
        }
        let expected = whole(form, &input);
        assert_eq!(events(Parser::new(form), pieces), expected, "{input:?}");
        check(form, &input, &expected);
        Ok(())
    })
    .budget_ms(2_000);
}

/// Calls are in order and made of their parts; a text without calls is as it was.
fn check(form: Form, input: &str, events: &[Event]) {
    let mut open = None;
    let mut next = 0;
    for event in events {
        match event {
            Event::Text(text) => assert!(open.is_none() && !text.is_empty()),
            Event::CallBegin { index, name } => {
                assert!(open.is_none() && !name.is_empty());
                assert_eq!(*index, next);
                (open, next) = (Some(*index), next + 1);
            }
            Event::ArgumentsDelta { index, text } => {
                assert!((open == Some(*index) && input.contains(text.as_str())) || text == "{}")
            }
            Event::CallEnd { index, .. } => assert_eq!(open.take(), Some(*index)),
        }
    }
    assert!(open.is_none());
    if next == 0 {
        let joined: String = events
            .iter()
            .map(|event| if let Event::Text(text) = event { text.as_str() } else { "" })
            .collect();
        assert_eq!(joined, input, "{form:?}");
    }
}
