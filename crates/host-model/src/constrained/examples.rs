//! Worked examples: small models copy what they see.

use super::relevance::plain_name;
use serde_json::{Map, Value, json};

/// One worked example of a tool.
pub(super) struct Example {
    pub(super) ask: &'static str,
    /// Values by the names that such arguments have.
    values: &'static [(&'static [&'static str], &'static str)],
    pub(super) result: &'static str,
    pub(super) answer: &'static str,
}

const PATH: &[&str] = &["file_path", "path", "file", "filename"];
const FOLDER: &[&str] = &["path", "dir", "directory", "folder"];

const TABLE: &[(&str, &[Example])] = &[
    (
        "read",
        &[
            Example {
                ask: "Read the file garden.md and tell me which flower it names.",
                values: &[(PATH, "\"garden.md\"")],
                result: "1\t# My garden\n2\tThe flower is a red tulip.",
                answer: "The flower is a red tulip.",
            },
            Example {
                ask: "What is the price in list.csv?",
                values: &[(PATH, "\"list.csv\"")],
                result: "1\titem,price\n2\tlamp,30",
                answer: "The price is 30.",
            },
        ],
    ),
    (
        "listdir",
        &[
            Example {
                ask: "What files are in the folder src?",
                values: &[(FOLDER, "\"src\"")],
                result: "a.py\nb.py",
                answer: "The folder src has the files a.py and b.py.",
            },
            Example {
                ask: "List the folder photos.",
                values: &[(FOLDER, "\"photos\"")],
                result: "cat.jpg\ntrees.png",
                answer: "The folder photos has cat.jpg and trees.png.",
            },
        ],
    ),
    (
        "exec",
        &[
            Example {
                ask: "Run echo hello.",
                values: &[(&["executable", "program", "argv"], "\"echo\""), (&["args"], "[\"hello\"]")],
                result: "hello",
                answer: "It printed hello.",
            },
            Example {
                ask: "Run the program date.",
                values: &[(&["executable", "program", "argv"], "\"date\""), (&["args"], "[]")],
                result: "Mon 4 May",
                answer: "It printed Mon 4 May.",
            },
        ],
    ),
    (
        "bash",
        &[Example {
            ask: "Run echo hello in the shell.",
            values: &[(&["command"], "\"echo hello\"")],
            result: "hello",
            answer: "It printed hello.",
        }],
    ),
    (
        "grep",
        &[Example {
            ask: "Search for the word main in the files.",
            values: &[(&["pattern", "query"], "\"main\"")],
            result: "src/a.py:3: def main():",
            answer: "The word main is in src/a.py.",
        }],
    ),
    (
        "glob",
        &[Example {
            ask: "Find all files that end with .md",
            values: &[(&["pattern"], "\"**/*.md\"")],
            result: "garden.md",
            answer: "There is one: garden.md",
        }],
    ),
    (
        "write",
        &[Example {
            ask: "Write the text good night to the file bye.txt",
            values: &[(PATH, "\"bye.txt\""), (&["content", "text"], "\"good night\"")],
            result: "ok",
            answer: "I wrote it to bye.txt.",
        }],
    ),
    (
        "edit",
        &[Example {
            ask: "Replace red with blue in colours.txt",
            values: &[
                (PATH, "\"colours.txt\""),
                (&["old_string", "old"], "\"red\""),
                (&["new_string", "new"], "\"blue\""),
            ],
            result: "ok",
            answer: "I replaced red with blue in colours.txt.",
        }],
    ),
];

/// The examples that there are for a tool.
pub(super) fn of(name: &str) -> &'static [Example] {
    let plain = plain_name(name);
    TABLE.iter().find(|(known, _)| *known == plain).map_or(&[], |(_, examples)| examples)
}

impl Example {
    /// The value for an argument of that name.
    fn value(&self, name: &str) -> Option<Value> {
        let (_, text) = self.values.iter().find(|(names, _)| names.contains(&name))?;
        serde_json::from_str(text).ok()
    }

    /// Whether an argument of that name belongs to the example.
    pub(super) fn uses(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// The arguments for a shape; `None` when it needs something that the example does not have.
    pub(super) fn arguments(&self, shape: &Value) -> Option<Value> {
        let mut out = Map::new();
        let required: Vec<&str> =
            shape["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, schema) in shape["properties"].as_object()? {
            match self.value(name) {
                // A single text where a list is wanted is a list of one.
                Some(text @ Value::String(_)) if schema["type"] == "array" => {
                    out.insert(name.clone(), json!([text]));
                }
                Some(value) => {
                    out.insert(name.clone(), value);
                }
                None if required.contains(&name.as_str()) => return None,
                None => {}
            }
        }
        Some(Value::Object(out))
    }
}
