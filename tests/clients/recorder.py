"""A model on loopback that answers "recorded", and keeps the requests."""

import contextlib
import http.server
import json
import threading
import uuid

SAYS = "recorded"


def says(_request):
    return [{"type": "text", "text": SAYS}]


def size(request):
    """Returns the tokens of the messages, with four characters for each: with a much smaller number, ctx-compact finds that it gains nothing."""
    return len(json.dumps(request.get("messages") or request.get("input") or request.get("contents"))) // 4


def anthropic_events(request, content):
    usage = {"input_tokens": size(request), "output_tokens": 1}
    # Claude Code takes blocks with the same id for one reply.
    message = {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "model": request.get("model"),
               "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    events = [{"type": "message_start", "message": message}]
    for index, block in enumerate(content):
        is_text = block["type"] == "text"
        delta = {"type": "text_delta", "text": block["text"]} if is_text else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events += [
            {"type": "content_block_start", "index": index, "content_block": {**block, "text": ""} if is_text else {**block, "input": {}}},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    stop = "end_turn" if content[-1]["type"] == "text" else "tool_use"
    return events + [{"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}, {"type": "message_stop"}]


def anthropic_answer(request):
    first = anthropic_events(request, says(request))[0]["message"]
    return {**first, "content": [{"type": "text", "text": SAYS}], "stop_reason": "end_turn"}


def responses_events(request, content):
    read = size(request)
    items = [{"type": "message", "id": f"msg_{uuid.uuid4().hex}", "role": "assistant", "status": "completed",
              "content": [{"type": "output_text", "text": block["text"], "annotations": []}]} if block["type"] == "text"
             else {"type": "function_call", "id": f"fc_{uuid.uuid4().hex}", "status": "completed", "call_id": block["id"], "name": block["name"],
                   "arguments": json.dumps(block["input"])} for block in content]
    usage = {"input_tokens": read, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": read + 1}
    done = {"id": "resp_recorded", "object": "response", "status": "completed", "output": items, "usage": usage}
    return [
        {"type": "response.created", "response": {"id": "resp_recorded"}},
        *({"type": "response.output_item.done", "output_index": at, "item": item} for at, item in enumerate(items)),
        {"type": "response.completed", "response": done},
    ]


def gemini_answer(request, content):
    parts = [{"text": block["text"]} if block["type"] == "text" else {"functionCall": {"id": block["id"], "name": block["name"], "args": block["input"]}}
             for block in content]
    read = size(request)
    usage = {"promptTokenCount": read, "candidatesTokenCount": 1, "totalTokenCount": read + 1}
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}


def chat_answer(request, content):
    """Returns the reply of the Chat Completions API: all of it, and as a chunk."""
    said = {"role": "assistant", "content": "".join(block.get("text", "") for block in content)}
    calls = [{"index": at, "id": block["id"], "type": "function", "function": {"name": block["name"], "arguments": json.dumps(block["input"])}}
             for at, block in enumerate(block for block in content if block["type"] == "tool_use")]
    said = {**said, "tool_calls": calls} if calls else said
    end = "tool_calls" if calls else "stop"
    read = len(json.dumps(request.get("messages"))) // 4
    about = {"id": "chatcmpl-recorded", "created": 1, "model": request.get("model"),
             "usage": {"prompt_tokens": read, "completion_tokens": 1, "total_tokens": read + 1}}
    whole = {**about, "object": "chat.completion", "choices": [{"index": 0, "message": said, "finish_reason": end}]}
    return whole, {**about, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": said, "finish_reason": end}]}


class Recorder:
    """A server that runs until it is closed. `requests` are the posted bodies; `says` returns the blocks of an answer."""

    def __init__(self, says=says):
        self.requests = []
        recorder = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def send(self, body, kind):
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                with contextlib.suppress(BrokenPipeError):
                    # The agent may have aborted the request.
                    self.wfile.write(body)

            def do_HEAD(self):
                self.send(b"", "application/json")

            def do_GET(self):
                self.send(b'{"data":[],"models":[]}', "application/json")

            def do_POST(self):
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                try:
                    request = json.loads(raw)
                except ValueError:
                    return self.send(b"{}", "application/json")
                if ":countTokens" in self.path:
                    return self.send(b'{"totalTokens":7}', "application/json")
                if self.path.split("?")[0].endswith("/count_tokens"):
                    return self.send(b'{"input_tokens":7}', "application/json")
                recorder.requests.append(request)
                is_responses = "input" in request
                if self.path.endswith("/chat/completions"):
                    whole, chunk = chat_answer(request, says(request))
                    if not request.get("stream"):
                        return self.send(json.dumps(whole).encode(), "application/json")
                    return self.send(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode(), "text/event-stream")
                if ":streamGenerateContent" in self.path:
                    return self.send(f"data: {json.dumps(gemini_answer(request, says(request)))}\n\n".encode(), "text/event-stream")
                if ":generateContent" in self.path:
                    return self.send(json.dumps(gemini_answer(request, says(request))).encode(), "application/json")
                if not request.get("stream"):
                    answer = responses_events(request, says(request))[-1]["response"] if is_responses else anthropic_answer(request)
                    return self.send(json.dumps(answer).encode(), "application/json")
                events = (responses_events if is_responses else anthropic_events)(request, says(request))
                body = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
                return self.send(body.encode(), "text/event-stream")

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
