//! Other people's tools: every MCP server, behind one door.
