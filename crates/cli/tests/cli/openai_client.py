"""Asks a server through the published client, unchanged: python3 openai_client.py URL MODEL."""

import sys

import openai
from openai import OpenAI

url, model = sys.argv[1:]
client = OpenAI(base_url=url + "/v1", api_key="secret", max_retries=0)
messages = [{"role": "user", "content": "Hello"}]

assert [m.id for m in client.models.list().data] == [model]
assert client.models.retrieve(model).id == model

whole = client.chat.completions.create(
    model=model, messages=messages, seed=1, max_completion_tokens=12, logprobs=True, top_logprobs=2, n=2
)
assert [choice.index for choice in whole.choices] == [0, 1]
assert whole.usage.prompt_tokens > 0 and whole.usage.prompt_tokens_details.cached_tokens >= 0
assert len(whole.choices[0].logprobs.content[0].top_logprobs) == 2

text, usage = "", None
with client.chat.completions.create(
    model=model, messages=messages, seed=1, max_tokens=12, stream=True, stream_options={"include_usage": True}
) as stream:
    for chunk in stream:
        usage = chunk.usage or usage
        text += chunk.choices[0].delta.content or "" if chunk.choices else ""
assert text == whole.choices[0].message.content, (text, whole)
assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens

raw = client.completions.create(model=model, prompt=["a", "b"], max_tokens=4, logprobs=1, seed=2)
assert len(raw.choices) == 2 and raw.choices[0].logprobs.tokens is not None
pieces = client.completions.create(model=model, prompt="a", max_tokens=4, seed=2, stream=True)
assert "".join(piece.choices[0].text for piece in pieces) == raw.choices[0].text

schema = {"type": "object", "properties": {"ok": {"enum": [True]}}, "required": ["ok"], "additionalProperties": False}
form = {"type": "json_schema", "json_schema": {"name": "it", "schema": schema}}
formed = client.chat.completions.create(model=model, messages=messages, response_format=form, max_tokens=64, seed=1)
assert formed.choices[0].message.content.lstrip().startswith("{")

tool = {"type": "function", "function": {"name": "now", "parameters": schema}}
called = client.chat.completions.create(
    model=model, messages=messages, tools=[tool], tool_choice="required", parallel_tool_calls=False, max_tokens=128, seed=1
)
assert called.choices[0].message.tool_calls[0].function.name == "now", called

# The client asks for base64 of its own accord.
several = client.embeddings.create(model=model, input=["a", "b"]).data
plain = client.embeddings.create(model=model, input=["a", "b"], encoding_format="float").data
assert [e.embedding for e in several] == [e.embedding for e in plain] and len(plain[0].embedding) > 8
short = client.embeddings.create(model=model, input="a", dimensions=4).data
assert len(short[0].embedding) == 4

for error, ask in [
    (openai.NotFoundError, lambda: client.chat.completions.create(model="other", messages=messages)),
    (openai.BadRequestError, lambda: client.chat.completions.create(model=model, messages=[])),
    (openai.AuthenticationError, lambda: OpenAI(base_url=url + "/v1", api_key="no", max_retries=0).models.list()),
]:
    try:
        ask()
    except error as refused:
        assert refused.body["message"], refused
    else:
        raise AssertionError(f"expected {error}")
print("ok")
