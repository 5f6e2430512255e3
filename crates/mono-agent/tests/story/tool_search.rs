//! Many tools of a server: found by `ToolSearch` in one request, listed in the next (GWY-2).

use super::agent::Agent;
use serde_json::json;

const SERVER: &str = r#"
import json, sys
tools = [{"name": f"filler_{i}", "description": "Nothing.", "inputSchema": {"type": "object"}} for i in range(150)]
tools.append({"name": "tide", "description": "When the water is high in a harbour.", "inputSchema":
    {"type": "object", "properties": {"harbour": {"type": "string"}}, "required": ["harbour"]}})
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    method = request["method"]
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "many", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": tools}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "high at noon in " + request["params"]["arguments"]["harbour"]}]}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"#;

#[test]
fn a_tool_is_searched_for_and_then_called() {
    let agent = Agent::scripted(
        &[
            json!({"toolCalls": [{"name": "ToolSearch", "arguments": {"query": "high water"}}]}),
            json!({"toolCalls": [{"name": "mcp__many__tide", "arguments": {"harbour": "Emden"}}]}),
            json!({"text": "done"}),
        ],
        json!({"tools": {"mcpServers": {"many": {"command": "python3", "args": ["many.py"], "timeout": 60_000}}}}),
    );
    agent.write("many.py", SERVER);
    let shown = agent.run(&["tools", "--json"]).ends(0).json();
    let names: Vec<&str> =
        shown["tools"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
    assert!(names.contains(&"ToolSearch") && !names.iter().any(|it| it.starts_with("mcp__")), "{names:?}");
    let lines = agent.run(&["run", "when is high water in Emden?", "--json"]).ends(0).lines();
    let settled: Vec<_> = lines.iter().filter(|it| it["type"] == "call_settled").collect();
    assert!(settled[0]["preview"].as_str().unwrap().contains("mcp__many__tide"), "{settled:#?}");
    assert!(settled[1]["preview"].as_str().unwrap().contains("high at noon in Emden"), "{settled:#?}");
}
