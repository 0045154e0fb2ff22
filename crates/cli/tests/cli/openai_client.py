"""Asks a server through the published client, unchanged: python3 openai_client.py URL MODEL LIMITED_URL.

At LIMITED_URL is a server that takes one request a minute."""

import sys

import openai
import pydantic
from openai import OpenAI

url, model, limited_url = sys.argv[1:]
client = OpenAI(base_url=url + "/v1", api_key="secret", max_retries=0)
messages = [{"role": "user", "content": "Hello"}]

assert [m.id for m in client.models.list().data] == [model]
assert client.models.retrieve(model).id == model

# Chats: several answers, whole and in pieces.
asked = {"model": model, "messages": messages, "seed": 1, "max_completion_tokens": 12, "n": 2}
whole = client.chat.completions.create(logprobs=True, top_logprobs=2, **asked)
assert [choice.index for choice in whole.choices] == [0, 1]
assert whole.usage.prompt_tokens > 0 and whole.usage.prompt_tokens_details.cached_tokens >= 0
assert len(whole.choices[0].logprobs.content[0].top_logprobs) == 2

texts, usage = ["", ""], None
with client.chat.completions.create(stream=True, stream_options={"include_usage": True}, **asked) as stream:
    for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
assert texts == [choice.message.content for choice in whole.choices], (texts, whole)
assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens

again = client.chat.completions.create(model=model, messages=messages, seed=2, max_tokens=12)
assert again.choices[0].message.content == texts[1], "the second answer has the next seed"
stop = texts[0][len(texts[0]) // 2]
short = client.chat.completions.create(model=model, messages=messages, seed=1, max_tokens=12, stop=[stop])
assert short.choices[0].message.content == texts[0].split(stop)[0] and short.choices[0].finish_reason == "stop"

# Raw prompts.
raw = client.completions.create(model=model, prompt=["a", "b"], max_tokens=4, logprobs=1, seed=2, n=2)
assert [choice.index for choice in raw.choices] == [0, 1, 2, 3] and raw.choices[0].logprobs.tokens is not None
pieces = client.completions.create(model=model, prompt="a", max_tokens=4, seed=2, stream=True)
assert "".join(piece.choices[0].text for piece in pieces) == raw.choices[0].text


# A schema, plain and from a model of pydantic. White space may go on until the tokens are used up: the next seed, then.
class Weather(pydantic.BaseModel):
    warm: bool


def parsed():
    for seed in range(20):
        try:
            return client.chat.completions.parse(
                model=model, messages=messages, response_format=Weather, max_tokens=120, seed=seed
            )
        except openai.LengthFinishReasonError:
            pass
    raise AssertionError("no seed gives a whole object")


assert isinstance(parsed().choices[0].message.parsed, Weather)
schema = {"type": "object", "properties": {"ok": {"enum": [True]}}, "required": ["ok"], "additionalProperties": False}
form = {"type": "json_schema", "json_schema": {"name": "it", "schema": schema}}
formed = client.chat.completions.create(model=model, messages=messages, response_format=form, max_tokens=64, seed=1)
assert formed.choices[0].message.content.lstrip().startswith("{")

# Tools.
tools = [{"type": "function", "function": {"name": name, "parameters": schema}} for name in ("now", "then")]
asked = {"model": model, "messages": messages, "tools": tools, "parallel_tool_calls": False, "max_tokens": 200, "seed": 1}
for choice in ["required", {"type": "function", "function": {"name": "then"}}]:
    called = client.chat.completions.create(tool_choice=choice, **asked)
    [call] = called.choices[0].message.tool_calls
    assert call.function.name in (["now", "then"] if choice == "required" else ["then"]), called
    with client.chat.completions.stream(tool_choice=choice, **asked) as stream:
        final = stream.get_final_completion()
    [same] = final.choices[0].message.tool_calls
    assert (same.function.name, same.function.arguments) == (call.function.name, call.function.arguments)

# The client asks for base64 of its own accord.
several = client.embeddings.create(model=model, input=["a", "b"]).data
plain = client.embeddings.create(model=model, input=["a", "b"], encoding_format="float").data
assert [e.embedding for e in several] == [e.embedding for e in plain] and len(plain[0].embedding) > 8
short = client.embeddings.create(model=model, input="a", dimensions=4).data
assert len(short[0].embedding) == 4

limited = OpenAI(base_url=limited_url + "/v1", api_key="secret", max_retries=0)
limited.completions.create(model=model, prompt="a", max_tokens=1)
for error, ask in [
    (openai.NotFoundError, lambda: client.chat.completions.create(model="other", messages=messages)),
    (openai.NotFoundError, lambda: client.models.retrieve("other")),
    (openai.BadRequestError, lambda: client.chat.completions.create(model=model, messages=[])),
    (openai.AuthenticationError, lambda: OpenAI(base_url=url + "/v1", api_key="no", max_retries=0).models.list()),
    (openai.RateLimitError, lambda: limited.completions.create(model=model, prompt="a", max_tokens=1)),
]:
    try:
        ask()
    except error as refused:
        assert refused.body["message"], refused
        if error is openai.RateLimitError:
            assert int(refused.response.headers["retry-after"]) > 0
    else:
        raise AssertionError(f"expected {error}")
print("ok")
