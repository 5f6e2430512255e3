#!/usr/bin/env python3
"""An MCP server over stdio that misbehaves on request. Standard library alone.

    hostile.py MODE [ARGUMENT]

Every mode speaks revision 2025-06-18 unless it says otherwise, and offers at least the tools `ping`
(answers "pong"), `echo` (answers its arguments) and `env` (answers its environment as JSON).
"""

import json
import os
import signal
import sys
import time

MODE = sys.argv[1] if len(sys.argv) > 1 else "plain"
ARGUMENT = sys.argv[2] if len(sys.argv) > 2 else ""
SCHEMA = {"type": "object", "properties": {}}


def write(text):
    sys.stdout.write(text)
    sys.stdout.flush()


JUNK = [b"\x00\x01\x02", b"\xff\xfe broken utf-8", b"\x1b[31mred\x1b[0m", b"x" * (3 * 1024 * 1024), b"[]", b"[1, 2]", b"null",
        b'{"jsonrpc":"2.0","id":987654,"result":{}}', b'{"jsonrpc":"2.0","id":"nobody","error":{"code":1,"message":"x"}}',
        b'{"jsonrpc":"2.0","method":"notifications/unheard_of","params":[1]}', b'{"jsonrpc":"2.0"', b'{"id":null}',
        b'{"jsonrpc":"2.0","id":"s1","method":"server/unheard_of"}', b'Content-Length: 20\r', b"\r"]


def send(message):
    if MODE == "junk":
        for line in JUNK:
            sys.stdout.buffer.write(line + b"\n")
        # Every answer comes twice, with a byte order mark before it.
        whole = b"\xef\xbb\xbf" + json.dumps(message).encode() + b"\n"
        sys.stdout.buffer.write(whole + whole)
        sys.stdout.buffer.flush()
        return
    if MODE == "noise":
        write("one more line of noise\n")
    if MODE == "crlf":
        write(json.dumps(message) + "\r\n")
        return
    write(json.dumps(message) + "\n")


def reply(request, result):
    send({"jsonrpc": "2.0", "id": request["id"], "result": result})


def fail(request, code, message):
    send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": message}})


def text(value):
    return {"content": [{"type": "text", "text": value}]}


def tool(name, schema=None, **more):
    return {"name": name, "description": "The tool " + name, "inputSchema": schema or SCHEMA, **more}


BASE = [tool("ping"), tool("echo"), tool("env")]
STATE = {"tools": None, "listening": None}
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def tools():
    if STATE["tools"] is not None:
        return STATE["tools"]
    if MODE == "collide":
        return BASE + [tool("a.b"), tool("a/b"), tool("fine")]
    if MODE == "long":
        return BASE + [tool("x" * int(ARGUMENT or "60")), tool("y" * 80)]
    if MODE == "odd-tools":
        return BASE + [
            {"name": "noschema"},
            {"name": "badschema", "inputSchema": "string"},
            {"name": 7, "inputSchema": {}},
            tool("icons", icons=[{"src": "x", "sizes": "48x48", "theme": "sepia"}]),
            tool("draft4", {"type": "object", "properties": {"n": {"type": "number", "minimum": "low"}}}),
            "not even an object",
        ]
    if MODE == "changing":
        return BASE + [tool("start")]
    if MODE == "modern-listen":
        return BASE + [tool("start")]
    if MODE == "schema-change":
        return BASE + [tool("shift", {"type": "object", "properties": {"a": {"type": "string"}}})]
    if MODE == "slow-tool":
        return BASE + [tool("slow")]
    if MODE == "ends":
        return BASE + [tool(name) for name in ("mute", "quit", "half", "orphan")]
    if MODE == "schemas":
        loop = {"type": "object", "properties": {"next": {"$ref": "#"}}}
        deep = {"type": "string"}
        for _ in range(60):
            deep = {"type": "object", "properties": {"d": deep}}
        return BASE + [
            tool("loop", loop), tool("deep", deep),
            tool("slow_pattern", {"type": "object", "properties": {"w": {"type": "string", "pattern": "^(a+)+$"}}}),
            tool("far", {"type": "object", "properties": {"x": {"$ref": "http://127.0.0.1:9/schema.json"}}}),
            tool("dangling", {"type": "object", "properties": {"x": {"$ref": "#/$defs/nowhere"}}}),
            tool("\u200bzero width\u202e", SCHEMA), tool("new\nline", SCHEMA), tool("emoji\U0001f4a5", SCHEMA),
            tool("wide", {"type": "object", "properties": {"p%d" % n: {"type": "string"} for n in range(3000)}}),
            tool("yes", {"type": "object", "additionalProperties": True, "$schema": "http://json-schema.org/draft-04/schema#",
                         "properties": {"n": {"type": "number", "minimum": 0, "exclusiveMinimum": True}}}),
        ]
    if MODE in ("die-in-call", "die-once"):
        return BASE + [tool("die")]
    if MODE == "results":
        names = ["odd_block", "big", "huge", "blocks", "mixed", "is_error", "both", "nan", "structured", "rpc_error"]
        return BASE + [tool(name) for name in names]
    if MODE == "progress":
        return BASE + [tool("steps")]
    if MODE in ("asks", "modern-asks"):
        return BASE + [tool("ask"), tool("visit"), tool("again"), tool("sample"), tool("capabilities")]
    return BASE


