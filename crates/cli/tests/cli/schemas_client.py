"""Asks a server for answers that obey schemas, and has jsonschema judge them: python3 schemas_client.py URL SCHEMAS COUNT.

SCHEMAS is a file with a list of them, COUNT how many answers there are to each, with seeds from 0 on. An answer that the limit of
tokens cut is not judged; a schema that the server refuses must be refused with 400 and a pointer.
"""

import concurrent.futures
import json
import sys
import urllib.error
import urllib.request

import jsonschema

url, path, count = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    schemas = json.load(file)


def answer(schema, seed):
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    body = {"prompt": "x", "temperature": 2, "seed": seed, "max_tokens": 400, "response_format": form}
    request = urllib.request.Request(url + "/v1/completions", json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request) as response:
            choice = json.load(response)["choices"][0]
            return choice["finish_reason"], choice["text"]
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


judged = {"stop": 0, "length": 0, 400: 0}
with concurrent.futures.ThreadPoolExecutor(16) as pool:
    asked = [(schema, pool.submit(answer, schema, seed)) for schema in schemas for seed in range(int(count))]
    for schema, future in asked:
        reason, text = future.result()
        judged[reason] += 1
        if reason == "stop":
            kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
            kind(schema, format_checker=kind.FORMAT_CHECKER).validate(json.loads(text))
        elif reason == 400:
            assert "#" in text or "/" in text, text
assert judged["stop"] >= len(asked) / 2, judged
print(judged)
print("ok")
