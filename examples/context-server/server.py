#!/usr/bin/env python3
"""A stdio MCP server that uses the trusted context of a run (docs/mcp-server-authors.md).

It reads a file that came with the turn only where its path *and* its device and inode are those that the host
names, writes into the run's own output folder, and posts its progress. No library is needed.
"""

import json
import os
import sys
import urllib.request

PATHS = "MONO_AGENT_MCP_ALLOWED_ATTACHMENT_PATHS"
IDENTITIES = "MONO_AGENT_MCP_ALLOWED_ATTACHMENT_IDENTITIES"

TOOLS = [
    {
        "name": "read_attachment",
        "description": "Reads a file that came with this turn.",
        "inputSchema": {
            "type": "object",
            "properties": {"path": {"type": "string", "description": "As the host told you (the first one)."}},
        },
    },
    {
        "name": "write_scratch",
        "description": "Writes a scratch file that is gone when the run is over.",
        "inputSchema": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "text": {"type": "string"}},
            "required": ["name", "text"],
        },
    },
    {
        "name": "work",
        "description": "Works for a moment and says how far it is.",
        "inputSchema": {"type": "object", "properties": {}},
    },
    {
        "name": "context",
        "description": "Shows the context of the run (without the bearer).",
        "inputSchema": {"type": "object", "properties": {}},
    },
]


def read_attachment(path):
    allowed = {it["path"]: (it["dev"], it["ino"]) for it in json.loads(os.environ.get(IDENTITIES) or "[]")}
    paths = json.loads(os.environ.get(PATHS) or "[]")
    path = path or (paths[0] if paths else "")
    if path not in paths or path not in allowed:
        raise PermissionError("that file did not come with this turn")
    # The descriptor is asked, not the name: whatever stands under the name now, it must be the same object.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if (about.st_dev, about.st_ino) != allowed[path]:
            raise PermissionError("another file stands in its place")
        return file.read(1_000_000).decode("utf-8", "replace")


def write_scratch(name, text):
    folder = os.environ["MONO_AGENT_MCP_RUN_OUTPUT_DIR"]
    path = os.path.join(folder, os.path.basename(name))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def post(key, message, state):
    url = os.environ.get("MONO_AGENT_INTERACTION_PROGRESS_URL")
    if not url:
        return "nobody listens"
    request = urllib.request.Request(
        url,
        json.dumps({"key": key, "message": message, "state": state}).encode(),
        {
            "Content-Type": "application/json",
            "Authorization": "Bearer " + os.environ["MONO_AGENT_INTERACTION_PROGRESS_TOKEN"],
        },
    )
    with urllib.request.urlopen(request, timeout=5) as answer:
        return str(answer.status)


def call(name, arguments):
    if name == "read_attachment":
        return read_attachment(arguments.get("path"))
    if name == "write_scratch":
        return write_scratch(arguments["name"], arguments["text"])
    if name == "work":
        return "posted: " + post("work", "half of it", "working") + ", " + post("work", "all of it", "done")
    if name == "context":
        kept = {k: v for k, v in os.environ.items() if k.startswith("MONO_AGENT_") and "PROGRESS_TOKEN" not in k}
        return json.dumps(kept)
    raise ValueError("no such tool")


def answer(request):
    method = request.get("method")
    if method == "initialize":
        version = request["params"]["protocolVersion"]
        return {
            "protocolVersion": version if version <= "2025-11-25" else "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "context-example", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        params = request["params"]
        try:
            text, failed = call(params["name"], params.get("arguments") or {}), False
        except Exception as error:  # noqa: BLE001 - whatever went wrong is told to the model
            text, failed = f"{type(error).__name__}: {error}", True
        return {"content": [{"type": "text", "text": text}], "isError": failed}
    if method == "ping":
        return {}
    return None


def main():
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if "id" not in request:
            continue
        result = answer(request)
        reply = {"jsonrpc": "2.0", "id": request["id"]}
        if result is None:
            reply["error"] = {"code": -32601, "message": "unknown method"}
        else:
            reply["result"] = result
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