def list_tools(request):
    if MODE == "paged":
        everything = [tool("tool%03d" % number) for number in range(int(ARGUMENT or "101"))]
        cursor = (request.get("params") or {}).get("cursor")
        start = json.loads(cursor)["at"] if cursor else 0
        result = {"tools": everything[start : start + 50]}
        if start + 50 < len(everything):
            result["nextCursor"] = json.dumps({"at": start + 50, "é": "\"\\"})
        return reply(request, result)
    if MODE == "modern-ttl":
        # The list holds for a second, and nobody says that it changes.
        STATE["lists"] = STATE.get("lists", 0) + 1
        later = [tool("later")] if STATE["lists"] > 1 else []
        return reply(request, {"resultType": "complete", "tools": BASE + later, "ttlMs": 1000, "cacheScope": "private"})
    if MODE == "circle":
        return reply(request, {"tools": BASE, "nextCursor": "again"})
    if MODE == "no-tools":
        return fail(request, -32601, "unknown method")
    if MODE == "list-fails":
        return fail(request, -32603, "the database\nis down")
    return reply(request, {"tools": tools()})


def call_result(request, name, arguments):
    if name == "odd_block":
        return {"content": [
            {"type": "hologram", "x": 1},
            {"type": "text", "text": "kept", "annotations": {"audience": ["robot"], "priority": "high"}},
        ]}
    if name == "big":
        return text("x" * (3 * 1024 * 1024) + "END-MARK")
    if name == "huge":
        return text("x" * (20 * 1024 * 1024))
    if name == "blocks":
        return {"content": [{"type": "text", "text": "b" * 20000} for _ in range(200)]}
    if name == "mixed":
        return {"content": [
            {"type": "text", "text": "words"},
            {"type": "resource_link", "uri": "http://127.0.0.1:9/x", "name": "x"},
            {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "inner"}},
            {"type": "resource", "resource": {"uri": "file:///b.pdf", "mimeType": "application/pdf", "blob": "aGk="}},
            {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        ]}
    if name == "is_error":
        return {"isError": True, "content": [{"type": "text", "text": "no such row"}]}
    if name == "both":
        return {"content": [{"type": "text", "text": "TEXT-MARK"}], "structuredContent": {"m": "STRUCT-MARK"}}
    if name == "nan":
        return {"content": [], "structuredContent": {"mean": float("nan")}}
    return {"structuredContent": {"only": "this"}}


FORM = {"type": "object", "required": ["name"], "properties": {
    "name": {"type": "string"}, "size": {"type": "integer", "default": 3}}}
SAMPLE = {"messages": [{"role": "user", "content": {"type": "text", "text": "write"}}], "maxTokens": 5}
QUESTIONS = {"ask": {"message": "Who are you?", "requestedSchema": FORM},
             "visit": {"mode": "url", "message": "Sign in", "url": "https://example.com/in", "elicitationId": "e1"}}


def rounds(request, name, params):
    """The newest revision: the call is left unfinished, and comes again with answers and state."""
    number = int((params.get("requestState") or "0").split()[-1]) + 1
    state = " \u00e9 state %d" % number
    if name == "again":
        done = number > int(ARGUMENT or "3")
        wanted = {"resultType": "input_required", "requestState": state,
                  "inputRequests": {"r": {"method": "roots/list"}}}
        return reply(request, {"resultType": "complete", **text("%d rounds" % (number - 1))} if done else wanted)
    if params.get("inputResponses") is not None:
        answer = {"responses": params["inputResponses"], "state": params.get("requestState")}
        return reply(request, {"resultType": "complete", **text(json.dumps(answer, sort_keys=True))})
    if name == "sample":
        wanted = {"s": {"method": "sampling/createMessage", "params": SAMPLE}}
    else:
        wanted = {"q": {"method": "elicitation/create", "params": QUESTIONS[name]}}
    return reply(request, {"resultType": "input_required", "inputRequests": wanted})


