//! Templates come with models, from anybody: none of them may end the process, or never end.

use serde_json::{Value, json};
use text::{ChatTemplate, DateTime, RenderOptions, TemplateErrorKind, named_template, template_names};

fn render(source: &str) -> Result<String, text::TemplateError> {
    let messages = json!([{"role": "user", "content": "A"}, {"role": "assistant", "content": "B"}]);
    ChatTemplate::new(source, "<s>", "</s>")?.render(&messages, &RenderOptions::default())
}

fn refused(source: &str, words: &str) {
    let error = render(source).expect_err(source);
    assert!(error.to_string().contains(words), "{source}: {error}");
    assert!(error.line > 0, "{source}: {error}");
}

/// What people do with a value.
const USES: [&str; 16] = [
    "{{ v }}",
    "{{ v | tojson }}",
    "{{ v | string | length }}",
    "{{ v ~ '' }}",
    "{{ v | join(',') }}",
    "{{ v == v2 }}",
    "{{ v < v2 }}",
    "{{ v in [v2] }}",
    "{{ [v, v2] | sort | length }}",
    "{{ [v, v2] | unique | list | length }}",
    "{{ {v: 1}[v2] }}",
    "{{ v | list | length }}",
    "{{ '%s' | format(v) }}",
    "{{ v | pprint }}",
    "{% set v = 0 %}{% set v2 = 0 %}{{ 'dropped' }}",
    "",
];

#[test]
fn values_that_a_loop_makes_deeper_are_refused_whatever_is_done_with_them() {
    let deeper = [
        "[ns.v]",
        "{'a': ns.v}",
        "{ns.v: 1}",
        "(ns.v,)",
        "ns.v, 1",
        "dict(a=ns.v)",
        "namespace(a=ns.v)",
        "ns.v | batch(1)",
        "[1] | zip([ns.v])",
        "[1] | batch(2, ns.v)",
        "[1, 2, 3] | slice(2, ns.v)",
        "[{'a': ns.v}] | groupby('a')",
    ];
    for (index, deeper) in deeper.into_iter().enumerate() {
        for usage in &USES[..if index < 2 { USES.len() } else { 1 }] {
            let source = format!(
                "{{% set ns = namespace(v=[0]) %}}{{% for i in range(100000) %}}{{% set ns.v = {deeper} %}}{{% endfor %}}\
                 {{% set v = ns.v %}}{{% set v2 = [ns.v] %}}{usage}"
            );
            refused(&source, "a value is too");
        }
    }
    refused(
        "{% set ns = namespace(v=[]) %}{% for i in range(99999) %}{% set ns.v | default([ns.v], true) %}{% endset %}{% endfor %}",
        "too deep",
    );
}

#[test]
fn values_as_deep_as_allowed_are_used_in_every_way() {
    for usage in USES {
        let source = format!(
            "{{% set ns = namespace(v=[]) %}}{{% set nt = namespace(v=[]) %}}{{% for i in range(200) %}}\
             {{% set ns.v = [ns.v] %}}{{% set nt.v = [nt.v] %}}{{% endfor %}}\
             {{% set v = ns.v %}}{{% set v2 = nt.v %}}{usage}"
        );
        let out = render(&source);
        assert!(out.is_ok() || usage.contains("pprint"), "{usage}: {out:?}");
    }
}

#[test]
fn a_namespace_that_would_hold_itself_holds_what_it_had() {
    let check =
        |source: &str, expected: &str| assert_eq!(render(source).as_deref(), Ok(expected), "{source}");
    check(
        "{% set n = namespace(x=1) %}{% set n.a = n %}{{ n.a.x }}{{ n | tojson }}",
        "1{\"a\": {\"x\": 1}, \"x\": 1}",
    );
    check(
        "{% set n = namespace() %}{% set m = namespace() %}{% set n.a = m %}{% set m.a = n %}{{ n == m }}",
        "False",
    );
    check("{% set n = namespace() %}{% set n.a = [n] %}{% set n.a = [n] %}{{ n.a }}", "[{'a': [{}]}]");
    for usage in USES {
        let source = format!(
            "{{% set v = namespace() %}}{{% set v2 = namespace() %}}{{% set v.a = [v2] %}}{{% set v2.a = {{'v': v}} %}}{usage}"
        );
        assert!(render(&source).is_ok() || usage.contains("pprint"), "{usage}: {:?}", render(&source));
    }
}

