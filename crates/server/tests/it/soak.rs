//! Many clients for some time, some of which go away or send nonsense: the others get what they would get alone.

use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use server::ServerOptions;

use crate::support::{Running, chat, model, no_end, raw, send, start_parallel};

const CLIENTS: usize = 32;

/// Memory that may come after the first part of the time: pages that threads and the allocator have not touched before.
const GROWTH_MAX: u64 = 16 << 20;

/// What clients ask for.
fn requests(running: &Running) -> Vec<(&'static str, Json)> {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let format = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": schema}});
    let requests = (0..24).map(|i| {
        let begin = ["A river", "A mountain that", "Some say that"][i % 3].repeat(1 + i * 2);
        let options = json!({"seed": i, "temperature": 1.5, "max_tokens": 20 + i * 5, "logprobs": null});
        match i % 4 {
            0 => ("/v1/completions", raw(&begin, options)),
            1 => ("/v1/chat/completions", chat(&begin, options)),
            2 => ("/v1/chat/completions", {
                let mut body = chat(&begin, options);
                body["response_format"] = format.clone();
                body
            }),
            _ => ("/v1/completions", {
                let mut body = raw(&begin, options);
                body["logit_bias"] = no_end(running);
                body["stop"] = json!(["e", "7"]);
                body
            }),
        }
    });
    requests.collect()
}

/// The part of an answer that does not depend on when it was asked for.
fn said(answer: &Json) -> String {
    let choice = &answer["choices"][0];
    let text = choice["message"]["content"].as_str().or(choice["text"].as_str());
    format!("{:?} {}", text.expect("a text"), choice["finish_reason"])
}

/// The same of a stream.
fn streamed(events: &[Json]) -> String {
    let (mut text, mut reason) = (String::new(), Json::Null);
    for choice in events.iter().filter_map(|event| event["choices"].get(0)) {
        text += choice["delta"]["content"].as_str().or(choice["text"].as_str()).unwrap_or_default();
        if !choice["finish_reason"].is_null() {
            reason = choice["finish_reason"].clone();
        }
    }
    format!("{text:?} {reason}")
}

/// Numbers for choices, splitmix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

fn soak(time: Duration) {
    let running = start_parallel(model(), ServerOptions::default(), CLIENTS);
    let requests = requests(&running);
    let alone: Vec<String> = requests.iter().map(|(path, body)| said(&running.answer(path, body))).collect();
    let nonsense =
        ["", "[]", "{:", "{\"messages\":\"hi\"}", "{\"prompt\":[-1]}", "{\"prompt\":\"x\",\"n\":0}"];
    let (compared, begun) = (AtomicUsize::new(0), Instant::now());
    let client = |number: usize| {
        let mut dice = Dice(number as u64);
        while begun.elapsed() < time {
            let index = dice.below(requests.len());
            let (path, body) = &requests[index];
            match dice.below(10) {
                0 => {
                    let wrong = nonsense[dice.below(nonsense.len())];
                    assert_eq!(running.post_bytes(path, wrong.as_bytes()).status, 400, "{wrong}");
                }
                1 | 2 => {
                    let mut body = body.clone();
                    body["stream"] = json!(dice.below(2) == 0);
                    let mut stream = send(&running, path, &body);
                    stream.set_read_timeout(Some(Duration::from_millis(1 + dice.below(200) as u64))).unwrap();
                    // Whether something came does not matter.
                    let _ = stream.read(&mut vec![0; dice.below(2000)]);
                }
                3..6 => {
                    let mut body = body.clone();
                    body["stream"] = json!(true);
                    let response = running.post(path, &body);
                    assert_eq!(response.status, 200, "{}", response.text);
                    assert_eq!(streamed(&response.events()), alone[index], "{body}");
                    compared.fetch_add(1, Relaxed);
                }
                _ => {
                    assert_eq!(said(&running.answer(path, body)), alone[index], "{body}");
                    compared.fetch_add(1, Relaxed);
                }
            }
        }
    };
    let memory = thread::scope(|scope| {
        for number in 0..CLIENTS {
            let client = &client;
            scope.spawn(move || client(number));
        }
        let mut memory = Vec::new();
        while begun.elapsed() < time {
            thread::sleep(Duration::from_millis(250));
            memory.push(resident());
        }
        memory
    });
    let stats = || running.server.stats();
    running.wait_until("all are gone", |_| stats().running == 0 && stats().waiting == 0);
    running.server.engine().unwrap().forget_kept().unwrap();
    running.wait_until("the cache is empty", |_| stats().kept == 0 && stats().kv_bytes_committed == 0);
    let compared = compared.into_inner();
    assert!(compared > CLIENTS, "only {compared} answers were compared");
    // A sixth of the time, in two minutes 20 seconds.
    let (first, rest) = memory.split_at(memory.len() / 6);
    let (first, most) = (first.iter().max().unwrap(), rest.iter().max().unwrap());
    assert!(*most <= first + GROWTH_MAX, "{first} bytes at first, {most} later");
    println!("{compared} answers compared, {} MiB at first, {} at most later", first >> 20, most >> 20);
}

#[test]
fn clients_that_leave_or_send_nonsense_do_not_disturb_the_others() {
    soak(Duration::from_secs(6));
}

#[test]
#[ignore = "takes two minutes"]
fn two_minutes_of_clients_leave_no_trace() {
    soak(Duration::from_secs(120));
}