def call(request):
    params = request.get("params") or {}
    name, arguments = params.get("name"), params.get("arguments") or {}
    if MODE == "chatty":
        sys.stderr.write("e" * (1024 * 1024))
        sys.stderr.flush()
    if name == "ping":
        return reply(request, text("pong"))
    if name == "capabilities":
        theirs = (params.get("_meta") or {}).get("io.modelcontextprotocol/clientCapabilities")
        return reply(request, text(json.dumps(theirs if theirs is not None else STATE.get("theirs"))))
    if MODE == "asks" and name in ("ask", "visit", "sample"):
        asked = ("sampling/createMessage", SAMPLE) if name == "sample" else ("elicitation/create", QUESTIONS[name])
        send({"jsonrpc": "2.0", "id": "q1", "method": asked[0], "params": asked[1]})
        for line in sys.stdin:
            answer = json.loads(line)
            if answer.get("id") == "q1":
                return reply(request, text(json.dumps(answer.get("result", answer.get("error")), sort_keys=True)))
    if MODE == "modern-asks" and name in ("ask", "visit", "again", "sample"):
        return rounds(request, name, params)
    if name == "echo":
        return reply(request, text(json.dumps(arguments, sort_keys=True)))
    if name == "env":
        return reply(request, text(json.dumps(dict(os.environ))))
    if name == "die":
        if MODE == "die-once" and os.path.exists(ARGUMENT):
            return reply(request, text("survived"))
        if MODE == "die-once":
            open(ARGUMENT, "w").close()
        sys.stderr.write("dying now\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "slow":
        if MODE == "slow-tool" and ARGUMENT == "polite":
            time.sleep(0)
            return None
        time.sleep(30)
        return reply(request, text("slept"))
    if name == "mute":
        # It lives on and says nothing any more.
        os.close(1)
        time.sleep(3600)
    if name == "quit":
        sys.exit(0)
    if name == "half":
        write('{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"te' % json.dumps(request["id"]))
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "orphan":
        # A grandchild keeps the pipes open when the server is gone.
        if os.fork() == 0:
            os.setsid()
            open(ARGUMENT, "w").write(str(os.getpid()))
            time.sleep(3600)
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "steps":
        token = (params.get("_meta") or {}).get("progressToken")
        for step in range(4):
            time.sleep(float(ARGUMENT or "0.3"))
            send({"jsonrpc": "2.0", "method": "notifications/progress",
                  "params": {"progressToken": token, "progress": step, "total": 4, "message": "step %d" % step}})
        return reply(request, text("done"))
    if name == "start":
        STATE["tools"] = BASE + [tool("step")]
        reply(request, text("started"))
        changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        if MODE == "modern-listen":
            changed["params"] = {"_meta": {SUBSCRIPTION: STATE["listening"]}}
        return send(changed)
    if name == "shift":
        STATE["tools"] = BASE + [tool("shift", {"type": "object", "properties": {"b": {"type": "number"}}})]
        reply(request, text("shifted"))
        return send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    if name == "rpc_error":
        return fail(request, -32000, "no\u001b[2J luck\nat all")
    known = {entry["name"] for entry in tools() if isinstance(entry, dict)}
    if name in known:
        return reply(request, call_result(request, name, arguments))
    return fail(request, -32602, "unknown tool " + str(name))


BOOKS = [{"uri": "book://one", "name": "One", "mimeType": "text/plain", "size": 4, "description": "The first book."},
         {"uri": "book://odd name \"\u00e9\"", "icons": [{"sizes": "48x48"}]}, {"name": "without an address"}]
PROMPTS = [{"name": "review", "description": "Writes a review.", "arguments": [
    {"name": "book", "description": "which one", "required": True}, {"name": "tone"}, {"description": "nameless"}]},
    {"name": "bare"}]


def library(request):
    """Resources and prompts, in both eras."""
    params, method = request.get("params") or {}, request["method"]
    modern = MODE == "modern-library"
    done = (lambda result: reply(request, {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result})
            ) if modern else (lambda result: reply(request, result))
    if method == "resources/list":
        cursor = params.get("cursor")
        if cursor is not None:
            at = json.loads(cursor)
            return done({"resources": [{"uri": "book://last"}] if at == {"at": 2, "\u00e9": 1} else []})
        return done({"resources": BOOKS, "nextCursor": json.dumps({"at": 2, "\u00e9": 1})})
    if method == "resources/templates/list":
        return done({"resourceTemplates": [{"uriTemplate": "book://{number}", "name": "any", "description": "Any book."}]})
    if method == "resources/read":
        uri = params.get("uri")
        if uri == "book://cover":
            return done({"contents": [{"uri": uri, "mimeType": "image/png", "blob": "aGk="}]})
        if uri == "book://asks":
            answers = params.get("inputResponses")
            if answers is None:
                return reply(request, {"resultType": "input_required",
                                       "inputRequests": {"r": {"method": "roots/list"}}})
            return done({"contents": [{"uri": uri, "text": json.dumps(answers)}]})
        if uri == "book://one":
            return done({"contents": [{"uri": uri, "mimeType": "text/plain", "text": "page one", "odd": {"x": 1}}]})
        return fail(request, -32602, "no such book")
    if method == "prompts/list":
        return done({"prompts": PROMPTS})
    if method == "prompts/get" and params.get("name") == "review":
        book = (params.get("arguments") or {}).get("book")
        return done({"description": "A review", "messages": [
            {"role": "user", "content": {"type": "text", "text": "Review %s." % book}},
            {"role": "assistant", "content": {"type": "text", "text": "Gladly."}}]})
    return fail(request, -32602, "no such prompt")


def capabilities():
    have = {"tools": {"listChanged": True}}
    if MODE in ("library", "modern-library"):
        have.update(resources={}, prompts={})
    return have


def initialize(request):
    STATE["theirs"] = (request.get("params") or {}).get("capabilities")
    if MODE == "slow-start":
        time.sleep(float(ARGUMENT or "2"))
    if MODE == "refuses":
        return fail(request, -32600, "no licence")
    if MODE == "odd-handshake":
        return reply(request, {"protocolVersion": "2025-06-18", "capabilities": {"tools": True, "x": 1},
                               "serverInfo": {"name": "odd", "icons": [{"sizes": "48x48"}]}})
    if MODE == "no-tools":
        return reply(request, {"protocolVersion": "2024-11-05", "capabilities": {"prompts": {}},
                               "serverInfo": {"name": "prompter", "version": "1"}})
    if MODE == "future":
        return reply(request, {"protocolVersion": "2999-01-01", "capabilities": {}, "serverInfo": {"name": "f"}})
    reply(request, {
        "protocolVersion": "2025-06-18",
        "capabilities": capabilities(),
        "serverInfo": {"name": "hostile", "version": "1"},
        "instructions": "USAGE-MARK: call ping first.",
    })
    if MODE == "paired":
        send({"jsonrpc": "2.0", "method": "notifications/message",
              "params": {"level": "weird", "data": {"a": 1}, "logger": 7}})


def discover(request):
    if MODE in ("silent-probe", "slow-start"):
        return None
    if MODE == "dies-on-probe":
        sys.exit(3)
    if MODE in ("modern", "late-modern", "modern-listen", "modern-asks", "modern-library", "modern-ttl"):
        if MODE == "late-modern":
            time.sleep(float(ARGUMENT or "1"))
        return reply(request, {
            "resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": {**capabilities(), "tools": {"listChanged": MODE == "modern-listen"}},
            "instructions": "USAGE-MARK: modern.", "ttlMs": 0, "cacheScope": "private",
        })
    return fail(request, -32601, "unknown method")


def main():
    if MODE == "exit":
        sys.stderr.write("no configuration found\n")
        sys.exit(7)
    if MODE == "never":
        while sys.stdin.readline():
            pass
        return
    if MODE == "deaf":
        time.sleep(3600)
    if MODE == "child":
        pid = os.fork()
        if pid == 0:
            os.setsid()
            open(ARGUMENT, "w").write(str(os.getpid()))
            time.sleep(3600)
    if MODE == "noise":
        write("Server v1.2 ready\n\n- note\n{\"not\":\"jsonrpc\"}\n")
    for line in sys.stdin:
        try:
            request = json.loads(line)
        except ValueError:
            continue
        method = request.get("method")
        if method == "initialize" and MODE in ("modern", "late-modern"):
            fail(request, -32601, "no initialize here")
        elif method == "initialize":
            initialize(request)
        elif method == "server/discover":
            discover(request)
        elif method == "tools/list":
            list_tools(request)
        elif method == "tools/call":
            call(request)
        elif method == "subscriptions/listen" and MODE == "modern-listen":
            STATE["listening"] = request["id"]
            send({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                  "params": {"_meta": {SUBSCRIPTION: request["id"]}, "notifications": {"toolsListChanged": True}}})
        elif method == "ping":
            reply(request, {})
        elif MODE in ("library", "modern-library") and (method or "").split("/")[0] in ("resources", "prompts"):
            library(request)
        elif "id" in request:
            fail(request, -32601, "unknown method")


main()