#[test]
fn values_that_hold_others_twice_and_again_are_refused() {
    let doubles = [
        "[v, v]",
        "{'a': v, 'b': v}",
        "(v, v)",
        "v, v",
        "dict(a=v, b=v)",
        "[v] | batch(3, v)",
        "[v] | zip([v])",
    ];
    for doubled in doubles {
        let line = format!("{{% set v = {doubled} %}}\n");
        let source = format!("{{% set v = [1] %}}{}{{{{ v == v }}}}", line.repeat(60));
        refused(&source, "too large");
    }
    refused(
        "{% set ns = namespace(v=[]) %}{% for i in range(60) %}{% set ns.v = [ns.v, ns.v] %}{% endfor %}",
        "too large",
    );
    refused("{% macro f(v) %}{{ f([v, v]) }}{% endmacro %}{{ f([1]) }}", "too large");
    // Long text counts as it is long.
    let text = "{% set v = 'x' * 1000000 %}{% set v = [v,v,v,v,v,v,v,v,v,v] %}{% set v = [v,v,v,v,v,v,v,v,v,v] %}{{ v }}";
    assert_eq!(render(text).unwrap_err().kind, TemplateErrorKind::Render);
    assert!(matches!(
        render("{% set v = [messages] * 100000 %}{{ v }}").unwrap_err().kind,
        TemplateErrorKind::Render | TemplateErrorKind::TooMuchWork
    ));
}

#[test]
fn expressions_without_end_are_refused_with_their_place() {
    let n = 100_000;
    let chains = [
        format!("{{{{ 1{} }}}}", "|e".repeat(n)),
        format!("{{{{ x{} }}}}", "+x".repeat(n)),
        format!("{{{{ x{} }}}}", "~x".repeat(n)),
        format!("{{{{ x{} }}}}", ".x".repeat(n)),
        format!("{{{{ x{} }}}}", "[0]".repeat(n)),
        format!("{{{{ x{} }}}}", "()".repeat(n)),
        format!("{{{{ x{} }}}}", " and x".repeat(n)),
        format!("{{{{ x{} }}}}", " if x else x".repeat(n)),
        format!("{{{{ x{} }}}}", " is defined".repeat(n)),
        format!("{{{{ x{} }}}}", " < x".repeat(n)),
        format!("{{{{ {}x }}}}", "not ".repeat(n)),
        format!("{{{{ {}x }}}}", "-".repeat(n)),
        format!("{{{{ x{} }}}}", "**x".repeat(n)),
        format!("{{{{ {}x{} }}}}", "(".repeat(n), ")".repeat(n)),
        format!("{{% if x %}}{}{{% endif %}}", "{% elif x %}".repeat(n)),
        format!("{}{}", "{% if x %}".repeat(n), "{% endif %}".repeat(n)),
    ];
    for source in chains {
        let error = render(&source).unwrap_err();
        assert_eq!((error.kind, error.line), (TemplateErrorKind::Syntax, 1), "{error}");
    }
    // As many as are allowed are compiled.
    for (part, n) in [("|e", 2000), ("+1", 2000), ("-1", 2000), (" if 1 else 1", 1000)] {
        render(&format!("{{{{ 1{} }}}}", part.repeat(n))).unwrap();
    }
    render(&format!("{{{{ {}1 }}}}", "-".repeat(4000))).unwrap();
    render(&format!("{{% if x %}}{}{{% endif %}}", "{% elif x %}".repeat(1000))).unwrap();
}

#[test]
fn calls_without_end_are_refused() {
    for source in [
        "{% macro f(x) %}{{ f([[[x]]]) }}{% endmacro %}{{ f(1) }}",
        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{% macro f(x, y=f(1)) %}a{% endmacro %}{{ f(1) }}",
        "{% macro f(x) %}{% call f(x) %}{{ f(x) }}{% endcall %}{% endmacro %}{{ f(1) }}",
    ] {
        assert!(render(source).is_err(), "{source}");
    }
}

