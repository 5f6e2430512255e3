//! Definitions of code files, by tree-sitter: Rust, Python, JavaScript, TypeScript (and their JSX forms), Go.

use super::outline::Section;
use tree_sitter::{Language, Node, Parser};

/// How deep definitions within definitions are looked for.
const DEPTH_MAX: usize = 8;
/// The most definitions of one file.
const DEFINITIONS_MAX: usize = 2_000;

/// What tells a definition in a language.
struct Grammar {
    language: Language,
    /// Kinds of nodes that are definitions.
    definitions: &'static [&'static str],
    /// Kinds that are only wrapped around definitions.
    wrappers: &'static [&'static str],
}

const RUST: &[&str] = &[
    "function_item",
    "struct_item",
    "enum_item",
    "union_item",
    "trait_item",
    "impl_item",
    "mod_item",
    "macro_definition",
    "const_item",
    "static_item",
    "type_item",
];
const PYTHON: &[&str] = &["function_definition", "class_definition"];
const JAVASCRIPT: &[&str] = &[
    "function_declaration",
    "generator_function_declaration",
    "class_declaration",
    "method_definition",
    "abstract_class_declaration",
    "interface_declaration",
    "enum_declaration",
    "type_alias_declaration",
    "internal_module",
    "lexical_declaration",
];
const GO: &[&str] = &["function_declaration", "method_declaration", "type_declaration"];

fn grammar(ending: &str) -> Option<Grammar> {
    let (language, definitions, wrappers): (Language, _, &'static [&'static str]) = match ending {
        "rs" => (tree_sitter_rust::LANGUAGE.into(), RUST, &["declaration_list"]),
        "py" | "pyi" => (tree_sitter_python::LANGUAGE.into(), PYTHON, &["block", "decorated_definition"]),
        // JavaScript is a part of the grammar of TypeScript with JSX; tables of its own would add half a megabyte.
        "js" | "mjs" | "cjs" | "jsx" => {
            (tree_sitter_typescript::LANGUAGE_TSX.into(), JAVASCRIPT, &["export_statement", "class_body"])
        }
        "ts" | "mts" | "cts" => (
            tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            JAVASCRIPT,
            &["export_statement", "class_body", "expression_statement", "statement_block"],
        ),
        "tsx" => (
            tree_sitter_typescript::LANGUAGE_TSX.into(),
            JAVASCRIPT,
            &["export_statement", "class_body", "expression_statement", "statement_block"],
        ),
        "go" => (tree_sitter_go::LANGUAGE.into(), GO, &[]),
        _ => return None,
    };
    Some(Grammar { language, definitions, wrappers })
}

/// The definitions of a code file; none = the language is not known, or there are none. Broken code gives
/// what could be made out.
pub(super) fn sections(ending: &str, content: &str) -> Vec<Section> {
    let Some(grammar) = grammar(ending) else { return Vec::new() };
    let mut parser = Parser::new();
    if parser.set_language(&grammar.language).is_err() {
        return Vec::new();
    }
    let Some(tree) = parser.parse(content, None) else { return Vec::new() };
    let mut out = Vec::new();
    collect(&grammar, tree.root_node(), content, 1, &mut out);
    out
}

fn collect(grammar: &Grammar, node: Node<'_>, content: &str, depth: usize, out: &mut Vec<Section>) {
    if depth > DEPTH_MAX {
        return;
    }
    let mut cursor = node.walk();
    for child in node.named_children(&mut cursor) {
        if out.len() >= DEFINITIONS_MAX {
            return;
        }
        let kind = child.kind();
        if grammar.definitions.contains(&kind) {
            if kind == "lexical_declaration" && !is_function(child) {
                continue;
            }
            out.push(section(child, content, depth));
            if let Some(body) = child.child_by_field_name("body")
                && !kind.contains("function")
                && !kind.contains("method")
            {
                collect(grammar, body, content, depth + 1, out);
            }
        } else if grammar.wrappers.contains(&kind) {
            collect(grammar, child, content, depth, out);
        }
    }
}

/// `const f = (…) => …` and the like.
fn is_function(declaration: Node<'_>) -> bool {
    let mut cursor = declaration.walk();
    declaration.named_children(&mut cursor).any(|declarator| {
        declarator
            .child_by_field_name("value")
            .is_some_and(|value| matches!(value.kind(), "arrow_function" | "function_expression" | "class"))
    })
}

fn section(node: Node<'_>, content: &str, depth: usize) -> Section {
    let text = &content[node.byte_range()];
    let head = text.split(['{', '\n']).next().unwrap_or_default().trim().trim_end_matches([':', '=', '(']);
    let head = if head.is_empty() { node.kind() } else { head.trim_end() };
    let name = ["name", "type"]
        .iter()
        .find_map(|field| node.child_by_field_name(field))
        .and_then(|name| content.get(name.byte_range()))
        .unwrap_or(head);
    Section {
        id: name.replace(char::is_whitespace, ""),
        label: head.to_owned(),
        line: node.start_position().row + 1,
        depth,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(ending: &str, text: &str) -> Vec<String> {
        sections(ending, text).into_iter().map(|s| format!("{}:{}:{}", s.line, s.depth, s.label)).collect()
    }

    // FIL-3: code files have outlines too
    #[test]
    fn definitions_of_each_language() {
        let rust = "pub struct A {\n a: u8,\n}\nimpl A {\n    pub fn b(&self) -> u8 {\n fn inner() {}\n }\n}\nmod c { const D: u8 = 1; }\n";
        let expected = [
            "1:1:pub struct A",
            "4:1:impl A",
            "5:2:pub fn b(&self) -> u8",
            "9:1:mod c",
            "9:2:const D: u8 = 1;",
        ];
        assert_eq!(outline("rs", rust), expected);
        let python = "import x\n@dec\nclass A(B):\n    def f(self):\n        pass\n\ndef g(): pass\n";
        assert_eq!(outline("py", python), ["3:1:class A(B)", "4:2:def f(self)", "7:1:def g(): pass"]);
        let js = "export class A {\n  m() {}\n}\nexport const f = (a) => a\nconst n = 1\nfunction g() {}\n";
        assert_eq!(
            outline("js", js),
            ["1:1:class A", "2:2:m()", "4:1:const f = (a) => a", "6:1:function g()"]
        );
        let ts = "export interface A { a: string }\nexport type B = A\nnamespace N {\n  function h() {}\n}\n";
        let got = outline("ts", ts);
        assert_eq!(got[..2], ["1:1:interface A", "2:1:type B = A"], "{got:?}");
        let go = "package a\nfunc F() {}\nfunc (t T) M() {}\ntype T struct {\n}\n";
        assert_eq!(outline("go", go), ["2:1:func F()", "3:1:func (t T) M()", "4:1:type T struct"]);
    }

    #[test]
    fn broken_code_gives_what_can_be_made_out() {
        assert!(outline("rs", "fn a() {}\nfn b( {{{\nfn c() {}\n").contains(&"1:1:fn a()".to_owned()));
        assert!(outline("py", "\0\u{fffd}((((").is_empty());
        assert!(outline("xyz", "fn a() {}").is_empty());
    }
}
