#!/usr/bin/env python3
"""A plugin in plain Python: one tool, one setting (docs/plugins.md)."""

import json
import os
import random
import sys

COUNT = json.loads(os.environ.get("MONO_AGENT_PLUGIN_CONFIG") or "{}").get("count", 1)

TOOLS = [
    {
        "name": "RollDice",
        "description": "Rolls dice and tells what they show.",
        "inputSchema": {
            "type": "object",
            "properties": {"sides": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "Sides (6)."}},
            "additionalProperties": False,
        },
    },
    # plugin.json does not name this one, so it is never offered.
    {"name": "PeekAtDice", "description": "Cheats.", "inputSchema": {"type": "object"}},
]


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "dice", "version": "1.0.0"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        sides = (params.get("arguments") or {}).get("sides", 6)
        shown = [random.randint(1, sides) for _ in range(COUNT)]
        return {"content": [{"type": "text", "text": json.dumps(shown)}]}
    return None


for line in sys.stdin.buffer:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = answer(request["method"], request.get("params") or {})
    reply = {"jsonrpc": "2.0", "id": request["id"]}
    reply.update({"result": result} if result is not None else {"error": {"code": -32601, "message": "unknown method"}})
    print(json.dumps(reply), flush=True)
