"""Asks a server through litellm, unchanged: python3 litellm_client.py URL MODEL."""

import os
import sys

# Its table of prices would come from the network.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm

url, model = sys.argv[1:]
litellm.telemetry = False
litellm.suppress_debug_info = True
server = {"model": "openai/" + model, "api_base": url + "/v1", "api_key": "secret", "num_retries": 0}
messages = [{"role": "user", "content": "Hello"}]

whole = litellm.completion(messages=messages, max_tokens=16, seed=1, **server)
text = whole.choices[0].message.content
assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens
chunks = litellm.completion(messages=messages, max_tokens=16, seed=1, stream=True, **server)
assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == text

parameters = {"type": "object", "properties": {"ok": {"enum": [True]}}, "required": ["ok"], "additionalProperties": False}
tool = {"type": "function", "function": {"name": "now", "parameters": parameters}}
called = litellm.completion(messages=messages, tools=[tool], tool_choice="required", max_tokens=200, seed=1, **server)
assert called.choices[0].message.tool_calls[0].function.name == "now", called

answer = litellm.responses(input="Hello", max_output_tokens=16, extra_body={"seed": 1}, **server)
assert answer.output[0].content[0].text == text, answer
pieces = litellm.responses(input="Hello", max_output_tokens=16, extra_body={"seed": 1}, stream=True, **server)
assert "".join(event.delta for event in pieces if event.type == "response.output_text.delta") == text

try:
    litellm.completion(messages=messages, **{**server, "api_key": "no"})
except litellm.AuthenticationError:
    pass
else:
    raise AssertionError("a wrong key is taken")
print("ok")