#[test]
fn lists_maps_and_tuples_mean_what_they_meant() {
    let check =
        |source: &str, expected: &str| assert_eq!(render(source).as_deref(), Ok(expected), "{source}");
    check("{% set x = 1 %}{{ [x, [x]][1][0] }}{{ {'a': [x]}.a[0] }}{{ (x, 2)[1] }}{{ (x) + 1 }}", "1122");
    check(
        "{% set x = 1 %}{% set (a, b) = (x, [x]) %}{{ a }}{{ b }}{% set a, b = b, a %}{{ a }}{{ b }}",
        "1[1][1]1",
    );
    check("{% for (k, v) in {'a': messages}.items() %}{{ k }}{{ v[0].role }}{% endfor %}", "auser");
    check("{% for k, v in [[messages, 1], [2, messages]] if k %}{{ v is number }}{% endfor %}", "TrueFalse");
    check(
        "{% set r = 'user' %}{{ messages[0].role in [r, 'x'] }}{{ 'a' not in ['b', r] }}{{ r is in [r] }}",
        "TrueTrueTrue",
    );
    check(
        "{% with (a, b) = (1, [2]), c = [messages][0] %}{{ a }}{{ b }}{{ c | length }}{% endwith %}",
        "1[2]2",
    );
    check(
        "{% macro f(a, b=[1]) %}{{ a }}{{ b }}{{ caller((a, b)) if caller }}{% endmacro %}{{ f([3], b=[bos_token]) }}",
        "[3]['<s>']",
    );
    check(
        "{% macro f() %}{{ caller(1, [2]) }}{% endmacro %}{% call(a, b) f() %}{{ b }}{{ a }}{% endcall %}",
        "[2]1",
    );
    check(
        "{% set ns = namespace(l=[], n=0) %}{% for m in messages %}{% set ns.l = ns.l + [m] %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.l | map(attribute='role') | join(',') }}{{ ns.n }}",
        "user,assistant2",
    );
    check(
        "{% set ns = namespace() %}{% set ns.x %}a{{ 1 }}{% endset %}{{ ns.x }}{% set ns.y | upper %}b{% endset %}{{ ns.y }}",
        "a1B",
    );
    check(
        "{% set ns = namespace() %}{% set ns.x = messages[1:] %}{{ ns.x[0].role }}{% set ns.d = dict(a=1).items() %}{{ ns.d | list }}",
        "assistant[('a', 1)]",
    );
    check(
        "{% for m in messages %}{% set outer = loop %}{% for i in [1] %}{{ outer.index }}{% endfor %}{% endfor %}",
        "12",
    );
    check("{% set x = 1 -%}\n  {%- set y = [x] -%}  {{- y -}}  z", "[1]z");
    check("{% raw %}{{ [x] }}{% endraw %}{# [x, {% #}{{ '[x]' }}", "{{ [x] }}[x]");
    check("{% set if_ = {'in': 1} %}{{ if_.in }}{{ if_['in'] }}", "11");
}

#[test]
fn an_error_keeps_its_place_behind_what_was_added() {
    let before = "{% set x = [bos_token, [bos_token]] %}{% set n = namespace(a=[x]) %}{% set n.a = [x] %}";
    let column = render("é{{ 1 + 'x' }}").unwrap_err().column;
    let error = render(&format!("{before}é{{{{ 1 + 'x' }}}}")).unwrap_err();
    assert_eq!((error.line, error.column), (1, before.len() + column), "{error}");
    let error = render("{% set x = [bos_token] %}\n{{ [x, 1 + [x]] }}").unwrap_err();
    assert_eq!(error.line, 2, "{error}");
}

#[test]
fn templates_of_published_models_render_as_before() {
    let messages: Value = (0..2000)
        .map(|i| json!({"role": if i % 2 == 0 { "user" } else { "assistant" }, "content": format!("message {i}")}))
        .collect();
    let options = RenderOptions {
        now: Some(DateTime::from_unix(1_796_040_000, 0)),
        add_generation_prompt: true,
        ..Default::default()
    };
    for name in template_names() {
        let template = ChatTemplate::new(named_template(name).unwrap(), "<s>", "</s>").unwrap();
        let out = template.render(&messages, &options).unwrap();
        assert!(out.contains("message 1999"), "{name}");
    }
    // Templates that collect messages in a list do so for long chats too.
    let source = "{% set ns = namespace(l=[]) %}{% for m in messages %}{% set ns.l = ns.l + [m] %}{% endfor %}{{ ns.l | length }}";
    let template = ChatTemplate::new(source, "", "").unwrap();
    assert_eq!(template.render(&messages, &options).as_deref(), Ok("2000"));
}
