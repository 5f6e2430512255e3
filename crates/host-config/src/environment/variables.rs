//! What a variable sets: its text as a value of its field's shape.

use super::Environment;
use crate::check::Walk;
use crate::finding::{Findings, code, config, place, quote_str};
use crate::nearest::nearest;
use crate::registry::{self, Branch, Field, IGNORED, RETIRED, Shape};
use crate::shape::{Problem, scalar, takes};
use crate::source::{Node, Value};
use host_vocab::{Place, text::one_line};

/// A variable as a place.
pub(crate) fn variable_place(name: &str) -> Place {
    Place { file: format!("env {name}"), ..Place::default() }
}

/// The value that a field's variable sets, if it is set. An empty variable is an unset one, except where
/// it means an empty list (POL-9).
pub(crate) fn read_variable(
    field: &'static Field,
    branch: &Branch,
    env: &Environment,
    findings: &mut Findings,
) -> Option<Node> {
    let name = field.env?;
    let text = env.get(name)?;
    if text.trim().is_empty() {
        return field.empty_env_is_list.then(|| Node::plain(Value::List(Vec::new())));
    }
    let is_json = name.ends_with("_JSON") || matches!(field.shape, Shape::Rows | Shape::Map | Shape::Open);
    if is_json { json(name, field, branch, text, findings) } else { plain(name, field, text, findings) }
}

fn json(name: &str, field: &Field, branch: &Branch, text: &str, findings: &mut Findings) -> Option<Node> {
    let file = format!("env {name}");
    let document = match crate::source::read(text.as_bytes()) {
        Ok(document) => document,
        Err(error) => {
            let mut found = config(code::SYNTAX, format!("{name} is no JSON: {error}"));
            found = found.at(place(&file, error.pos, ""));
            found.hints.extend(error.hint);
            findings.error(found);
            return None;
        }
    };
    let mut mine = Findings::default();
    let mut walk = Walk::new(&file, &mut mine).quiet_about_secrets();
    walk.duplicates(&document.duplicates);
    walk.value(branch, &document.root, field.path);
    let good = !mine.is_fatal();
    findings.absorb(mine);
    good.then_some(document.root)
}

fn plain(name: &str, field: &Field, text: &str, findings: &mut Findings) -> Option<Node> {
    let node = value(&field.shape, text);
    let misfit = match (&field.shape, &node) {
        (shape, Some(node)) => scalar(shape, node).or_else(|| {
            let Shape::List(inner) = shape else { return None };
            node.items().unwrap_or_default().iter().find_map(|item| scalar(inner, item))
        }),
        (shape, None) => Some(Problem { code: code::WRONG_TYPE, takes: takes(shape), hint: None }),
    };
    let Some(problem) = misfit else { return node };
    let shown = if field.secret { "a value that is not shown".to_owned() } else { quote_str(text) };
    let message = format!("{name} is {shown}; it takes {}", in_words(&field.shape, &problem.takes));
    let mut found =
        config(problem.code, message).at(Place { path: Some(field.path.into()), ..variable_place(name) });
    found.hints.extend(problem.hint.filter(|hint| hint != "without quotes"));
    findings.error(found);
    None
}

fn in_words(shape: &Shape, takes: &str) -> String {
    match shape {
        Shape::List(inner) => format!("a list with commas, each part {}", crate::shape::takes(inner)),
        Shape::Either(shapes) if shapes.contains(&Shape::Null) => takes.replace("null", "none"),
        _ => takes.to_owned(),
    }
}

/// A variable's text as a value of a shape; none where it can't be one.
fn value(shape: &Shape, text: &str) -> Option<Node> {
    let word = text.trim();
    let value = match shape {
        Shape::Bool => Value::Bool(match word.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => true,
            "false" | "0" | "no" | "off" => false,
            _ => return None,
        }),
        Shape::Int(..) => Value::Number(word.parse::<i64>().ok()?.to_string().into()),
        Shape::Number(..) => {
            let number: f64 = word.parse().ok()?;
            if !number.is_finite() {
                return None;
            }
            Value::Number(number.to_string().into())
        }
        Shape::Null => match word {
            "none" | "null" => Value::Null,
            _ => return None,
        },
        Shape::List(inner) => {
            Value::List(word.split(',').map(|part| value_of(inner, part.trim())).collect::<Option<_>>()?)
        }
        Shape::Either(shapes) => return either(shapes, word),
        Shape::Rows | Shape::Map | Shape::Open => return None,
        Shape::Text | Shape::AnyText => Value::Text(text.to_owned()),
        _ => Value::Text(word.to_owned()),
    };
    Some(Node::plain(value))
}

fn value_of(shape: &Shape, part: &str) -> Option<Node> {
    match shape {
        Shape::Text | Shape::AnyText => Some(Node::plain(Value::Text(part.to_owned()))),
        shape => value(shape, part),
    }
}

fn either(shapes: &'static [Shape], word: &str) -> Option<Node> {
    let has_list = shapes.iter().any(|shape| matches!(shape, Shape::List(_)));
    let mut candidates: Vec<Node> = shapes
        .iter()
        .filter(|shape| !has_list || matches!(shape, Shape::List(_)) == word.contains(','))
        .filter_map(|shape| value(shape, word))
        .collect();
    let good = candidates.iter().position(|node| scalar(&Shape::Either(shapes), node).is_none()).unwrap_or(0);
    (!candidates.is_empty()).then(|| candidates.swap_remove(good))
}

/// Looks at the names of all variables with our prefix: retired ones are errors, those without effect
/// and those that nothing reads are warnings.
pub(crate) fn check_names(env: &Environment, findings: &mut Findings) {
    for (name, text) in env.range("MONO_AGENT_".to_owned()..) {
        if !name.starts_with("MONO_AGENT_") {
            break;
        }
        if text.trim().is_empty() || registry::is_host_variable(name) || is_known(name) {
            continue;
        }
        let at = variable_place(&one_line(name, 80));
        let retired = RETIRED.iter().find(|old| old.env == Some(name.as_str()));
        let ignored =
            IGNORED.iter().find(|old| old.env_prefix.is_some_and(|prefix| name.starts_with(prefix)));
        if let Some(old) = retired {
            let message = format!("{name} was retired (it is {})", quote_str(text));
            findings.error(config(code::RETIRED, message).at(at).hint(old.instead));
        } else if let Some(old) = ignored {
            let message = format!("{name} has no effect: {}", old.why);
            findings.warning(config(code::IGNORED, message).at(at).hint("take it away"));
        } else {
            let message = format!("{} is no variable that is read", one_line(name, 80));
            let found = config(code::UNKNOWN_KEY, message).at(at);
            let known = registry::fields().filter_map(|field| field.env);
            findings.warning(match nearest(name, known) {
                Some(near) => found.hint(format!("did you mean {near}?")),
                None => found.hint("`mono-agent config` lists the variables"),
            });
        }
    }
}

fn is_known(name: &str) -> bool {
    registry::fields().any(|field| field.env == Some(name))
}
