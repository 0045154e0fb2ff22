use serde_json::{Value, json};
use text::{ChatTemplate, DateTime, RenderOptions, TemplateError, TemplateErrorKind};

fn render(source: &str, messages: Value) -> Result<String, TemplateError> {
    let extra = json!({"d": {"b": 1, "a": 2}, "x": null, "y": 0});
    let options = RenderOptions {
        extra: extra.as_object(),
        now: Some(DateTime::from_unix(1_796_040_000, 0)),
        ..Default::default()
    };
    ChatTemplate::new(source, "<s>", "</s>")?.render(&messages, &options)
}

fn check(source: &str, expected: &str) {
    let messages = json!([
        {"role": "system", "content": "S"},
        {"role": "user", "content": "A"},
        {"role": "assistant", "content": "B"},
        {"role": "user", "content": "C"},
    ]);
    assert_eq!(render(source, messages).as_deref(), Ok(expected), "{source}");
}

#[test]
fn block_tags_leave_no_lines_and_no_indent() {
    check("line\n{% if true %}\nx\n{% endif %}\nend\n", "line\nx\nend");
    check(
        "a\n    {% for m in messages %}\n  {{ m.content }}\n    {% endfor %}\nb",
        "a\n  S\n  A\n  B\n  C\nb",
    );
    check("a{#- comment -#}  b", "ab");
    check("{{ 'a' }}\nb\n\n", "a\nb\n");
}

#[test]
fn the_dialect_is_that_of_jinja2() {
    check(
        "{% set ns = namespace(i=0) %}{% for m in messages %}{% set ns.i = ns.i + 1 %}{% endfor %}{{ ns.i }}",
        "4",
    );
    check(
        "{{ '  a\n'.strip() }}|{{ 'a,b'.split(',')[-1] }}|{{ 'abc'.startswith('ab') }}|{{ 'x'.upper() }}",
        "a|b|True|X",
    );
    check(
        "{{ 'ab cd'.title() }}|{{ 'aba'.replace('a', 'x') }}|{{ 'a  '.rstrip() }}|{{ '  a'.lstrip() }}|{{ 'ab'.endswith('b') }}|{{ 'AB'.lower() }}|{{ ', '.join(['a', 'b']) }}",
        "Ab Cd|xbx|a|a|True|ab|a, b",
    );
    check(
        "{{ d.get('b') }}{{ d.get('z') }}{{ d.get('z', 3) }}|{{ d.keys() | list }}{{ d.values() | list }}|{{ 'abc'[1:] }}{{ 'abc'[-1] }}",
        "1None3|['b', 'a'][1, 2]|bcc",
    );
    check("{% for k, v in d.items() %}{{k}}={{v}};{% endfor %}", "b=1;a=2;");
    check("{{ messages[::-1][0].role }}|{{ messages[1:][0]['content'] }}", "user|A");
    check("{{ messages | selectattr('role','equalto','user') | list | length }}", "2");
    check(
        "{{ x is none }}{{ y is defined }}{{ z is defined }}|{{ true }}|{{ none }}|{{ z }}",
        "TrueTrueFalse|True|None|",
    );
    check("{% macro f(a) %}<{{a}}>{% endmacro %}{{ f(1) }}", "<1>");
    check("{{ 'a' ~ 1 }}|{{ '%02d' | format(7) }}", "a1|07");
    check("{% if loop is defined %}x{% else %}y{% endif %}", "y");
    check(
        "{%- set prefix = messages[0]['content'] + '\n' -%}\n{%- for m in messages[1:] -%}\n    {{ (prefix if loop.first else '') ~ m['content'] }}\n{%- endfor -%}",
        "S\nABC",
    );
    check(
        "{% for m in messages %}{{ messages[loop.index0 - 1].content if not loop.first }}{% endfor %}",
        "SAB",
    );
    check(
        "{% if messages[0].content is string %}s{% endif %}{% for c in messages[0].content %}{{ c }}{% endfor %}{% if d is iterable %}i{% endif %}",
        "sSi",
    );
    check(
        "{{ '</think>' in 'a</think>b' }}|{{ 'a</think>\n\nb'.split('</think>')[-1].lstrip('\n') }}",
        "True|b",
    );
    check(
        "{% for m in messages %}{% if loop.index == 2 %}{% continue %}{% elif loop.last %}{% break %}{% endif %}{{ m.content }}{% endfor %}",
        "SB",
    );
    check("{{ bos_token }}{{ eos_token }}{{ tools is none }}{{ add_generation_prompt }}", "<s></s>TrueFalse");
    check("{{ strftime_now('%d %b %Y') }}", "30 Nov 2026");
}

