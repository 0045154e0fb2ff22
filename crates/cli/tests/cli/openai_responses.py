"""Asks a server for responses through the published client, unchanged: python3 openai_responses.py URL MODEL."""

import sys

import openai
import pydantic
from openai import OpenAI

url, model = sys.argv[1:]
client = OpenAI(base_url=url + "/v1", api_key="secret", max_retries=0)
seed = {"seed": 1}

# The text of a chat, whole and in pieces.
whole = client.responses.create(
    model=model,
    instructions="Be kind.",
    input="Hello",
    max_output_tokens=12,
    include=["message.output_text.logprobs"],
    top_logprobs=2,
    extra_body=seed,
)
messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello"}]
chat = client.chat.completions.create(model=model, messages=messages, seed=1, max_tokens=12)
assert whole.output_text == chat.choices[0].message.content, (whole, chat)
assert whole.status in ("completed", "incomplete") and whole.error is None
assert whole.incomplete_details is None or whole.incomplete_details.reason == "max_output_tokens"
assert len(whole.output[0].content[0].logprobs[0].top_logprobs) == 2
assert whole.usage.total_tokens == whole.usage.input_tokens + whole.usage.output_tokens == chat.usage.total_tokens
assert whole.usage.input_tokens_details.cached_tokens >= 0 and whole.usage.output_tokens_details.reasoning_tokens == 0

more = {"model": model, "instructions": "Be kind.", "input": "Hello", "max_output_tokens": 12, "extra_body": seed}
types, text = [], ""
for event in client.responses.create(stream=True, **more):
    types.append(event.type)
    text += event.delta if event.type == "response.output_text.delta" else ""
assert text == whole.output_text, (text, whole)
assert types[:4] == [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
]
assert types[-1] in ("response.completed", "response.incomplete")


# A schema from a model of pydantic. White space may go on until the tokens are used up: the next seed, then.
class Weather(pydantic.BaseModel):
    warm: bool


def parsed(ask):
    for seed in range(20):
        try:
            return ask({"seed": seed})
        except pydantic.ValidationError:
            pass
    raise AssertionError("no seed gives a whole object")


formed = {"model": model, "input": "Is it warm?", "text_format": Weather, "max_output_tokens": 120}


def streamed(extra):
    with client.responses.stream(extra_body=extra, **formed) as stream:
        deltas = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        final = stream.get_final_response()
    assert deltas == final.output_text
    return final


first = parsed(lambda extra: client.responses.parse(extra_body=extra, **formed))
assert isinstance(first.output_parsed, Weather), first
assert parsed(streamed).output_parsed == first.output_parsed

# A function that must be called, and its result in the next request.
parameters = {
    "type": "object",
    "properties": {"unit": {"enum": ["C", "F"]}},
    "required": ["unit"],
    "additionalProperties": False,
}
tool = {"type": "function", "name": "measure", "parameters": parameters, "strict": True}
asked = [{"role": "user", "content": "How warm is it?"}]
more = {"model": model, "tools": [tool], "max_output_tokens": 200, "parallel_tool_calls": False, "extra_body": seed}
for choice in ["required", {"type": "function", "name": "measure"}]:
    called = client.responses.create(input=asked, tool_choice=choice, **more)
    [call] = called.output
    assert (call.type, call.name, call.status) == ("function_call", "measure", "completed"), called
    with client.responses.stream(input=asked, tool_choice=choice, **more) as stream:
        written = "".join(e.delta for e in stream if e.type == "response.function_call_arguments.delta")
        final = stream.get_final_response()
    assert written == call.arguments == final.output[0].arguments
    assert final.output[0].parsed_arguments["unit"] in ("C", "F")
result = {"type": "function_call_output", "call_id": call.call_id, "output": "20"}
answer = client.responses.create(model=model, input=asked + called.output + [result], max_output_tokens=8)
assert answer.output[0].type == "message", answer

for field, ask in [
    ("previous_response_id", {"input": "Hi", "previous_response_id": whole.id}),
    ("tools[0].type", {"input": "Hi", "tools": [{"type": "web_search"}]}),
    ("input", {"input": []}),
]:
    try:
        client.responses.create(model=model, **ask)
    except openai.BadRequestError as refused:
        assert refused.param == field, refused
    else:
        raise AssertionError(f"{field} is not refused")
print("ok")
