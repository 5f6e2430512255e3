//! Whether a single value fits the shape that the registry gives it, and what the shape takes in words.

use crate::finding::code;
use crate::nearest::nearest;
use crate::registry::Shape;
use crate::source::{Node, Value};
use host_vocab::{Code, text::one_line};

/// Why a value doesn't fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Which kind of misfit.
    pub code: Code,
    /// What the key takes, to follow the words `it takes`.
    pub takes: String,
    /// What to do about it.
    pub hint: Option<String>,
}

fn problem(code: Code, takes: impl Into<String>) -> Option<Problem> {
    Some(Problem { code, takes: takes.into(), hint: None })
}

/// Whether a value fits a shape; the items of a list and what is in an object are not looked at, except
/// within [`Shape::Either`].
pub fn scalar(shape: &Shape, node: &Node) -> Option<Problem> {
    match shape {
        Shape::Bool => match node.value {
            Value::Bool(_) => None,
            _ => {
                let hint = node.text().map(|_| "without quotes".to_owned());
                Some(Problem { code: code::WRONG_TYPE, takes: takes(shape), hint })
            }
        },
        Shape::Int(least, most) => integer(shape, node, *least, *most),
        Shape::Number(least, most) => match node.number() {
            None => problem(code::WRONG_TYPE, takes(shape)),
            Some(n) if n < *least || n > *most => problem(code::OUT_OF_RANGE, takes(shape)),
            Some(_) => None,
        },
        Shape::Null => match node.value {
            Value::Null => None,
            _ => problem(code::WRONG_TYPE, takes(shape)),
        },
        Shape::List(_) | Shape::Rows => match &node.value {
            Value::List(_) => None,
            Value::Text(_) if matches!(shape, Shape::List(_)) => {
                let hint = Some("put the text in brackets: [\"…\"]".to_owned());
                Some(Problem { code: code::WRONG_TYPE, takes: takes(shape), hint })
            }
            _ => problem(code::WRONG_TYPE, takes(shape)),
        },
        Shape::Map | Shape::Open => match node.value {
            Value::Object(_) => None,
            _ => problem(code::WRONG_TYPE, takes(shape)),
        },
        Shape::Either(shapes) => either(shape, shapes, node),
        _ => match node.text() {
            None => problem(code::WRONG_TYPE, takes(shape)),
            Some(text) => text_problem(shape, text),
        },
    }
}

fn integer(shape: &Shape, node: &Node, least: i64, most: i64) -> Option<Problem> {
    match node.integer() {
        Some(n) if (least..=most).contains(&n) => None,
        Some(_) => problem(code::OUT_OF_RANGE, takes(shape)),
        None if node.number().is_some() => problem(code::OUT_OF_RANGE, takes(shape)),
        None => {
            let quoted = node.text().is_some_and(|text| text.trim().parse::<i64>().is_ok());
            let hint = quoted.then(|| "without quotes".to_owned());
            Some(Problem { code: code::WRONG_TYPE, takes: takes(shape), hint })
        }
    }
}

fn either(shape: &Shape, shapes: &[Shape], node: &Node) -> Option<Problem> {
    let fits = |shape: &Shape| {
        let deep =
            |inner: &Shape| node.items().unwrap_or_default().iter().all(|item| scalar(inner, item).is_none());
        scalar(shape, node).is_none() && if let Shape::List(inner) = shape { deep(inner) } else { true }
    };
    if shapes.iter().any(fits) {
        return None;
    }
    // A value of the right kind is out of range or no choice; any other is of the wrong type.
    let code = shapes
        .iter()
        .filter_map(|shape| scalar(shape, node))
        .map(|problem| problem.code)
        .find(|code| *code != code::WRONG_TYPE)
        .unwrap_or(code::WRONG_TYPE);
    problem(code, takes(shape))
}

fn text_problem(shape: &Shape, text: &str) -> Option<Problem> {
    if text.contains('\0') {
        return problem(code::BAD_VALUE, "a text without a NUL character");
    }
    if !matches!(shape, Shape::AnyText) && text.trim().is_empty() {
        return problem(code::BAD_VALUE, format!("{} that isn't empty", takes(shape)));
    }
    match shape {
        Shape::Choice(choices) if !choices.contains(&text) => {
            let hint = nearest(text, choices.iter().copied()).map(|near| format!("did you mean \"{near}\"?"));
            Some(Problem { code: code::BAD_VALUE, takes: takes(shape), hint })
        }
        Shape::Model => match crate::ModelRef::parse(text) {
            Ok(_) => None,
            Err(error) => {
                Some(Problem { code: code::MODEL, takes: takes(shape), hint: Some(error.hint().to_owned()) })
            }
        },
        Shape::EnvName if !crate::environment::is_name(text) => problem(code::BAD_VALUE, takes(shape)),
        Shape::Url => url_problem(text),
        Shape::Zone if jiff::tz::TimeZone::get(text).is_err() => problem(code::BAD_VALUE, takes(shape)),
        _ => None,
    }
}

fn url_problem(text: &str) -> Option<Problem> {
    let good =
        url::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    if good {
        return None;
    }
    let hint = (!text.contains("://")).then(|| format!("write \"https://{}\"", one_line(text, 60)));
    Some(Problem { code: code::BAD_VALUE, takes: takes(&Shape::Url), hint })
}

/// What a shape takes, in words.
pub fn takes(shape: &Shape) -> String {
    match shape {
        Shape::Bool => "true or false".into(),
        Shape::Int(i64::MIN, i64::MAX) => "a whole number".into(),
        Shape::Int(least, most) => format!("a whole number from {least} to {most}"),
        Shape::Number(least, most) => format!("a number from {least} to {most}"),
        Shape::Text | Shape::AnyText => "a text".into(),
        Shape::Choice([one]) => format!("\"{one}\""),
        Shape::Choice(choices) => {
            let list: Vec<_> = choices.iter().map(|choice| format!("\"{choice}\"")).collect();
            format!("one of {}", list.join(", "))
        }
        Shape::Model => "a model reference, \"<provider>:<model>\"".into(),
        Shape::EnvName => "the name of a variable".into(),
        Shape::Path(_) => "a path".into(),
        Shape::Url => "an http or https address".into(),
        Shape::Zone => "an IANA time zone such as \"Europe/Amsterdam\"".into(),
        Shape::Null => "null".into(),
        Shape::List(inner) => format!("a list of values, each {}", takes(inner)),
        Shape::Rows => "a list of objects".into(),
        Shape::Map | Shape::Open => "an object".into(),
        Shape::Either(shapes) => shapes.iter().map(takes).collect::<Vec<_>>().join(", or "),
    }
}