#[test]
fn json_is_written_as_by_python() {
    let tools = json!([{"z": 1.0, "a": "a<b & 'c' é \"q\" </s>\n\u{7}", "n": [null, true, 18446744073709551615u64], "e": {}, "l": []}]);
    let check = |options: &str, expected: &str| {
        let template = ChatTemplate::new(&format!("{{{{ tools[0] | tojson{options} }}}}"), "", "").unwrap();
        let options = RenderOptions { tools: Some(&tools), ..Default::default() };
        assert_eq!(template.render(&json!([]), &options).as_deref(), Ok(expected));
    };
    let plain = r#"{"z": 1.0, "a": "a<b & 'c' é \"q\" </s>\n\u0007", "n": [null, true, 18446744073709551615], "e": {}, "l": []}"#;
    check("", plain);
    check("(ensure_ascii=False)", plain);
    check("(ensure_ascii=True)", &plain.replace('é', "\\u00e9"));
    check(
        "(separators=(',', ':'))",
        r#"{"z":1.0,"a":"a<b & 'c' é \"q\" </s>\n\u0007","n":[null,true,18446744073709551615],"e":{},"l":[]}"#,
    );
    check(
        "(sort_keys=True)",
        r#"{"a": "a<b & 'c' é \"q\" </s>\n\u0007", "e": {}, "l": [], "n": [null, true, 18446744073709551615], "z": 1.0}"#,
    );
    check(
        "(indent=2)",
        "{\n  \"z\": 1.0,\n  \"a\": \"a<b & 'c' é \\\"q\\\" </s>\\n\\u0007\",\n  \"n\": [\n    null,\n    true,\n    18446744073709551615\n  ],\n  \"e\": {},\n  \"l\": []\n}",
    );
}

#[test]
fn numbers_are_written_as_by_python() {
    let check = |number: f64, expected: &str| {
        let extra = json!({"n": number});
        let template = ChatTemplate::new("{{ n | tojson }}", "", "").unwrap();
        let options = RenderOptions { extra: extra.as_object(), ..Default::default() };
        assert_eq!(template.render(&json!([]), &options).as_deref(), Ok(expected));
    };
    check(0.1, "0.1");
    check(-0.0, "-0.0");
    check(123456789012345680.0, "1.2345678901234568e+17");
    check(1e15, "1000000000000000.0");
    check(1e16, "1e+16");
    check(0.0001, "0.0001");
    check(0.00001234, "1.234e-05");
    check(5e-324, "5e-324");
}

#[test]
fn a_refusal_has_the_text_of_the_template() {
    let refusing = "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}[{{ m.role }}]{{ m.content }}{% endfor %}";
    let error = render(refusing, json!([{"role": "system", "content": "S"}])).unwrap_err();
    assert_eq!(error.kind, TemplateErrorKind::Raised);
    assert_eq!(error.message, "System role not supported");
    assert_eq!(render(refusing, json!([{"role": "user", "content": "U"}])).as_deref(), Ok("[user]U"));
    let in_macro = "{% macro f() %}{{ raise_exception('no') }}{% endmacro %}{{ f() }}";
    let error = render(in_macro, json!([])).unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (TemplateErrorKind::Raised, "no"));
}

#[test]
fn a_refusal_names_the_message_that_was_read_last() {
    let check = |source: &str, roles: &[&str], expected: Option<usize>, text: &str| {
        let messages: Value = roles.iter().map(|role| json!({"role": role, "content": "x"})).collect();
        let error = render(source, messages).unwrap_err();
        assert_eq!((error.kind, error.message_index), (TemplateErrorKind::Raised, expected), "{roles:?}");
        assert!(error.to_string().ends_with(text), "{error}");
    };
    let alternate = "{% if messages[0].role == 'system' %}{% set turns = messages[1:] %}{% else %}{% set turns = messages %}{% endif %}{% for m in turns %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('must alternate') }}{% endif %}{{ m['content'] | trim }}{% endfor %}";
    check(alternate, &["user", "user"], Some(1), ": must alternate (messages[1])");
    check(alternate, &["system", "user", "assistant", "assistant"], Some(3), " (messages[3])");
    check(alternate, &["assistant", "user"], Some(0), " (messages[0])");
    let roles = "{% for m in messages %}{% if m.role not in ['user', 'assistant'] %}{{ raise_exception('Unknown role: ' + m.role) }}{% endif %}{% endfor %}";
    check(roles, &["user", "developer", "user"], Some(1), ": Unknown role: developer (messages[1])");
    let last = "{% for m in messages %}{{ m.content }}{% if loop.last and m.role != 'user' %}{{ raise_exception('ends with ' ~ m.role) }}{% endif %}{% endfor %}";
    check(last, &["user", "assistant"], Some(1), ": ends with assistant (messages[1])");
    let empty = "{% if messages | length == 0 %}{{ raise_exception('no messages') }}{% endif %}{% for k, v in messages[0].items() %}{{ raise_exception(k) }}{% endfor %}";
    check(empty, &[], None, ": no messages");
    check(empty, &["user"], Some(0), ": role (messages[0])");
    // What is wrong with the template itself is of no message.
    let error = render("{{ 1 + 'x' }}{{ messages[0].role }}", json!([{"role": "user"}])).unwrap_err();
    assert_eq!((error.kind, error.message_index), (TemplateErrorKind::Render, None));
    let error = render("{{ messages[0].content + 'x' }}", json!([{"content": [1]}])).unwrap_err();
    assert_eq!((error.kind, error.message_index), (TemplateErrorKind::Render, Some(0)));
}

#[test]
fn a_broken_template_is_an_error_with_its_place() {
    for (source, line, column) in [
        ("{% for m in messages %}", 1, 22),
        ("a\n  {% endfor %}", 2, 6),
        ("é {{ 1 + }}", 1, 10),
        ("{% nosuch %}", 1, 4),
    ] {
        let error = ChatTemplate::new(source, "", "").err().unwrap();
        assert_eq!(error.kind, TemplateErrorKind::Syntax, "{source}");
        assert_eq!((error.line, error.column), (line, column), "{source}: {error}");
    }
}

#[test]
fn a_failure_while_rendering_has_its_place() {
    let error = render("a\nb {{ 'x' + messages }}", json!([])).unwrap_err();
    assert_eq!((error.kind, error.line), (TemplateErrorKind::Render, 2));
    let error = render("{{ messages[0].role }}", json!([])).unwrap_err();
    assert_eq!((error.kind, error.line), (TemplateErrorKind::Render, 1));
}

#[test]
fn work_without_end_is_stopped() {
    let source = "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}";
    assert_eq!(render(source, json!([])).unwrap_err().kind, TemplateErrorKind::TooMuchWork);
    let source = "{% set ns = namespace(s='x' * 1000) %}{% for a in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}";
    assert_eq!(render(source, json!([])).unwrap_err().kind, TemplateErrorKind::TooMuchWork);
}

#[test]
fn the_time_comes_from_the_caller() {
    let template = ChatTemplate::new("{{ strftime_now('%Y') }}", "", "").unwrap();
    let error = template.render(&json!([]), &RenderOptions::default()).unwrap_err();
    assert!(error.message.contains("asks for the time"), "{error}");
    let error = render("{{ strftime_now('%Q') }}", json!([])).unwrap_err();
    assert!(error.message.contains("%Q"), "{error}");
}

#[test]
fn a_token_that_the_model_lacks_is_not_defined() {
    let template = ChatTemplate::new("{{ bos_token is defined }}[{{ bos_token }}]", "", "</s>").unwrap();
    let rendered = template.render(&json!([]), &RenderOptions::default());
    assert_eq!(rendered.as_deref(), Ok("False[]"));
}
